// Reads the words of a header window that a step of a pipelined engine needs, each at a byte offset
// that is computed at run time.
//
// Contract: word r consists of the HeaderBytes bytes of the window from byte offset_i[r] on, byte 0
// most significant. Bytes past the end of the window are zero, and all bytes are zero if the offset
// is negative (17 bits, modulo 2^17), as in wl_scratchpad.
//   Latency: two cycles; `window_i` is used in the second of them, hence `window_later_i`.
// Timing: an adder, then eight levels of two-way multiplexers and a mask.
module wl_pipeline_read #(
    parameter int unsigned Headroom = 0,   // bytes before the header, as in wl_pipeline_load
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned HeaderBytes = 16,  // bytes of a word: 4, 8 or 16
    localparam int unsigned Bytes = Headroom + wl_pkg::WindowLoaded,
    localparam int unsigned Word = 8 * HeaderBytes
) (
    input logic clk_i,

    input  logic [          7:0]           front_i,  // physical byte at which the window begins
    input  logic [          8:0]           length_i,  // bytes of the window
    input  logic [ReadPorts-1:0][    16:0] offset_i,
    input  logic [  8*Bytes-1:0]           window_later_i,  // one cycle after the other inputs
    output logic [ReadPorts-1:0][Word-1:0] words_o
);
  if (ReadPorts < 1) begin : g_illegal
    $fatal(1, "wl_pipeline_read: ReadPorts must be at least one");
  end
  if (HeaderBytes != 4 && HeaderBytes != 8 && HeaderBytes != 16) begin : g_illegal_word
    $fatal(1, "wl_pipeline_read: HeaderBytes must be 4, 8 or 16");
  end

  localparam int unsigned PlaceBits = wl_pkg::bits(HeaderBytes);

  for (genvar r = 0; r < ReadPorts; r++) begin : g_port
    logic [7:0] from, start;
    logic [17:0] left;
    logic [PlaceBits:0] remain;  // bytes of the word that lie inside the window
    assign from = front_i + offset_i[r][7:0] - 8'(wl_pkg::WindowFront - Headroom);
    assign left = {9'b0, length_i} - {1'b0, offset_i[r]};
    always_ff @(posedge clk_i) begin
      start  <= from;
      remain <= left[17] ? '0 : left[16:PlaceBits] != '0 ? (PlaceBits + 1)'(HeaderBytes)
          : left[PlaceBits:0];
    end

    logic [8*Bytes-1:0] shifted;
    assign shifted = window_later_i >> {start, 3'b0};
    always_ff @(posedge clk_i) begin
      for (int unsigned k = 0; k < HeaderBytes; k++) begin
        words_o[r][8*(HeaderBytes-1-k)+:8] <= remain > (PlaceBits + 1)'(k) ? shifted[8*k+:8] : '0;
      end
    end
    logic unused;
    assign unused = &shifted;
  end
endmodule
