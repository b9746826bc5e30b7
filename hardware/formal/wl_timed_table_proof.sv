// Proof of wl_timed_table, for any requests and control accesses: each is answered at most once,
// with its tag, and none is accepted before the previous one is answered; the control plane waits
// for at most one request. The test bench checks the data of replies, and that chains and scans
// end, against a plain map from keys to values and times. Unbounded, by induction.
module wl_timed_table_proof #(
    parameter bit Claimed = 1'b0,
    parameter int unsigned MethodCount = 11,
    parameter logic [5*MethodCount-1:0] Methods = {
      5'd10, 5'd9, 5'd8, 5'd7, 5'd6, 5'd5, 5'd4, 5'd3, 5'd2, 5'd1, 5'd0
    },
    localparam int unsigned ArgumentBits = 66,
    localparam int unsigned RequestBits = wl_pkg::bits(MethodCount) + ArgumentBits + 64,
    localparam int unsigned CtlBits = 128
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic request_tag_i,
    input logic [RequestBits-1:0] request_data_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [CtlBits-1:0] ctl_data_i
);
  // Four keys in two chains, and two entries.
  localparam int unsigned KeyBits = 2;
  localparam int unsigned Size = 2;

  // The encoding of the module: its states, and the first operation of the control plane.
  typedef enum logic [4:0] {CLEAR = 5'd0, IDLE = 5'd1, SHOWN = 5'd16} state_e;
  localparam logic [4:0] FirstOfControl = 5'd24;
  logic [4:0] state, method;
  assign state = i_dut.state;
  assign method = i_dut.method;

  logic request_ready, reply_valid, reply_tag, ctl_done;
  logic [64:0] reply_data;
  logic [CtlBits-1:0] ctl_data;
  wl_timed_table #(
      .KeyBits(KeyBits), .ValueBits(1), .Size(Size), .MethodCount(MethodCount), .Methods(Methods),
      .ArgumentBits(ArgumentBits), .ReplyBits(65), .Tick(64'd3), .Age(64'd5), .Claimed(Claimed),
      .TagBits(1), .CtlBits(CtlBits), .Chains(2)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i, .request_data_i,
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i(8'd0), .ctl_address_i, .ctl_data_i,
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_data)
  );

  logic due_ctl;  // an access of the control plane is under way
  single_request_model #(.TagBits(1), .CtlBits(CtlBits)) i_model (
      .clk_i, .rst_i, .request_valid_i, .request_ready_i(request_ready), .request_tag_i,
      .reply_valid_i(reply_valid), .reply_tag_i(reply_tag),
      .ctl_valid_i, .ctl_write_i, .ctl_address_i, .ctl_data_i, .ctl_done_i(ctl_done),
      .clear_i(state == CLEAR), .idle_i(state == IDLE), .is_control_i(i_dut.is_control),
      .control_turn_i(i_dut.control_turn),
      .from_control_i(i_dut.from_control), .tag_i(i_dut.tag),
      .started_o(), .take_o(), .take_ctl_o(), .due_o(), .due_ctl_o(due_ctl)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Shown_A : assert (state != SHOWN || due_ctl);
      if (state != CLEAR && state != IDLE) begin
        Kind_A : assert ((method >= FirstOfControl) == i_dut.from_control);
      end
    end
  end
endmodule
