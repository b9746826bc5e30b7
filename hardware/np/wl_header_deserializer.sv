`include "wl_reset.svh"

// Header deserialiser of a cluster: assembles rows from the reorder queue to beats of the pipe.
//
// Contract
//   Data and order: a window of n bytes comes in ceil(n / RowBytes) rows, at least one, and becomes
//   ceil(n / DataBytes) beats, at least one: each has DataBytes bytes of it, the last one the rest.
//   Byte i of the window is byte (start + i) mod RowBytes of its row, byte 0 most significant, and
//   byte (start + i) mod DataBytes of its beat, byte 0 least significant: the bytes of a row before
//   `start` belong to the next row of the beat, or to the first. Other bytes are arbitrary.
//   Throughput: one row a cycle, if a beat is taken at the latest when the rows of the next one
//   have arrived. Latency: two cycles after the beat's last row. Room: two beats.
// Timing: registers. Cost: two registers of a beat.
//
// Parameters
//   DataBytes   bytes of a beat, a multiple of RowBytes
//   RowBytes    bytes of a row, a power of two
module wl_header_deserializer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = wl_pkg::WordBytes
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                          row_valid_i,
    output logic                          row_ready_o,
    input  logic [        8*RowBytes-1:0] row_data_i,
    input  logic                          row_last_i,
    input  wl_pkg::result_t               row_result_i,  // on every row

    output logic                          beat_valid_o,
    input  logic                          beat_ready_i,
    output logic [       8*DataBytes-1:0] beat_data_o,
    output logic                          beat_last_o,
    output wl_pkg::result_t               beat_result_o
);

  if (RowBytes < 1 || 2 ** $clog2(RowBytes) != RowBytes
      || DataBytes % RowBytes != 0) begin : g_illegal
    $fatal(1, "wl_header_deserializer: DataBytes must be a multiple of RowBytes, a power of two");
  end

  localparam int unsigned Parts = DataBytes / RowBytes;
  localparam int unsigned PartBits = wl_pkg::bits(Parts);

  // Rows are collected in `fill`. A beat moves to the output when it has all its rows.
  logic full, free, accept;
  logic [PartBits-1:0] part;  // the place of the row in its beat
  logic [8*DataBytes-1:0] fill_data;
  logic fill_last;
  wl_pkg::result_t fill_result;

  typedef struct packed {
    wl_pkg::result_t result;
    logic last;
    logic [8*DataBytes-1:0] data;
  } beat_t;
  beat_t beat;  // the output
  assign beat_result_o = beat.result;
  assign beat_last_o = beat.last;
  assign beat_data_o = beat.data;

  assign free = !beat_valid_o || beat_ready_i;
  assign row_ready_o = !full || free;
  assign accept = row_valid_i && row_ready_o;

  logic [31:0] start;
  assign start = 32'(row_result_i.start) & (RowBytes - 1);

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      full <= 1'b0;
      beat_valid_o <= 1'b0;
      part <= '0;
    end else begin
      if (accept) begin
        full <= row_last_i || part == PartBits'(Parts - 1);
        part <= row_last_i || part == PartBits'(Parts - 1) ? '0 : part + 1'b1;
      end else if (free) full <= 1'b0;
      if (full) beat_valid_o <= 1'b1;
      else if (beat_ready_i) beat_valid_o <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (accept) begin
      for (int unsigned k = 0; k < Parts; k++) begin
        for (int unsigned i = 0; i < RowBytes; i++) begin
          if (part == PartBits'(i >= start ? k : k == 0 ? Parts - 1 : k - 1)) begin
            fill_data[8*(RowBytes*k+i)+:8] <= row_data_i[8*(RowBytes-1-i)+:8];
          end
        end
      end
      fill_last   <= row_last_i;
      fill_result <= row_result_i;
    end
    if (full && free) begin
      beat.result <= fill_result;
      beat.last   <= fill_last;
      beat.data   <= fill_data;
    end
  end

`ifdef FORMAL
  logic was_stalled;
  beat_t was;
  logic [1:0] lasts;  // packets that have ended here and not left yet
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      lasts <= '0;
    end else begin
      lasts <= lasts + 2'(accept && row_last_i) - 2'(beat_valid_o && beat_ready_i && beat_last_o);
    end
    was_stalled <= !rst_i && beat_valid_o && !beat_ready_i;
    was <= beat;
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (beat_valid_o && beat === was));
      Full_A : assert (!full || part == '0);
      Count_A : assert (lasts == 2'(full && fill_last) + 2'(beat_valid_o && beat_last_o));
    end
  end
`endif

endmodule
