// Test bench of wl_pipeline_call: requests leave in the order in which they were issued, replies in
// that in which they arrived, none is lost; latency of both and throughput. An issuer without
// replies keeps to `room_o` alone, and may issue one request for each packet after it goes low.
// Over packets and widths, with idle cycles, a slow offload, and a pipeline that takes replies
// late.
module wl_pipeline_call_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Packets = {32'd64, 32'd5, 32'd1, 32'd64, 32'd3, 32'd1};
  localparam bit [Cases*32-1:0] Requests = {32'd40, 32'd1, 32'd70, 32'd32, 32'd9, 32'd16};
  localparam bit [Cases*32-1:0] Replies = {32'd32, 32'd70, 32'd8, 32'd0, 32'd0, 32'd0};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    call_case #(
        .Packets(Packets[32*i+:32]), .RequestBits(Requests[32*i+:32]), .ReplyBits(Replies[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module call_case #(
    parameter int unsigned Packets = 4,
    parameter int unsigned RequestBits = 32,
    parameter int unsigned ReplyBits = 32
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Data = ReplyBits == 0 ? 1 : ReplyBits;
  localparam bit HasReply = ReplyBits != 0;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic issue, room, request, ready, reply, head, take;
  logic [RequestBits-1:0] issued_data, request_data;
  logic [Data-1:0] reply_data, head_data;
  wl_pipeline_call #(
      .Packets(Packets), .RequestBits(RequestBits), .ReplyBits(ReplyBits)
  ) i_dut (
      .clk_i, .rst_i, .issue_valid_i(issue), .issue_data_i(issued_data), .room_o(room),
      .request_valid_o(request), .request_ready_i(ready), .request_data_o(request_data),
      .reply_valid_i(reply), .reply_data_i(reply_data), .head_valid_o(head), .head_take_i(take),
      .head_data_o(head_data)
  );

  // ---- The pipeline: request n and reply n have word n of two sources ----

  int unsigned issued;     // requests
  int unsigned allowed;    // requests that may be issued from this cycle on
  int unsigned rest;       // those of them that were not, until there is room again
  logic issued_last;
  int unsigned replied, got;
  logic wants, taking;     // it would issue a request, or take a reply
  assign issue = wants && (HasReply ? issued - got < Packets : allowed != 0);
  // What is seen of the room is a cycle old.
  assign allowed = room ? Packets - 32'(issued_last) : rest;
  assign issued_data = RequestBits'(tb_pkg::word(1, issued));
  assign take = HasReply && head && taking;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wants  <= 1'b0;
      taking <= 1'b0;
      issued <= 0;
      rest <= 0;
      issued_last <= 1'b0;
      got <= 0;
    end else begin
      wants  <= send && !tb_pkg::chance(idle);
      taking <= !tb_pkg::chance(stall);
      rest <= allowed - 32'(issue);
      issued_last <= issue;
      if (issue) issued <= issued + 1;
      if (take) begin
        got <= got + 1;
        if (head_data !== Data'(tb_pkg::word(2, got))) begin
          $fatal(1, "%m: reply %0d is %h", got, head_data);
        end
      end
    end
  end

  // ---- The offload replies in order, some cycles later ----

  int unsigned asked;
  assign reply_data = Data'(tb_pkg::word(2, replied));
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready <= 1'b0;
      reply <= 1'b0;
      asked <= 0;
      replied <= 0;
    end else begin
      ready <= !tb_pkg::chance(stall);
      if (request && ready) begin
        asked <= asked + 1;
        if (request_data !== RequestBits'(tb_pkg::word(1, asked))) begin
          $fatal(1, "%m: request %0d is %h", asked, request_data);
        end
      end
      if (reply) replied <= replied + 1;
      reply <= HasReply && asked > replied + 32'(reply) && !tb_pkg::chance(stall / 2);
    end
  end

  // ---- Latency, throughput, the end ----

  int unsigned issued_before, issued_two, replied_before, replied_two;
  int unsigned in_window, without_room;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_window <= 0;
      without_room <= 0;
      {issued_before, issued_two, replied_before, replied_two} <= '0;
    end else begin
      {issued_before, issued_two} <= {issued, issued_before};
      {replied_before, replied_two} <= {replied, replied_before};
      if (window && request && ready) in_window <= in_window + 1;
      if (!room) without_room <= without_room + 1;
      if (request !== (asked < issued_before) && request !== (asked < issued_two)) begin
        $fatal(1, "%m: of %0d requests %0d have left, and valid is %b", issued_two, asked, request);
      end
      if (HasReply && head !== (got < replied_before) && head !== (got < replied_two)) begin
        $fatal(1, "%m: of %0d replies %0d are taken, and valid is %b", replied_two, got, head);
      end
      if (HasReply && !room) $fatal(1, "%m: replies need no room for requests");
      if (!HasReply && head) $fatal(1, "%m: there are no replies");
      if (done_o) begin
        if (asked !== issued || (HasReply && got !== issued)) begin
          $fatal(1, "%m: %0d requests, %0d left, %0d replies", issued, asked, got);
        end
        if (issued < 200 || (!HasReply && Packets < 64 && without_room < 50)) begin
          $fatal(1, "%m: %0d requests, %0d cycles without room", issued, without_room);
        end
        if (Packets >= 64 && in_window !== 300) begin
          $fatal(1, "%m: %0d requests in 300 cycles", in_window);
        end
      end
    end
  end
endmodule
