// Applies the changes of a step of a pipelined engine to a header window: clears a run of bytes,
// then writes words. Combinational.
//
// Contract: byte p of the window is physical byte WindowFront - Headroom + p. It becomes the byte
// of a word that is written there, if any; else zero if it is among the `clear_count_i` bytes from
// physical byte `clear_address_i` on, modulo 256; else it keeps its value. Words must not overlap.
// Timing: a 16-way rotator and a multiplexer.
module wl_pipeline_write #(
    parameter int unsigned Headroom = 0,    // bytes before the header, as in wl_pipeline_load
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,  // bytes of a word: 4, 8 or 16
    parameter bit Clears = 1'b1,            // 0: nothing is ever cleared
    localparam int unsigned Bytes = Headroom + wl_pkg::WindowLoaded,
    localparam int unsigned Word = 8 * HeaderBytes
) (
    input  logic [   8*Bytes-1:0]                  window_i,
    input  logic                                   clear_valid_i,
    input  logic [           7:0]                  clear_address_i,
    input  logic [           8:0]                  clear_count_i,
    input  logic [WritePorts-1:0]                  write_valid_i,
    input  logic [WritePorts-1:0][            7:0] write_address_i,  // physical byte of byte 0
    input  logic [WritePorts-1:0][HeaderBytes-1:0] write_strobe_i,   // bit k: byte k
    input  logic [WritePorts-1:0][       Word-1:0] write_data_i,     // byte 0 most significant
    output logic [   8*Bytes-1:0]                  window_o
);
  if (WritePorts < 1) begin : g_illegal
    $fatal(1, "wl_pipeline_write: WritePorts must be at least one");
  end
  if (HeaderBytes != 4 && HeaderBytes != 8 && HeaderBytes != 16) begin : g_illegal_word
    $fatal(1, "wl_pipeline_write: HeaderBytes must be 4, 8 or 16");
  end

  localparam int unsigned First = wl_pkg::WindowFront - Headroom;

  localparam int unsigned PlaceBits = wl_pkg::bits(HeaderBytes);

  // Each word is rotated to its place in a row: byte q of `data` goes to byte q of row `row`. If a
  // word is shorter than a row, the places that it does not reach hold arbitrary bytes, without a
  // strobe.
  for (genvar w = 0; w < WritePorts; w++) begin : g_turn
    logic [7:0] address;
    logic [15:0] strobes, strobe;
    logic [Word-1:0] word;
    logic [15:0][7:0] data;
    logic [15:0][3:0] row;
    assign address = write_address_i[w];
    assign strobes = 16'(write_strobe_i[w]);
    assign word = write_data_i[w];
    always_comb begin
      for (int unsigned q = 0; q < 16; q++) begin
        logic [3:0] k;
        k = 4'(q) - address[3:0];
        strobe[q] = write_valid_i[w] && strobes[k];
        data[q] = word[8*(HeaderBytes-1-32'(k[PlaceBits-1:0]))+:8];
        row[q] = address[7:4] + 4'(4'(q) < address[3:0]);
      end
    end
  end

  for (genvar p = 0; p < Bytes; p++) begin : g_byte
    localparam int unsigned At = First + p;
    logic [7:0] cleared;
    if (Clears) begin : g_clear
      logic [7:0] distance;
      assign distance = 8'(At) - clear_address_i;
      assign cleared = clear_valid_i && {1'b0, distance} < clear_count_i ? '0 : window_i[8*p+:8];
    end else begin : g_keep
      assign cleared = window_i[8*p+:8];
    end
    logic [WritePorts-1:0] written;
    logic [WritePorts-1:0][7:0] word;
    for (genvar w = 0; w < WritePorts; w++) begin : g_word
      assign written[w] = g_turn[w].strobe[At%16] && g_turn[w].row[At%16] == 4'(At / 16);
      assign word[w] = g_turn[w].data[At%16];
    end
    always_comb begin
      window_o[8*p+:8] = cleared;
      for (int unsigned w = 0; w < WritePorts; w++) if (written[w]) window_o[8*p+:8] = word[w];
    end
  end
  if (!Clears) begin : g_unused
    logic unused;
    assign unused = &{clear_valid_i, clear_address_i, clear_count_i};
  end
endmodule
