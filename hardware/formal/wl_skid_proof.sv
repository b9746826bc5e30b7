// Proof of wl_skid, for any traffic: every word that enters leaves once, in order. Unbounded, by
// induction.
module wl_skid_proof #(
    parameter int unsigned Width = 3
) (
    input logic clk_i,
    input logic rst_i,
    input logic in_valid_i,
    input logic [Width-1:0] in_data_i,
    input logic out_ready_i
);
  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  wl_skid #(.Width(Width)) i_dut (
      .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
  );

  logic [1:0] count;
  logic [2*Width-1:0] words;
  stream_model #(.Width(Width), .Depth(2)) i_model (
      .clk_i, .rst_i, .push_i(in_valid_i && in_ready), .push_data_i(in_data_i),
      .out_valid_i(out_valid), .out_ready_i, .out_data_i(out_data), .count_o(count), .words_o(words)
  );

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    if (!rst_i) begin
      NothingLost_A : assert (count == 2'(out_valid) + 2'(i_dut.spare_valid));
      Spare_A : assert (!i_dut.spare_valid || i_dut.spare_data == words[Width+:Width]);
    end
  end
endmodule
