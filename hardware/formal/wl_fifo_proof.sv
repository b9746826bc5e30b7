// Proof of wl_fifo, for any traffic: every word that enters leaves once, in order, and there is
// room for Depth words. Unbounded, by induction: word i of the model is at address head + i.
module wl_fifo_proof #(
    parameter int unsigned Width = 2,
    parameter int unsigned Depth = 3
) (
    input logic clk_i,
    input logic rst_i,
    input logic in_valid_i,
    input logic [Width-1:0] in_data_i,
    input logic out_ready_i
);
  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  logic [$clog2(Depth+1)-1:0] fill;
  wl_fifo #(.Width(Width), .Depth(Depth)) i_dut (
      .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .fill_o(fill)
  );

  logic [$clog2(Depth+2)-1:0] count;
  logic [Depth*Width-1:0] words;
  stream_model #(.Width(Width), .Depth(Depth)) i_model (
      .clk_i, .rst_i, .push_i(in_valid_i && in_ready), .push_data_i(in_data_i),
      .out_valid_i(out_valid), .out_ready_i, .out_data_i(out_data), .count_o(count), .words_o(words)
  );

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    if (!rst_i) begin
      NothingLost_A : assert (32'(count) == 32'(fill));
    end
  end

  if (Depth > 1) begin : g_ram
    logic [7:0] head, tail;
    assign head = 8'(i_dut.g_ram.head);
    assign tail = 8'(i_dut.g_ram.tail);
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Pointers_A : assert (32'(head) < Depth && 32'(tail) < Depth
            && 32'(tail) == (32'(head) + 32'(fill)) % Depth);
      end
    end
    for (genvar i = 0; i < Depth; i++) begin : g_word
      logic [7:0] at;
      assign at = 8'((32'(head) + i) % Depth);
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          Stored_A : assert (i >= 32'(fill)
              || i_dut.g_ram.i_ram.memory[at[$clog2(Depth)-1:0]] == words[i*Width+:Width]);
        end
      end
    end
  end
endmodule
