// Proof of wl_fifo_block, for any traffic: every word that enters leaves once, in order, and there
// is room for Depth words in the RAM and one in the output register. Unbounded, by induction: the
// oldest word of the model is in the register, the others are in the RAM from the head on.
module wl_fifo_block_proof #(
    parameter int unsigned Width = 2,
    parameter int unsigned Depth = 3
) (
    input logic clk_i,
    input logic rst_i,
    input logic in_valid_i,
    input logic [Width-1:0] in_data_i,
    input logic out_ready_i
);
  localparam int unsigned AddressBits = wl_pkg::bits(Depth);
  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  logic [$clog2(Depth+2)-1:0] fill;
  wl_fifo_block #(.Width(Width), .Depth(Depth)) i_dut (
      .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .fill_o(fill)
  );

  logic [$clog2(Depth+3)-1:0] count;
  logic [(Depth+1)*Width-1:0] words;
  stream_model #(.Width(Width), .Depth(Depth + 1)) i_model (
      .clk_i, .rst_i, .push_i(in_valid_i && in_ready), .push_data_i(in_data_i),
      .out_valid_i(out_valid), .out_ready_i, .out_data_i(out_data), .count_o(count), .words_o(words)
  );

  logic [7:0] head, tail, stored;
  assign head = 8'(i_dut.head);
  assign tail = 8'(i_dut.tail);
  assign stored = 8'(i_dut.stored);
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    if (!rst_i) begin
      NothingLost_A : assert (32'(count) == 32'(fill));
      Pointers_A : assert (32'(head) < Depth && 32'(tail) < Depth
          && 32'(tail) == (32'(head) + 32'(stored)) % Depth);
    end
  end

  for (genvar i = 0; i < Depth; i++) begin : g_word
    logic [7:0] at;
    logic [Width-1:0] word;
    assign at = 8'((32'(head) + i) % Depth);
    assign word = out_valid ? words[(i+1)*Width+:Width] : words[i*Width+:Width];
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Stored_A : assert (i >= 32'(stored) || i_dut.i_ram.memory[at[AddressBits-1:0]] == word);
      end
    end
  end
endmodule
