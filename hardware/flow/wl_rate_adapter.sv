// Rate adapter: Slots words in parallel on the core's clock, one after the other on a memory's clock that is Slots times
// as fast, and the answers back in parallel. So one 100 MHz pipeline has three reads a cycle of a 300 MHz memory.
//
//              core cycle        |        core cycle       |        core cycle
//   down_i   ---< 2 | 1 | 0 >----+
//   down_o                             --< 0 >--< 1 >--< 2 >--
//   up_i                                       MemoryLatency later: --< 0 >--< 1 >--< 2 >--
//   up_o                                                               all of them: ---< 2 | 1 | 0 >---
//
// Contract
//   Data and order: slot k of a core cycle leaves as the k-th word of a memory cycle group, once; there is no `valid` and
//   nothing stalls: each slot of each cycle is carried, from the second core cycle after reset on. Until then `down_o` is zero,
//   so let the bit of a word that says "this is a command" be 1 when it is one.
//   What the memory shows on `up_i` MemoryLatency memory cycles after a word stood on `down_o` comes back in that word's
//   slot.
//   Throughput: Slots words a core cycle, both ways.
//   Latency: fixed. `up_o` holds the answers wl_pkg::adapter_latency(Slots, MemoryLatency) core cycles after their words
//   stood on `down_i`, that is 1 + ceil((Slots + 2 + MemoryLatency) / Slots).
// Clocks: each edge of `clk_i` is an edge of `clk_mem_i` (both from one PLL); crossing paths have one memory cycle. The adapter
// finds the phase itself, in the first core cycle after a reset of at least one.
// Timing: on the memory's clock only registers and a Slots-way multiplexer.
//
// Parameters
//   Slots           memory cycles in a core cycle; with 1 both clocks are the same
//   DownWidth       bits of a word to the memory: address, command, write data
//   UpWidth         bits of a word from the memory
//   MemoryLatency   memory cycles from a word on `down_o` to its answer on `up_i`; 0: in the same cycle
module wl_rate_adapter #(
    parameter int unsigned Slots = 3,
    parameter int unsigned DownWidth = 24,
    parameter int unsigned UpWidth = 36,
    parameter int unsigned MemoryLatency = 5
) (
    // Core's side.
    input  logic                       clk_i,
    input  logic                       rst_i,
    input  logic [Slots*DownWidth-1:0] down_i,  // slot k at bits [k*DownWidth +: DownWidth]
    output logic [  Slots*UpWidth-1:0] up_o,

    // Memory's side.
    input  logic                 clk_mem_i,
    output logic [DownWidth-1:0] down_o,
    input  logic [  UpWidth-1:0] up_i
);

  if (Slots < 1 || DownWidth < 1 || UpWidth < 1) begin : g_illegal
    $fatal(1, "wl_rate_adapter: Slots, DownWidth and UpWidth must be 1 or more");
  end

  localparam int unsigned PhaseBits = wl_pkg::bits(Slots);

  // In memory cycles after the edge that takes `down_i`: the answer to slot k is sampled at edge k + 2 + MemoryLatency, and
  // the first core edge that sees all samples is number `Back`.
  localparam int unsigned Back = ((Slots + 2 + MemoryLatency + Slots - 1) / Slots) * Slots;
  // At that edge so many samples are younger than slot 0's.
  localparam int unsigned Age = Back - 3 - MemoryLatency;

  logic [Slots*DownWidth-1:0] down;
  logic beat;  // changes every core cycle: where it has just changed, a core cycle begins
  logic settled;  // the phase is known when what is taken now leaves
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      beat <= 1'b0;
      settled <= 1'b0;
    end else begin
      beat <= !beat;
      settled <= 1'b1;
    end
    if (rst_i || !settled) down <= '0;
    else down <= down_i;
  end

  // Which memory cycle of the core cycle this is.
  logic [PhaseBits-1:0] phase;
  if (Slots == 1) begin : g_same
    logic unused;
    assign unused = beat;
    assign phase  = '0;
  end else begin : g_phase
    logic beat_before;
    always_ff @(posedge clk_mem_i) begin
      beat_before <= beat;
      if (beat != beat_before) phase <= PhaseBits'(1);
      else phase <= phase == PhaseBits'(Slots - 1) ? '0 : phase + 1'b1;
    end
  end

  always_ff @(posedge clk_mem_i) begin
    down_o <= down[DownWidth-1:0];
    for (int unsigned k = 1; k < Slots; k++) begin
      if (phase == PhaseBits'(k)) down_o <= down[k*DownWidth+:DownWidth];
    end
  end

  // Samples of `up_i`, the youngest in the lowest bits.
  logic [(Age+1)*UpWidth-1:0] samples;
  logic [(Age+2)*UpWidth-1:0] samples_next;
  assign samples_next = {samples, up_i};
  always_ff @(posedge clk_mem_i) samples <= samples_next[(Age+1)*UpWidth-1:0];

  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Slots; k++) begin
      up_o[k*UpWidth+:UpWidth] <= samples[(Age-k)*UpWidth+:UpWidth];
    end
  end

  logic unused_oldest;
  assign unused_oldest = &samples_next[(Age+1)*UpWidth+:UpWidth];

`ifdef FORMAL
  // What the memory has been given in the last memory cycles, the oldest lowest, and what it should have been.
  logic [Slots*DownWidth-1:0] given, given_next, asked;
  logic known;  // the phase is
  assign given_next = (Slots * DownWidth)'({down_o, given} >> DownWidth);
  always_ff @(posedge clk_i) begin
    asked <= down;
    if (!rst_i) Quiet_A : assert (settled || down == '0);
  end
  always_ff @(posedge clk_mem_i) begin
    known <= settled;
    given <= given_next;
    if (!rst_i && settled && known) begin
      Phase_A : assert (32'(phase) < Slots);
      // The words of a core cycle have all been on the memory's side when the first memory cycle of the next ends.
      Carried_A : assert (phase != '0 || given_next == asked);
    end
  end
  if (Slots > 1) begin : g_ratio
    // A core cycle begins every Slots memory cycles.
    int unsigned since;  // the last one began
    logic begins;
    assign begins = beat != g_phase.beat_before;
    always_ff @(posedge clk_mem_i) begin
      since <= begins ? 1 : since + 1;
      if (!rst_i && settled && known) Ratio_M : assume (begins ? since == Slots : since < Slots);
    end
  end
`endif

endmodule
