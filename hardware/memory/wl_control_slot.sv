`include "wl_reset.svh"

// Inserts accesses of the control plane into the request stream of a service.
//
// Contract: an access to this service (its target) enters once, in a cycle without a request; if
// requests have come in each of `Patience` cycles, `request_ready_o` falls for one cycle, and the
// access takes that cycle. The service thus takes one request a cycle, except for at most one cycle
// in `Patience` + 1 while the control plane keeps it busy. `request_ready_o` does not depend on
// `request_valid_i`. Only one access is under way: the next one is accepted after `done_i`.
// Timing: `request_ready_o` is a register.
//
// Parameters
//   CtlTarget   number of the service on the control bus
//   Patience    cycles that an access waits for an idle cycle
module wl_control_slot #(
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16
) (
    input logic clk_i,
    input logic rst_i,

    input  logic request_valid_i,
    output logic request_ready_o,  // the service accepts a request

    input logic       ctl_valid_i,   // held until `done_i`
    input logic [7:0] ctl_target_i,

    output logic take_o,  // the access enters now, in place of a request
    input  logic done_i   // the access is done; a pulse
);
  if (Patience < 1) begin : g_illegal
    $fatal(1, "wl_control_slot: Patience must be at least one cycle");
  end

  localparam int unsigned WaitBits = wl_pkg::bits(Patience + 1);

  logic entered;  // an access is under way
  logic forced;
  logic [WaitBits-1:0] waited;
  logic wanted;

  assign wanted = ctl_valid_i && ctl_target_i == CtlTarget && !entered;
  assign take_o = wanted && (forced || !request_valid_i);
  assign request_ready_o = !forced;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      entered <= 1'b0;
      forced <= 1'b0;
      waited <= '0;
    end else begin
      if (take_o) entered <= 1'b1;
      else if (done_i) entered <= 1'b0;
      forced <= wanted && !take_o && waited == WaitBits'(Patience - 1);
      waited <= wanted && !take_o ? waited + 1'b1 : '0;
    end
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Alone_A : assert (!(take_o && request_valid_i && request_ready_o));
      Patience_A : assert (waited <= WaitBits'(Patience));
      Once_A : assert (!(take_o && entered));
    end
  end
`endif
endmodule
