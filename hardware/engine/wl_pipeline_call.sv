// Calls an offload from a pipelined engine: a queue of requests and a queue of replies.
//
// Contract
//   Requests leave in the order in which they were issued, and replies are taken in the order in
//   which they arrived. A pipeline must not call an offload that replies out of order.
//   Nothing that is issued is lost: with ReplyBits > 0 there is room for one request and one reply
//   of each of `Packets` packets; without replies, `room_o` says one cycle later that `Packets`
//   more requests have room.
//   Throughput: one request and one reply a cycle. Latency: two cycles each.
// Timing: outputs are registers; the data come from the registers of block RAM.
module wl_pipeline_call #(
    parameter int unsigned Packets = 64,      // packets in the pipeline
    parameter int unsigned RequestBits = 32,
    parameter int unsigned ReplyBits = 32,    // 0: there are no replies
    localparam int unsigned Data = ReplyBits == 0 ? 1 : ReplyBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   issue_valid_i,
    input  logic [RequestBits-1:0] issue_data_i,
    output logic                   room_o,

    output logic                   request_valid_o,
    input  logic                   request_ready_i,
    output logic [RequestBits-1:0] request_data_o,
    input  logic                   reply_valid_i,
    input  logic [       Data-1:0] reply_data_i,

    output logic            head_valid_o,  // the oldest reply is available
    input  logic            head_take_i,
    output logic [Data-1:0] head_data_o
);
  if (Packets < 1 || RequestBits < 1) begin : g_illegal
    $fatal(1, "wl_pipeline_call: Packets and RequestBits must be at least one");
  end

  localparam int unsigned Depth = ReplyBits == 0 ? 2 * Packets + 2 : Packets;
  localparam int unsigned FillBits = wl_pkg::bits(Depth + 2);
  logic ready;
  logic [FillBits-1:0] fill;
  wl_fifo_block #(
      .Width(RequestBits),
      .Depth(Depth)
  ) i_requests (
      .clk_i,
      .rst_i,
      .in_valid_i(issue_valid_i),
      .in_ready_o(ready),
      .in_data_i(issue_data_i),
      .out_valid_o(request_valid_o),
      .out_ready_i(request_ready_i),
      .out_data_o(request_data_o),
      .fill_o(fill)
  );

  if (ReplyBits == 0) begin : g_silent
    always_ff @(posedge clk_i) room_o <= fill <= FillBits'(Packets);
    assign head_valid_o = 1'b0;
    assign head_data_o  = '0;
    logic unused;
    assign unused = &{ready, reply_valid_i, reply_data_i, head_take_i};
  end else begin : g_replies
    assign room_o = 1'b1;
    logic reply_ready;
    logic [wl_pkg::bits(Packets + 2)-1:0] reply_fill;
    wl_fifo_block #(
        .Width(ReplyBits),
        .Depth(Packets)
    ) i_replies (
        .clk_i,
        .rst_i,
        .in_valid_i(reply_valid_i),
        .in_ready_o(reply_ready),
        .in_data_i(reply_data_i),
        .out_valid_o(head_valid_o),
        .out_ready_i(head_take_i),
        .out_data_o(head_data_o),
        .fill_o(reply_fill)
    );
    logic unused;
    assign unused = &{ready, fill, reply_ready, reply_fill};
`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        ReplyRoom_M : assert (!reply_valid_i || reply_ready);
        Take_M : assert (!head_take_i || head_valid_o);
      end
    end
`endif
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) Room_M : assert (!issue_valid_i || ready);
  end
`endif
endmodule
