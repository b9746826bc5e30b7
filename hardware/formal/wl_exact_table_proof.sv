// wl_exact_table, for any requests and control accesses: each is answered once at most, with its tag, and none is taken before the one before
// is answered; the control plane waits for one request at most. What is answered, and that chains end, is for the bench, which compares
// with a plain map from keys to values. Proved by induction, for ever.
module wl_exact_table_proof #(
    parameter bit HasTime = 1'b0,
    parameter int unsigned MethodCount = 5,
    parameter logic [3*MethodCount-1:0] Methods = 15'o54320,
    localparam int unsigned ArgumentBits = 64,
    localparam int unsigned RequestBits = (MethodCount > 1 ? wl_pkg::bits(MethodCount) : 0) + ArgumentBits + (HasTime ? 64 : 0)
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic request_tag_i,
    input logic [RequestBits-1:0] request_data_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [5:0] ctl_data_i
);
  // Four keys in two chains, and room for two.
  localparam int unsigned KeyBits = 2;
  localparam int unsigned Size = 2;
  localparam logic [63:0] Age = HasTime ? 64'd3 : 64'd0;

  // As in the module.
  typedef enum logic [3:0] {CLEAR = 4'd0, IDLE = 4'd1, SHOWN = 4'd13} state_e;
  logic [3:0] state;
  assign state = i_dut.state;

  logic request_ready, reply_valid, reply_tag, ctl_done;
  logic [64:0] reply_data;
  logic [5:0] ctl_data;
  wl_exact_table #(
      .KeyBits(KeyBits), .ValueBits(1), .Size(Size), .MethodCount(MethodCount), .Methods(Methods), .ArgumentBits(ArgumentBits),
      .ReplyBits(65), .HasTime(HasTime), .Age(Age), .TagBits(1), .CtlBits(6), .Chains(2)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i, .request_data_i,
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i(8'd0), .ctl_address_i, .ctl_data_i, .ctl_done_o(ctl_done), .ctl_data_o(ctl_data)
  );

  logic due, due_ctl;  // a request, an access of the control plane is under way
  logic passed;        // a request was taken before the access that waits
  logic tag;
  logic take, take_ctl;
  assign take = request_valid_i && request_ready;
  assign take_ctl = state == IDLE && i_dut.is_control && !take;
  logic was_ctl, was_write;
  logic [31:0] was_address;
  logic [5:0] was_data;
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    was_ctl <= !rst_i && ctl_valid_i && !ctl_done;
    was_write <= ctl_write_i;
    was_address <= ctl_address_i;
    was_data <= ctl_data_i;
    if (was_ctl && !rst_i) begin
      Held_M : assume (ctl_valid_i && ctl_write_i == was_write && ctl_address_i == was_address && ctl_data_i == was_data);
    end
    if (rst_i) begin
      {due, due_ctl, passed} <= '0;
    end else begin
      if (take || take_ctl) begin
        {due, due_ctl} <= {take, take_ctl};
        tag <= request_tag_i;
      end else if (reply_valid || ctl_done) begin
        {due, due_ctl} <= '0;
      end
      if (!ctl_valid_i || take_ctl) passed <= 1'b0;
      else if (take && i_dut.is_control) passed <= 1'b1;

      Once_A : assert (!(reply_valid && !due) && !(ctl_done && !due_ctl) && !(reply_valid && ctl_done));
      Tag_A : assert (!reply_valid || reply_tag == tag);
      Alone_A : assert (!request_ready || !(due || due_ctl) || reply_valid || ctl_done);
      Turn_A : assert (!(passed && take));
      // What makes the induction close.
      Under_Way_A : assert (!(due && due_ctl) && (!due_ctl || ctl_valid_i));
      if (state == CLEAR) Clear_A : assert (!due && !due_ctl);
      else if (state == IDLE) Idle_A : assert (due == reply_valid && due_ctl == ctl_done);
      else Busy_A : assert ((due || due_ctl) && i_dut.from_control == due_ctl && !reply_valid && !ctl_done && i_dut.tag == tag);
      Shown_A : assert (state != SHOWN || due_ctl);
      Turned_A : assert (!passed || (i_dut.control_turn && !due_ctl));
    end
  end
endmodule
