// Test bench of wl_pipeline_read: each word has the bytes of the window from its offset on, and
// zeros past the end of the window, or if the offset is negative; two cycles later. Over headroom,
// ports and bytes of a word, with windows that begin and end anywhere, and new inputs in each
// cycle.
module wl_pipeline_read_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Headrooms = {32'd128, 32'd16, 32'd0, 32'd48, 32'd128};
  localparam bit [Cases*32-1:0] Ports = {32'd1, 32'd2, 32'd1, 32'd3, 32'd2};
  localparam bit [Cases*32-1:0] Words = {32'd16, 32'd16, 32'd16, 32'd8, 32'd4};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    read_case #(
        .Headroom(Headrooms[32*i+:32]), .ReadPorts(Ports[32*i+:32]), .HeaderBytes(Words[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module read_case #(
    parameter int unsigned Headroom = 16,
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned HeaderBytes = 16
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = Headroom + 128;
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int unsigned First = 128 - Headroom;  // physical byte of the lowest

  // The inputs of a cycle, and those of the two before.
  logic [7:0] front;
  logic [8:0] length;
  logic [17*ReadPorts-1:0] offset;
  logic [8*Bytes-1:0] window, window_later;
  logic [Word*ReadPorts-1:0] words;
  logic [Word*ReadPorts-1:0] expected, expected_later, words_due;
  wl_pipeline_read #(
      .Headroom(Headroom), .ReadPorts(ReadPorts), .HeaderBytes(HeaderBytes)
  ) i_dut (
      .clk_i, .front_i(front), .length_i(length), .offset_i(offset),
      .window_later_i(window_later), .words_o(words)
  );

  // Offsets at both ends of the window, inside, far out, and negative.
  int unsigned cycle, ends, outside;
  always @(negedge clk_i) begin
    logic [Word*ReadPorts-1:0] value;
    cycle = rst_i ? 0 : cycle + 1;
    if (rst_i) begin
      ends = 0;
      outside = 0;
    end
    window_later = window;
    for (int unsigned b = 0; b < Bytes; b++) window[8*b+:8] = 8'($urandom());
    front = 8'(First + $urandom() % Bytes);
    length = 9'($urandom() % (257 - 32'(front)));
    value = '0;
    for (int unsigned r = 0; r < ReadPorts; r++) begin
      logic [16:0] at;
      case ($urandom() % 8)
        0: at = 17'($urandom());
        1: at = -17'(1 + $urandom() % 20);
        2: at = 17'(length) + 17'($urandom() % 3);
        3: at = 17'($urandom() % 3);
        4: at = 17'(length) - 17'($urandom() % 20);
        default: at = 17'($urandom() % 128);
      endcase
      offset[17*r+:17] = at;
      if (at[16] || at >= 17'(length)) outside = outside + 1;
      else if (at + 17'(HeaderBytes) > 17'(length)) ends = ends + 1;
      for (int unsigned k = 0; k < HeaderBytes; k++) begin
        if (!at[16] && 32'(at) + k < 32'(length)) begin
          value[Word*r+8*(HeaderBytes-1-k)+:8] = window[8*(32'(front)-First+32'(at)+k)+:8];
        end
      end
    end
    expected_later = expected;
    expected = value;
    // What has entered two rising edges before.
    if (cycle > 3 && words !== words_due) begin
      $fatal(1, "%m: words %h in cycle %0d, not %h", words, cycle, words_due);
    end
    words_due = expected_later;
    done_o = cycle >= 3000;
    if (done_o && (ends < 100 || outside < 200)) begin
      $fatal(1, "%m: %0d words at the end of a window, %0d outside", ends, outside);
    end
  end
endmodule
