`include "wl_reset.svh"

// Lock of an arbiter: holds a grant for a whole packet.
//
// Contract
//   While no packet is under way, the grant is the choice. A grant stays until it is taken with
//   `last_i`: packets are not interleaved, and a `valid` that is derived from the grant stays
//   stable. While the owner of a packet has no beat ready, no input is granted.
// Timing: combinational from `choice_i` and `request_i` to `grant_o`: one LUT level. Cost:
// Inputs + 1 flip-flops.
//
// Parameters
//   Inputs   requesters
module wl_grant_lock #(
    parameter int unsigned Inputs = 2
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic [Inputs-1:0] request_i,
    input  logic [Inputs-1:0] choice_i,  // one-hot among the requests, or zero
    input  logic              taken_i,   // the grant takes effect in this cycle
    input  logic              last_i,    // the beat is the last of its packet
    output logic [Inputs-1:0] grant_o,   // one-hot, or zero
    output logic              valid_o    // an input is granted
);

  if (Inputs < 1) begin : g_illegal
    $fatal(1, "wl_grant_lock: Inputs must be 1 or more");
  end

  logic locked;
  logic [Inputs-1:0] owner;
  assign grant_o = locked ? owner & request_i : choice_i;
  assign valid_o = |grant_o;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) locked <= 1'b0;
    else if (valid_o) locked <= !(taken_i && last_i);
  end
  always_ff @(posedge clk_i) begin
    if (!locked) owner <= grant_o;
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Owner_A : assert (!locked || $onehot(owner));
      Conserving_A : assert (locked || grant_o == choice_i);
    end
  end
`endif

endmodule
