// Proof of wl_exact_table, for any requests and control accesses: each is answered at most once,
// with its tag, and none is accepted before the previous one is answered; the control plane waits
// for at most one request. The test bench checks the data of replies, and that chains end, against
// a plain map from keys to values. Unbounded, by induction.
module wl_exact_table_proof #(
    parameter bit HasTime = 1'b0,
    parameter int unsigned MethodCount = 5,
    parameter logic [4*MethodCount-1:0] Methods = 20'h54320,
    localparam int unsigned ArgumentBits = 64,
    localparam int unsigned RequestBits = (MethodCount > 1 ? wl_pkg::bits(MethodCount) : 0)
        + ArgumentBits + (HasTime ? 64 : 0),
    localparam int unsigned CtlBits = HasTime ? 64 : 6
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
  localparam logic [63:0] Age = HasTime ? 64'd3 : 64'd0;

  // The encoding of the module.
  typedef enum logic [3:0] {CLEAR = 4'd0, IDLE = 4'd1, SHOWN = 4'd13} state_e;
  logic [3:0] state;
  assign state = i_dut.state;

  logic request_ready, reply_valid, reply_tag, ctl_done;
  logic [64:0] reply_data;
  logic [CtlBits-1:0] ctl_data;
  wl_exact_table #(
      .KeyBits(KeyBits), .ValueBits(1), .Size(Size), .MethodCount(MethodCount), .Methods(Methods),
      .ArgumentBits(ArgumentBits),
      .ReplyBits(65), .HasTime(HasTime), .Age(Age), .TagBits(1), .CtlBits(CtlBits), .Chains(2)
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
    if (!rst_i) Shown_A : assert (state != SHOWN || due_ctl);
  end
endmodule
