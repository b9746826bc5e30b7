// The simplest model of a FIFO: a queue that shifts. It asserts that the output stream equals the
// input stream, and has no more words than are stored; `words_o` lets a proof relate the queue to
// the storage.
module stream_model #(
    parameter int unsigned Width = 3,
    parameter int unsigned Depth = 2,
    localparam int unsigned CountBits = $clog2(Depth + 2)
) (
    input logic clk_i,
    input logic rst_i,
    input logic push_i,
    input logic [Width-1:0] push_data_i,
    input logic out_valid_i,
    input logic out_ready_i,
    input logic [Width-1:0] out_data_i,
    output logic [CountBits-1:0] count_o,
    output logic [Depth*Width-1:0] words_o  // oldest word lowest
);
  logic pop;
  logic [(Depth+1)*Width-1:0] shifted;
  assign pop = out_valid_i && out_ready_i;
  assign shifted = {{Width{1'b0}}, words_o} >> (pop ? Width : 0);
  always_ff @(posedge clk_i) begin
    if (rst_i) count_o <= '0;
    else count_o <= count_o + CountBits'(push_i) - CountBits'(pop);
    for (int unsigned i = 0; i < Depth; i++) begin
      words_o[i*Width+:Width] <= push_i && CountBits'(i) == count_o - CountBits'(pop) ? push_data_i
          : shifted[i*Width+:Width];
    end
    if (!rst_i) begin
      NothingFromNothing_A : assert (!out_valid_i || count_o != '0);
      Order_A : assert (!out_valid_i || out_data_i == words_o[Width-1:0]);
      Room_A : assert (32'(count_o) <= Depth);
    end
  end
endmodule
