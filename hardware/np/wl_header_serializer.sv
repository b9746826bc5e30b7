// Header serialiser of a cluster: splits beats of the pipe into the rows that engines load.
//
// Contract
//   Data and order: a packet of n bytes becomes ceil(n / RowBytes) rows, at least one and at most
//   as many as its beats hold, in order.
//   Byte order: byte 0 is the least significant in a beat and the most significant in a row.
//   Throughput: one row a cycle; the next beat is accepted while the last row of the one before
//   leaves. Latency: one cycle.
// Timing: one multiplexer after registers; `ready_o` depends on `row_ready_i`.
//
// Parameters
//   DataBytes     bytes of a beat, a power of two times RowBytes
//   RowBytes      bytes of a row, a power of two
//   WindowBytes   most bytes of a header
//   InfoBits      bits of a packet's information, its length in the lowest 16
module wl_header_serializer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = wl_pkg::WordBytes,
    parameter int unsigned WindowBytes = wl_pkg::WindowLoaded,
    parameter int unsigned InfoBits = 32
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   first_i,
    input  logic                   last_i,
    input  logic [   InfoBits-1:0] info_i,   // on every beat

    output logic                  row_valid_o,
    input  logic                  row_ready_i,
    output logic [8*RowBytes-1:0] row_data_o,
    output logic                  row_first_o,
    output logic                  row_last_o,
    output logic [  InfoBits-1:0] row_info_o    // on every row
);

  if (2 ** $clog2(RowBytes) != RowBytes || 2 ** $clog2(DataBytes) != DataBytes || DataBytes < RowBytes) begin : g_illegal
    $fatal(1, "wl_header_serializer: DataBytes and RowBytes must be powers of two, DataBytes not the smaller");
  end
  if (InfoBits < 16) begin : g_illegal_info
    $fatal(1, "wl_header_serializer: InfoBits must be 16 or more");
  end

  localparam int unsigned Parts = DataBytes / RowBytes;
  localparam int unsigned PartBits = wl_pkg::bits(Parts);
  localparam int unsigned PartLsb = $clog2(RowBytes);

  logic held, first, last;
  logic [8*DataBytes-1:0] data;
  logic [PartBits-1:0] part;  // number of the offered row in its beat

  // The last row of the packet's last beat that holds a byte. `last_byte` is the number of the
  // packet's last byte; a packet that is longer than its header fills all rows of its last beat.
  logic [15:0] last_byte;
  logic [PartBits-1:0] last_part;
  logic whole, beat_end, advance;
  assign whole = Parts == 1 || 32'(row_info_o[15:0]) >= WindowBytes;
  assign last_byte = row_info_o[15:0] == '0 ? '0 : row_info_o[15:0] - 1'b1;
  assign last_part = whole ? PartBits'(Parts - 1) : last_byte[PartLsb+:PartBits];

  assign beat_end = part == (last ? last_part : PartBits'(Parts - 1));
  assign advance = held && row_ready_i;
  assign ready_o = !held || (row_ready_i && beat_end);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held <= 1'b0;
      part <= '0;
    end else begin
      if (ready_o) held <= valid_i;
      if (advance) part <= beat_end ? '0 : part + 1'b1;
    end
    if (ready_o) begin
      data <= data_i;
      last <= last_i;
      row_info_o <= info_i;
    end
    if (ready_o) first <= first_i;
    else if (advance) first <= 1'b0;
  end

  assign row_valid_o = held;
  assign row_first_o = first;
  assign row_last_o  = last && beat_end;

  logic [8*RowBytes-1:0] row;
  assign row = data[32'(part)*8*RowBytes+:8*RowBytes];
  for (genvar i = 0; i < RowBytes; i++) begin : g_byte
    assign row_data_o[8*(RowBytes-1-i)+:8] = row[8*i+:8];
  end

  logic unused;
  assign unused = &last_byte;

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Part_A : assert (held || part == '0);
    end
  end
`endif

endmodule
