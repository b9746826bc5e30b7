`include "wl_reset.svh"

// Statistics: many counters of 64 bits with little logic.
//
// Each counter has a few bits in registers. A scanner visits one counter after another, adds these
// bits to a 64-bit word in block RAM, and clears them. A value that is read may therefore lack the
// counts of the last 2 * Counters + 4 cycles; nothing is lost.
//
// Contract
//   Each `add_i` is added to its counter in its cycle. A read returns the counter at that address,
//   or 0 for one that does not exist.
//   A write has no effect. Counters are zero after reset.
//   Control bus: a read is done at most 2 * Counters + 8 cycles after reset, and otherwise within 4
//   cycles.
// Timing: one adder of a few bits for each counter, and a single one of 64 bits.
//
// Parameters
//   Counters    counters, 2 to 512
//   AddBits     bits of the increment of a counter in one cycle
//   CtlTarget   number of the module on the control bus
//   CtlBits     bits of the control bus' data
module wl_statistics #(
    parameter int unsigned Counters = 16,
    parameter int unsigned AddBits = 1,
    parameter bit [7:0] CtlTarget = 8'd0,
    parameter int unsigned CtlBits = 64
) (
    input logic clk_i,
    input logic rst_i,

    input logic [Counters-1:0][AddBits-1:0] add_i,

    // Control bus.
    input  logic               ctl_valid_i,
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,
    output logic               ctl_done_o,
    output logic [CtlBits-1:0] ctl_data_o
);

  if (Counters < 2 || Counters > 512) begin : g_illegal_counters
    $fatal(1, "wl_statistics: Counters must be 2 to 512");
  end
  if (AddBits < 1 || AddBits > 32) begin : g_illegal_add
    $fatal(1, "wl_statistics: AddBits must be 1 to 32");
  end
  if (CtlBits < 64) begin : g_illegal_bits
    $fatal(1, "wl_statistics: CtlBits must be 64 or more");
  end

  // The scanner visits each counter at least every 2 * Counters cycles: reads take its place in at
  // most every second cycle.
  localparam int unsigned NearBits = $clog2(2 * Counters + 2) + AddBits;
  localparam int unsigned IndexBits = wl_pkg::bits(Counters);

  logic [Counters-1:0][NearBits-1:0] near;  // counts not yet added to block RAM
  logic [IndexBits-1:0] scanned;  // the counter to visit
  logic first_round;  // block RAM is not initialised yet

  // A read: it is issued, and its word arrives in the next cycle. It uses the scanner's read port.
  logic asked, ask, exists;
  logic [63:0] word;
  assign ask = ctl_valid_i && ctl_target_i == CtlTarget && !asked && !ctl_done_o && !first_round;

  logic [63:0] answer;
  logic reading;
  assign ctl_data_o = ctl_done_o ? CtlBits'(answer) : '0;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      asked <= 1'b0;
      ctl_done_o <= 1'b0;
    end else begin
      asked <= ask;
      ctl_done_o <= asked;
    end
  end
  always_ff @(posedge clk_i) begin
    exists <= ctl_address_i < Counters;
    answer <= exists && reading ? word : '0;
    reading <= !ctl_write_i;
  end

  // The scanner: it reads a word and takes the register's count, then writes their sum.
  logic adding, fresh;
  logic [IndexBits-1:0] added;
  logic [NearBits-1:0] taken;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      scanned <= '0;
      first_round <= 1'b1;
      adding <= 1'b0;
    end else begin
      adding <= !ask;
      if (!ask) begin
        scanned <= scanned == IndexBits'(Counters - 1) ? '0 : scanned + 1'b1;
        if (scanned == IndexBits'(Counters - 1)) first_round <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    added <= scanned;
    fresh <= first_round;
    taken <= near[scanned];
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) near <= '0;
    else begin
      for (int unsigned i = 0; i < Counters; i++) begin
        near[i] <= (!ask && scanned == IndexBits'(i) ? '0 : near[i]) + NearBits'(add_i[i]);
      end
    end
  end

  wl_ram_block #(
      .Width(64),
      .Depth(Counters)
  ) i_words (
      .clk_i,
      .write_i(adding),
      .write_address_i(added),
      .write_data_i((fresh ? 64'd0 : word) + 64'(taken)),
      .read_i(1'b1),
      .read_address_i(ask ? ctl_address_i[IndexBits-1:0] : scanned),
      .read_data_o(word)
  );

  logic unused;
  assign unused = &{ctl_data_i, ctl_address_i};

`ifdef FORMAL
  // Each counter's exact value, and an older value: at least as old as one round of the scanner
  // takes.
  localparam int unsigned Round = 2 * Counters + 4;
  logic [Counters-1:0][63:0] exact, recent, old;
  // `age`: cycles since both were taken; `waited`: cycles that a read has waited, except in the
  // first round.
  int unsigned age, waited;
  logic [63:0] read_exact, read_old;
  logic meant, was_meant;
  assign meant = ctl_valid_i && ctl_target_i == CtlTarget;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      exact  <= '0;
      recent <= '0;
      old <= '0;
      age <= 0;
      waited <= 0;
    end else begin
      for (int unsigned i = 0; i < Counters; i++) begin
        exact[i] <= exact[i] + 64'(add_i[i]);
      end
      age <= age == Round ? 0 : age + 1;
      if (age == Round) begin
        old <= recent;
        recent <= exact;
      end
      waited <= !meant || ctl_done_o || first_round ? 0 : waited + 1;
    end
    was_meant <= !rst_i && meant && !ctl_done_o;
    {read_exact, read_old} <= exists
        ? {exact[IndexBits'(ctl_address_i)], old[IndexBits'(ctl_address_i)]} : '0;
    if (!rst_i) begin
      CtlHeld_M : assume (!was_meant || meant);
      Asked_A : assert (!ctl_done_o || meant);
      Prompt_A : assert (waited <= 4);
      Exact_A : assert (!ctl_done_o || !reading || (answer <= read_exact && answer >= read_old));
      Answer_A : assert (ctl_done_o || ctl_data_o == '0);
    end
  end
  for (genvar i = 0; i < Counters; i++) begin : g_near
    // The register of a counter has room until the scanner comes.
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Room_A : assert ((NearBits + 1)'(near[i]) + (NearBits + 1)'(add_i[i]) < 2 ** NearBits);
      end
    end
  end
`endif

endmodule
