// A service that performs one operation at a time, for requests or for the control plane, seen from
// outside: the behaviour of the control plane is assumed, the service's order and replies are
// asserted. Each request and access is answered at most once, with its tag; none is accepted before
// the previous one is answered; the control plane waits for at most one request. The internal state
// of the module (`idle_i` and so on) makes the induction close.
module single_request_model #(
    parameter int unsigned TagBits = 1,
    parameter int unsigned CtlBits = 1
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic request_ready_i,
    input logic [TagBits-1:0] request_tag_i,
    input logic reply_valid_i,
    input logic [TagBits-1:0] reply_tag_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [CtlBits-1:0] ctl_data_i,
    input logic ctl_done_i,
    // Internal state of the module: it clears its memory; it is idle; an access of the control
    // plane waits, has the turn, is under way; the tag.
    input logic clear_i,
    input logic idle_i,
    input logic is_control_i,
    input logic control_turn_i,
    input logic from_control_i,
    input logic [TagBits-1:0] tag_i,
    output logic started_o,  // reset has ended
    output logic take_o,     // a request, or an access, is accepted now
    output logic take_ctl_o,
    output logic due_o,      // a request, or an access, is under way
    output logic due_ctl_o
);
  logic passed;  // a request was accepted before the access that waits
  logic [TagBits-1:0] tag;
  assign take_o = request_valid_i && request_ready_i;
  assign take_ctl_o = idle_i && is_control_i && !take_o;

  logic was_ctl, was_write;
  logic [31:0] was_address;
  logic [CtlBits-1:0] was_data;
  logic started = 1'b0;
  assign started_o = started;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    was_ctl <= !rst_i && ctl_valid_i && !ctl_done_i;
    was_write <= ctl_write_i;
    was_address <= ctl_address_i;
    was_data <= ctl_data_i;
    if (was_ctl && !rst_i) begin
      Held_M : assume (ctl_valid_i && ctl_write_i == was_write && ctl_address_i == was_address
          && ctl_data_i == was_data);
    end
    if (rst_i) begin
      {due_o, due_ctl_o, passed} <= '0;
    end else begin
      if (take_o || take_ctl_o) begin
        {due_o, due_ctl_o} <= {take_o, take_ctl_o};
        tag <= request_tag_i;
      end else if (reply_valid_i || ctl_done_i) begin
        {due_o, due_ctl_o} <= '0;
      end
      if (!ctl_valid_i || take_ctl_o) passed <= 1'b0;
      else if (take_o && is_control_i) passed <= 1'b1;

      Once_A : assert (!(reply_valid_i && !due_o) && !(ctl_done_i && !due_ctl_o)
          && !(reply_valid_i && ctl_done_i));
      Tag_A : assert (!reply_valid_i || reply_tag_i == tag);
      Alone_A : assert (!request_ready_i || !(due_o || due_ctl_o) || reply_valid_i || ctl_done_i);
      Turn_A : assert (!(passed && take_o));
      // Invariants for the induction.
      Under_Way_A : assert (!(due_o && due_ctl_o) && (!due_ctl_o || ctl_valid_i));
      if (clear_i) Clear_A : assert (!due_o && !due_ctl_o);
      else if (idle_i) Idle_A : assert (due_o == reply_valid_i && due_ctl_o == ctl_done_i);
      else begin
        Busy_A : assert ((due_o || due_ctl_o) && from_control_i == due_ctl_o && !reply_valid_i
            && !ctl_done_i && tag_i == tag);
      end
      Turned_A : assert (!passed || (control_turn_i && !due_ctl_o));
    end
  end
endmodule
