// Proof of wl_rate_adapter, for any words: a word of any slot of any core cycle is on the memory
// side at the right time, and its reply is in its slot wl_pkg::adapter_latency cycles later.
//
// Unbounded, by induction: except for the phase, everything is a pipeline without feedback that is
// shorter than the induction is deep, and the phase follows the clocks in each core cycle.
//
// A memory cycle is two steps of the proof, and a pulse of the core clock is as long as one of the
// memory clock.
module wl_rate_adapter_proof #(
    parameter int unsigned Slots = 3,
    parameter int unsigned MemoryLatency = 1
) (
    input logic clk_mem_i,
    input logic [Slots*2-1:0] down_i
);
  localparam int unsigned Latency = wl_pkg::adapter_latency(Slots, MemoryLatency);

  // The gate changes while the clock is low, so both clocks rise together.
  logic [7:0] count = '0;
  logic gate = 1'b1;
  logic clk;
  assign clk = clk_mem_i && gate;
  always_ff @(negedge clk_mem_i) begin
    count <= count == 8'(Slots - 1) ? '0 : count + 1'b1;
    gate <= count == 8'(Slots - 1);
  end

  // Core cycles: two of reset, then the counted ones, up to the first with a reply.
  localparam int unsigned Settled = 4 + Latency;
  logic [7:0] cycle = '0;
  logic rst;
  assign rst = cycle < 2;
  always_ff @(posedge clk) if (32'(cycle) < Settled) cycle <= cycle + 1'b1;

  logic [1:0] to_memory, from_memory;
  logic [Slots*2-1:0] up;
  wl_rate_adapter #(
      .Slots(Slots), .DownWidth(2), .UpWidth(2), .MemoryLatency(MemoryLatency)
  ) i_dut (
      .clk_i(clk), .rst_i(rst), .down_i, .up_o(up), .clk_mem_i, .down_o(to_memory),
      .up_i(from_memory)
  );

  // The memory returns the complement.
  logic [2*(MemoryLatency+1)-1:0] line;
  always_ff @(posedge clk_mem_i) line <= (2 * (MemoryLatency + 1))'({line, to_memory});
  if (MemoryLatency == 0) begin : g_at_once
    assign from_memory = ~to_memory;
  end else begin : g_later
    assign from_memory = ~line[2*(MemoryLatency-1)+:2];
  end

  // The words at `down_i` in the last cycles, the youngest lowest.
  logic [Latency*Slots*2-1:0] past;
  always_ff @(posedge clk) begin
    past <= (Latency * Slots * 2)'({past, down_i});
    if (32'(cycle) == Settled) begin
      Answer_A : assert (up == ~past[(Latency-1)*Slots*2+:Slots*2]);
    end
  end

  // The memory cycle that ends with this rising edge, and the word at `down_o` in it: words leave
  // one memory cycle after they are selected.
  logic [7:0] phase;
  logic [1:0] expected;
  assign phase = count == 0 ? 8'(Slots - 1) : count - 1'b1;
  assign expected = phase == 0 ? past[(2*Slots-1)*2+:2] : 2'(past >> (2 * (phase - 1)));
  always_ff @(posedge clk_mem_i) begin
    Gate_A : assert (32'(count) < Slots && gate == (count == 0) && 32'(cycle) <= Settled);
    if (cycle > 5) begin
      Phase_A : assert (Slots == 1 || 8'(i_dut.phase) == phase);
      Order_A : assert (to_memory == expected);
    end
  end
endmodule
