// Rate adapter: sends Slots parallel words of the core's clock one after the other on a memory's
// clock, which is Slots times as fast, and returns the replies in parallel. With it a 100 MHz
// pipeline has three reads a cycle of a 300 MHz memory.
//
//              core cycle        |        core cycle       |        core cycle
//   down_i   ---< 2 | 1 | 0 >----+
//   down_o                             --< 0 >--< 1 >--< 2 >--
//   up_i                                       MemoryLatency later: --< 0 >--< 1 >--< 2 >--
//   up_o                                                               all of them: --< 2 | 1 | 0 >
//
// Contract
//   Data and order: slot k of a core cycle leaves as the k-th word of a group of memory cycles,
//   once. There is no `valid`, and nothing stalls: each slot of each cycle is transferred, from the
//   second core cycle after reset on. Until then `down_o` is zero, so the bit of a word that marks
//   a command should be active high. The words that were taken before a reset leave, all those of a
//   core cycle, whenever the reset comes: it takes effect at an edge of `clk_i`.
//   The word at `up_i` MemoryLatency memory cycles after a word was at `down_o` returns in that
//   word's slot.
//   Throughput: Slots words a core cycle, in both directions.
//   Latency: fixed. `up_o` holds the replies wl_pkg::adapter_latency(Slots, MemoryLatency) core
//   cycles after their words were at `down_i`, that is 1 + ceil((Slots + 2 + MemoryLatency) /
//   Slots).
// Clocks: each edge of `clk_i` is an edge of `clk_mem_i` (both from one PLL); paths between the
// clocks have one memory cycle. The adapter detects the phase itself, in the first core cycle after
// a reset of at least one core cycle.
// Timing: in the memory's clock domain there are only registers and a Slots-way multiplexer.
//
// Parameters
//   Slots           memory cycles in a core cycle; with 1 both clocks must be the same
//   DownWidth       bits of a word to the memory: address, command, write data
//   UpWidth         bits of a word from the memory
//   MemoryLatency   memory cycles from a word on `down_o` to its reply on `up_i`; 0: in the same
//                   cycle
module wl_rate_adapter #(
    parameter int unsigned Slots = 3,
    parameter int unsigned DownWidth = 24,
    parameter int unsigned UpWidth = 36,
    parameter int unsigned MemoryLatency = 5
) (
    // Core side.
    input  logic                       clk_i,
    input  logic                       rst_i,
    input  logic [Slots*DownWidth-1:0] down_i,  // slot k at bits [k*DownWidth +: DownWidth]
    output logic [  Slots*UpWidth-1:0] up_o,

    // Memory side.
    input  logic                 clk_mem_i,
    output logic [DownWidth-1:0] down_o,
    input  logic [  UpWidth-1:0] up_i
);

  if (Slots < 1 || DownWidth < 1 || UpWidth < 1) begin : g_illegal
    $fatal(1, "wl_rate_adapter: Slots, DownWidth and UpWidth must be 1 or more");
  end

  localparam int unsigned PhaseBits = wl_pkg::bits(Slots);

  // Counted in memory cycles after the edge that takes `down_i`, the reply to slot k is sampled at
  // edge k + 2 + MemoryLatency, and `Back` is the first core edge that sees all samples.
  localparam int unsigned Back = ((Slots + 2 + MemoryLatency + Slots - 1) / Slots) * Slots;
  // The number of samples that are younger than that of slot 0 at edge `Back`.
  localparam int unsigned Age = Back - 3 - MemoryLatency;

  logic [Slots*DownWidth-1:0] down;
  logic beat;  // toggles every core cycle: a change marks the begin of a core cycle
  logic settled;  // the phase is known when the words taken now leave
  // An asynchronous reset in the middle of a core cycle must change neither the phase nor the words
  // that have not left, so these registers take it at the clock's edge.
  initial beat = 1'b0;
  initial settled = 1'b0;
  always_ff @(posedge clk_i) begin
    beat <= !beat;
    settled <= !rst_i;
    down <= settled ? down_i : '0;
  end

  // The number of the memory cycle in its core cycle.
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

  // The samples of `up_i`, the youngest in the lowest bits.
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
  // The words that the memory got in the last memory cycles, the oldest lowest, and the expected
  // words.
  logic [Slots*DownWidth-1:0] given, given_next, asked;
  logic known;  // the phase is known
  logic was_settled;
  assign given_next = (Slots * DownWidth)'({down_o, given} >> DownWidth);
  always_ff @(posedge clk_i) begin
    asked <= down;
    was_settled <= settled;
    if (!rst_i) Quiet_A : assert (settled || was_settled || down == '0);
  end
  always_ff @(posedge clk_mem_i) begin
    known <= settled;
    given <= given_next;
    if (!rst_i && settled && known) begin
      Phase_A : assert (32'(phase) < Slots);
      // All words of a core cycle have reached the memory side when the first memory cycle of the
      // next core cycle ends.
      Carried_A : assert (phase != '0 || given_next === asked);
    end
  end
  if (Slots > 1) begin : g_ratio
    // A core cycle begins every Slots memory cycles.
    int unsigned since;  // memory cycles since the last one began
    logic begins;
    assign begins = beat != g_phase.beat_before;
    always_ff @(posedge clk_mem_i) begin
      since <= begins ? 1 : since + 1;
      if (!rst_i && settled && known) Ratio_M : assume (begins ? since == Slots : since < Slots);
    end
  end
`endif

endmodule
