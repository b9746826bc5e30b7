// Test bench of wl_request_tree and wl_reply_spread together: requests of several requesters merge,
// an offload replies out of order, and each requester gets each of its replies once. Over
// requesters, widths and policies.
module wl_request_tree_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Inputs = {32'd1, 32'd2, 32'd3, 32'd6, 32'd8, 32'd4};
  localparam bit [Cases*32-1:0] TagBits = {32'd1, 32'd1, 32'd2, 32'd2, 32'd3, 32'd5};
  localparam bit [Cases*32-1:0] DataBits = {32'd33, 32'd40, 32'd128, 32'd48, 32'd40, 32'd40};
  localparam bit [Cases-1:0] Fair = 6'b101101;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    request_case #(
        .Inputs(Inputs[32*i+:32]), .TagBits(TagBits[32*i+:32]), .DataBits(DataBits[32*i+:32]),
        .Fair(Fair[i]), .Register(i % 2 == 0)
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module request_case #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned TagBits = 2,
    parameter int unsigned DataBits = 40,
    parameter bit Fair = 1'b1,
    parameter bit Register = 1'b1  // of the return path
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Width = DataBits + TagBits;
  localparam int unsigned IndexBits = wl_pkg::bits(Inputs);

  // Request path: the sources' words are {source, random}, in the data and, their lowest bits, in
  // the tag.
  logic [Inputs-1:0] in_valid, in_ready, unused_last;
  logic [Inputs*Width-1:0] in_word;
  logic [Inputs*TagBits-1:0] in_tag;
  logic [Inputs*DataBits-1:0] in_data;
  for (genvar i = 0; i < Inputs; i++) begin : g_input
    assign {in_data[i*DataBits+:DataBits], in_tag[i*TagBits+:TagBits]} = in_word[i*Width+:Width];
  end

  logic out_valid, out_ready;
  logic [IndexBits+TagBits-1:0] out_tag;
  logic [DataBits-1:0] out_data;
  wl_request_tree #(.Inputs(Inputs), .TagBits(TagBits), .DataBits(DataBits), .Fair(Fair)) i_tree (
      .clk_i, .rst_i,
      .in_valid_i(in_valid), .in_ready_o(in_ready), .in_tag_i(in_tag), .in_data_i(in_data),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_tag_o(out_tag), .out_data_o(out_data)
  );
  // One request of another requester may already be in the output register.
  tb_merge_sources #(
      .Inputs(Inputs), .Width(Width), .Packets(1'b0), .Wait(Fair ? Inputs : 0)
  ) i_sources (
      .clk_i, .rst_i,
      .valid_o(in_valid), .ready_i(in_ready), .last_o(unused_last), .data_o(in_word),
      .valid_i(out_valid), .ready_o(out_ready), .last_i(1'b1),
      .data_i({out_data, out_tag[TagBits-1:0]}), .done_o
  );

  // With fixed priorities no requester is served twice in a row while others request.
  int unsigned busy;  // cycles in which all have requested without a stall
  logic [IndexBits-1:0] served_before;
  always_ff @(posedge clk_i) begin
    if (rst_i) busy <= 0;
    else begin
      busy <= &in_valid && out_ready ? busy + 1 : 0;
      if (out_valid && out_ready) served_before <= out_tag[TagBits+:IndexBits];
      if (!Fair && Inputs > 1 && busy > 4 && out_valid && out_ready
          && out_tag[TagBits+:IndexBits] === served_before) begin
        $fatal(1, "%m: asker %0d was served twice in a row", served_before);
      end
    end
  end

  // Return path: a reply equals the request, and comes after a random time, out of order: one of
  // four places is emptied at random.
  logic [3:0] waiting;
  logic [IndexBits+TagBits+DataBits-1:0] place[4];
  logic reply_valid;
  logic [IndexBits+TagBits-1:0] reply_tag;
  logic [DataBits-1:0] reply_data;
  logic [Inputs-1:0] replied;
  logic [TagBits-1:0] replied_tag;
  logic [DataBits-1:0] replied_data;
  wl_reply_spread #(
      .Outputs(Inputs), .TagBits(TagBits), .DataBits(DataBits), .Register(Register)
  ) i_spread (
      .clk_i, .rst_i,
      .in_valid_i(reply_valid), .in_tag_i(reply_tag), .in_data_i(reply_data),
      .out_valid_o(replied), .out_tag_o(replied_tag), .out_data_o(replied_data)
  );

  // The requests of a requester minus its replies, as sums: every reply counts, with its contents.
  logic [DataBits+TagBits-1:0] balance[Inputs];
  int unsigned replies;
  always_ff @(posedge clk_i) begin
    int unsigned victim;
    victim = $urandom() % 4;
    reply_valid <= 1'b0;
    if (rst_i) begin
      waiting <= '0;
      replies <= 0;
    end else begin
      if (out_valid && out_ready) begin
        // The place that is filled next is emptied first.
        if (waiting[victim]) begin
          reply_valid <= 1'b1;
          {reply_tag, reply_data} <= place[victim];
        end
        place[victim] <= {out_tag, out_data};
        waiting[victim] <= 1'b1;
      end else if (waiting[victim]) begin
        reply_valid <= 1'b1;
        {reply_tag, reply_data} <= place[victim];
        waiting[victim] <= 1'b0;
      end
      if (32'($onehot(replied)) !== 32'(replied !== '0)) begin
        $fatal(1, "%m: a reply goes to several: %b", replied);
      end
      replies <= replies + 32'(replied != '0);
      if (done_o && (replies < 1000 || waiting !== '0)) begin
        $fatal(1, "%m: %0d replies, waiting %b", replies, waiting);
      end
    end
    for (int i = 0; i < int'(Inputs); i++) begin
      if (rst_i) balance[i] <= '0;
      else begin
        balance[i] <= balance[i]
            + (in_valid[i] && in_ready[i]
            ? {in_data[i*DataBits+:DataBits], in_tag[i*TagBits+:TagBits]} : '0)
            - (replied[i] ? {replied_data, replied_tag} : '0);
        if (done_o && balance[i] !== '0) $fatal(1, "%m: asker %0d did not have its answers", i);
      end
    end
  end
endmodule
