`include "wl_reset.svh"

// Header serialiser of a cluster: stores beats of the pipe and splits them into the rows that
// engines load.
//
// Contract
//   Data and order: a packet of n bytes becomes ceil(n / RowBytes) rows, at least one and at most
//   as many as its beats hold, in order.
//   Byte order: byte 0 is the least significant in a beat and the most significant in a row.
//   `ready_o` is high before a packet if there is room for a whole header, and during a packet
//   always: a header never waits in the middle, however many rows it has.
//   Throughput: one beat a cycle in while there is room, one row a cycle out. Latency: one cycle.
// Timing: `ready_o` is two levels after registers; rows are a multiplexer after LUT RAM.
//
// Parameters
//   DataBytes     bytes of a beat, a power of two times RowBytes
//   RowBytes      bytes of a row, a power of two
//   WindowBytes   most bytes of a header
//   InfoBits      bits of a packet's information, its length in the lowest 16
//   Beats         beats that can be stored: at least those of a header
module wl_header_serializer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = wl_pkg::WordBytes,
    parameter int unsigned WindowBytes = wl_pkg::WindowLoaded,
    parameter int unsigned InfoBits = 32,
    parameter int unsigned Beats = 2 * ((WindowBytes + DataBytes - 1) / DataBytes),
    localparam int unsigned FillBits = wl_pkg::bits(Beats + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   first_i,
    input  logic                   last_i,
    input  logic [   InfoBits-1:0] info_i,   // on every beat
    output logic [   FillBits-1:0] fill_o,   // beats stored

    output logic                  row_valid_o,
    input  logic                  row_ready_i,
    output logic [8*RowBytes-1:0] row_data_o,
    output logic                  row_first_o,
    output logic                  row_last_o,
    output logic [  InfoBits-1:0] row_info_o    // on every row
);

  if (2 ** $clog2(RowBytes) != RowBytes || 2 ** $clog2(DataBytes) != DataBytes
      || DataBytes < RowBytes) begin : g_illegal
    $fatal(1,
        "wl_header_serializer: DataBytes and RowBytes must be powers of two, DataBytes the larger");
  end
  if (InfoBits < 16) begin : g_illegal_info
    $fatal(1, "wl_header_serializer: InfoBits must be 16 or more");
  end

  localparam int unsigned WindowBeats = (WindowBytes + DataBytes - 1) / DataBytes;
  localparam int unsigned Parts = DataBytes / RowBytes;
  localparam int unsigned PartBits = wl_pkg::bits(Parts);
  localparam int unsigned PartLsb = $clog2(RowBytes);

  if (Beats < WindowBeats) begin : g_illegal_beats
    $fatal(1, "wl_header_serializer: Beats must hold a header");
  end

  logic room;  // for the beat; by the contract there always is
  assign ready_o = !first_i || fill_o <= FillBits'(Beats - WindowBeats);

  logic beat_end, advance;
  typedef struct packed {
    logic [InfoBits-1:0] info;
    logic last;
    logic [8*DataBytes-1:0] data;
  } beat_t;
  beat_t entering, beat;  // the oldest beat
  assign entering.info = info_i;
  assign entering.last = last_i;
  assign entering.data = data_i;
  wl_fifo #(
      .Width($bits(beat_t)),
      .Depth(Beats)
  ) i_beats (
      .clk_i,
      .rst_i,
      .in_valid_i (valid_i && ready_o),
      .in_ready_o (room),
      .in_data_i  (entering),
      .out_valid_o(row_valid_o),
      .out_ready_i(row_ready_i && beat_end),
      .out_data_o (beat),
      .fill_o
  );
  assign row_info_o = beat.info;

  // The last row of the packet's last beat that holds a byte. `last_byte` is the number of the
  // packet's last byte; a packet that is longer than its header fills all rows of its last beat.
  logic [PartBits-1:0] part;  // number of the offered row in its beat
  logic [15:0] last_byte;
  logic [PartBits-1:0] last_part;
  logic whole;
  assign whole = Parts == 1 || 32'(row_info_o[15:0]) >= WindowBytes;
  assign last_byte = row_info_o[15:0] == '0 ? '0 : row_info_o[15:0] - 1'b1;
  assign last_part = whole ? PartBits'(Parts - 1) : last_byte[PartLsb+:PartBits];

  assign beat_end = part == (beat.last ? last_part : PartBits'(Parts - 1));
  assign advance = row_valid_o && row_ready_i;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      part <= '0;
      row_first_o <= 1'b1;
    end else if (advance) begin
      part <= beat_end ? '0 : part + 1'b1;
      row_first_o <= row_last_o;
    end
  end

  assign row_last_o = beat.last && beat_end;

  logic [8*DataBytes-1:0] data;
  logic [8*RowBytes-1:0] row;
  assign data = beat.data;
  assign row = data[32'(part)*8*RowBytes+:8*RowBytes];
  for (genvar i = 0; i < RowBytes; i++) begin : g_byte
    assign row_data_o[8*(RowBytes-1-i)+:8] = row[8*i+:8];
  end

  logic unused;
  assign unused = &{last_byte, room};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Part_A : assert (row_valid_o || part == '0 || !row_first_o);
      Room_A : assert (!(valid_i && ready_o) || room);
    end
  end
`endif

endmodule
