// Test bench of wl_pipeline_write: bytes of the window are those that words write, zero where it
// clears, or unchanged. Over headroom, ports and bytes of a word, with and without clearing, with
// words and runs anywhere: across rows, outside the window, over the end of the memory.
module wl_pipeline_write_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Headrooms = {32'd128, 32'd16, 32'd0, 32'd48, 32'd128, 32'd128};
  localparam bit [Cases*32-1:0] Ports = {32'd1, 32'd2, 32'd1, 32'd3, 32'd2, 32'd3};
  localparam bit [Cases*32-1:0] Words = {32'd16, 32'd16, 32'd16, 32'd8, 32'd4, 32'd16};
  localparam bit [Cases-1:0] Clears = 6'b110111;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    write_case #(
        .Headroom(Headrooms[32*i+:32]), .WritePorts(Ports[32*i+:32]), .HeaderBytes(Words[32*i+:32]),
        .Clears(Clears[i])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module write_case #(
    parameter int unsigned Headroom = 16,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,
    parameter bit Clears = 1'b1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = Headroom + 128;
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int unsigned First = 128 - Headroom;  // physical byte of the lowest

  logic [8*Bytes-1:0] window, out, expected;
  logic clear;
  logic [7:0] clear_address;
  logic [8:0] clear_count;
  logic [WritePorts-1:0] write;
  logic [8*WritePorts-1:0] address;
  logic [HeaderBytes*WritePorts-1:0] strobe;
  logic [Word*WritePorts-1:0] data;
  wl_pipeline_write #(
      .Headroom(Headroom), .WritePorts(WritePorts), .HeaderBytes(HeaderBytes), .Clears(Clears)
  ) i_dut (
      .window_i(window), .clear_valid_i(clear), .clear_address_i(clear_address),
      .clear_count_i(clear_count), .write_valid_i(write), .write_address_i(address),
      .write_strobe_i(strobe), .write_data_i(data), .window_o(out)
  );

  int unsigned cycle, cleared, written;
  always @(negedge clk_i) begin
    logic [255:0] taken;  // physical bytes that a word writes
    if (cycle != 0 && out !== expected) $fatal(1, "%m: %h, not %h", out, expected);
    cycle = rst_i ? 0 : cycle + 1;
    if (rst_i) begin
      cleared = 0;
      written = 0;
    end
    for (int unsigned b = 0; b < Bytes; b++) window[8*b+:8] = 8'($urandom());
    expected = window;
    clear = $urandom_range(1) == 1;
    clear_address = 8'($urandom());
    clear_count = tb_pkg::chance(32) ? 9'd256 : 9'($urandom() % 40);
    if (Clears && clear) begin
      for (int unsigned n = 0; n < 32'(clear_count); n++) begin
        int unsigned at;
        at = (32'(clear_address) + n) % 256;
        if (at >= First) begin
          expected[8*(at-First)+:8] = 8'd0;
          cleared = cleared + 1;
        end
      end
    end
    taken = '0;
    for (int unsigned w = 0; w < WritePorts; w++) begin
      logic [7:0] to;
      to = 8'($urandom());
      write[w] = tb_pkg::chance(200);
      address[8*w+:8] = to;
      for (int unsigned k = 0; k < HeaderBytes; k++) begin
        int unsigned at;
        logic [7:0] octet;
        at = (32'(to) + k) % 256;
        octet = 8'($urandom());
        // Words do not overlap.
        strobe[HeaderBytes*w+k] = tb_pkg::chance(180) && !(write[w] && taken[at]);
        data[Word*w+8*(HeaderBytes-1-k)+:8] = octet;
        if (write[w] && strobe[HeaderBytes*w+k]) begin
          taken[at] = 1'b1;
          if (at >= First) begin
            expected[8*(at-First)+:8] = octet;
            written = written + 1;
          end
        end
      end
    end
    done_o = cycle >= 2000;
    if (done_o && (written < 3000 || (Clears && cleared < 3000))) begin
      $fatal(1, "%m: %0d bytes written, %0d cleared", written, cleared);
    end
  end
endmodule
