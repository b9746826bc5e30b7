`include "wl_reset.svh"

// Limits the rate of a packet stream: each beat takes one unit of credit from a bucket. A packet
// starts only if there is credit for a beat, and is then not interrupted; if a long packet
// overdraws the credit, the next one waits.
//
// Contract
//   Data and order: each beat that enters leaves once, in order and unchanged.
//   Limit: in any n cycles at most Burst + MaxBeats + n * Share / 65536 beats pass, of packets of
//   up to MaxBeats.
//   Guarantee: a stream that always has a beat, and whose output is always taken, passes at least
//   n * Share / 65536 - 1 beats in n cycles.
//   Latency: none. An output that is offered stays until it is taken.
// Timing: one LUT from `in_valid_i` to `out_valid_o` and from `out_ready_i` to `in_ready_o`; the
// bucket is an adder between registers.
//
// Parameters
//   Width      bits of a beat, without `last`
//   Share      beats that are allowed in 65,536 cycles: 1 to 65,536, the latter without limit
//   Burst      most beats of credit of a stream that was idle
//   MaxBeats   beats of the longest packet
module wl_rate_limit #(
    parameter int unsigned Width = 592,
    parameter int unsigned Share = 65536,
    parameter int unsigned Burst = 16,
    parameter int unsigned MaxBeats = 1024
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic             in_last_i,
    input  logic [Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic             out_last_o,
    output logic [Width-1:0] out_data_o
);

  if (Width < 1 || Burst < 1 || MaxBeats < 1) begin : g_illegal
    $fatal(1, "wl_rate_limit: Width, Burst and MaxBeats must be 1 or more");
  end
  if (Share < 1 || Share > 65536) begin : g_illegal_share
    $fatal(1, "wl_rate_limit: Share must be 1 to 65536");
  end

  // The credit in 65536ths of a beat: from minus the longest packet to the burst.
  localparam int unsigned Bits = 17 + wl_pkg::bits((Burst > MaxBeats ? Burst : MaxBeats) + 3);
  localparam logic signed [Bits-1:0] Beat = Bits'(65536);
  localparam logic signed [Bits-1:0] Gain = Bits'(Share);
  // The increment of a cycle beyond the burst is kept; cutting it off would reduce the rate.
  localparam logic signed [Bits-1:0] Most = Bits'(Burst * 65536 + Share);
  localparam logic signed [Bits-1:0] Least = -Bits'(MaxBeats * 65536);

  logic signed [Bits-1:0] credit, after;
  logic behind;  // a packet has begun and not ended
  logic open, taken;
  assign open = behind || credit >= Beat;
  assign out_valid_o = in_valid_i && open;
  assign in_ready_o = out_ready_i && open;
  assign out_last_o = in_last_i;
  assign out_data_o = in_data_i;
  assign taken = out_valid_o && out_ready_i;
  assign after = credit + Gain - (taken ? Beat : '0);

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      credit <= Most;
      behind <= 1'b0;
    end else begin
      // A packet longer than MaxBeats takes no more credit than the register holds.
      if (after > Most) credit <= Most;
      else if (after < Least) credit <= Least;
      else credit <= after;
      if (taken) behind <= !in_last_i;
    end
  end

`ifdef FORMAL
  logic offered;
  always_ff @(posedge clk_i) begin
    offered <= !rst_i && out_valid_o && !out_ready_i;
    if (!rst_i) begin
      Most_A : assert (credit <= Most);
      // An offer is not withdrawn: the credit only grows while nothing passes.
      Stays_A : assert (!offered || open);
    end
  end
`endif
endmodule
