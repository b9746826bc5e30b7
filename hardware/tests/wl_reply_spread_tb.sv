// Test bench of wl_reply_spread: each reply leaves at its requester, once, at full rate, a cycle
// later or at once. Over requesters and widths. wl_request_tree_tb uses the module together with
// the request path.
module wl_reply_spread_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Outputs = {32'd1, 32'd2, 32'd3, 32'd6, 32'd16};
  localparam bit [Cases*32-1:0] TagBits = {32'd1, 32'd4, 32'd2, 32'd2, 32'd3};
  localparam bit [Cases-1:0] Register = 5'b10110;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    spread_case #(
        .Outputs(Outputs[32*i+:32]), .TagBits(TagBits[32*i+:32]), .Register(Register[i])
    ) i_case (
        .clk_i(clk), .rst_i(rst), .done_o(done[i])
    );
  end
endmodule

module spread_case #(
    parameter int unsigned Outputs = 2,
    parameter int unsigned TagBits = 2,
    parameter bit Register = 1'b1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned IndexBits = wl_pkg::bits(Outputs);
  logic valid;
  logic [31:0] asker, asker_before;
  logic [TagBits-1:0] tag, tag_before, out_tag;
  logic [15:0] data, data_before, out_data;
  logic valid_before;
  logic [Outputs-1:0] out_valid;
  int unsigned cycle;
  assign done_o = cycle == 2000;

  wl_reply_spread #(
      .Outputs(Outputs), .TagBits(TagBits), .DataBits(16), .Register(Register)
  ) i_dut (
      .clk_i, .rst_i,
      .in_valid_i(valid), .in_tag_i({IndexBits'(asker), tag}), .in_data_i(data),
      .out_valid_o(out_valid), .out_tag_o(out_tag), .out_data_o(out_data)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      valid <= 1'b0;
      valid_before <= 1'b0;
      asker <= 0;
    end else if (!done_o) begin
      bit expected;
      int unsigned whose;
      expected = Register ? valid_before : valid;
      whose = Register ? asker_before : asker;
      cycle <= cycle + 1;
      valid <= tb_pkg::chance(cycle < 500 ? 256 : 128);
      asker <= $urandom() % Outputs;
      tag <= TagBits'($urandom());
      data <= 16'($urandom());
      {valid_before, asker_before, tag_before, data_before} <= {valid, asker, tag, data};
      for (int i = 0; i < int'(Outputs); i++) begin
        if (out_valid[i] !== (expected && whose === i)) begin
          $fatal(1, "%m: %b for asker %0d", out_valid, whose);
        end
      end
      if (expected
          && {out_tag, out_data} !== (Register ? {tag_before, data_before} : {tag, data})) begin
        $fatal(1, "%m: %h %h for asker %0d", out_tag, out_data, whose);
      end
    end
  end
endmodule
