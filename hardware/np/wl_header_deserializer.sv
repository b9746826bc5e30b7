// Header deserialiser of a cluster: assembles rows from the reorder queue to beats of the pipe.
//
// Contract
//   Data and order: a window of n bytes, which begins at byte `start` of its first row, becomes
//   ceil(n / DataBytes) beats, at least one: each has DataBytes bytes of it, the last one the rest.
//   Byte i of the window is at position (start + i) mod DataBytes of its beat, so a beat whose bytes
//   lie in one row more than it has room for takes the first bytes of that row into the place of
//   those that precede the window. Other bytes are arbitrary. The byte order is reversed, as in
//   wl_header_serializer.
//   Throughput: one row a cycle, if a beat is taken at the latest when the rows of the next one
//   have arrived. Latency: two cycles after the beat's last row, and one row more where the packet
//   goes on. Room: two beats.
// Timing: registers, and a multiplexer for the bytes of the first row. Cost: two registers of a beat.
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
    input  logic                          row_first_i,
    input  logic                          row_last_i,
    input  logic [wl_pkg::ResultBits-1:0] row_result_i,  // on every row

    output logic                          beat_valid_o,
    input  logic                          beat_ready_i,
    output logic [       8*DataBytes-1:0] beat_data_o,
    output logic                          beat_first_o,
    output logic                          beat_last_o,
    output logic [wl_pkg::ResultBits-1:0] beat_result_o
);

  if (RowBytes < 1 || 2 ** $clog2(RowBytes) != RowBytes || DataBytes % RowBytes != 0) begin : g_illegal
    $fatal(1, "wl_header_deserializer: DataBytes must be a multiple of RowBytes, which is a power of two");
  end

  localparam int unsigned Parts = DataBytes / RowBytes;
  localparam int unsigned PartBits = wl_pkg::bits(Parts + 1);

  // Rows are collected in `fill`. A beat moves to the output when its packet has no more rows, or
  // with the row after its last one.
  logic ended;  // the rows of a packet's last beat are complete
  logic filled;  // all rows of a beat are there, and its packet has more
  logic free, wrap, move, accept;
  logic [PartBits-1:0] part;  // rows collected
  logic [8*DataBytes-1:0] fill_data;
  logic fill_first;
  logic [wl_pkg::ResultBits-1:0] fill_result;

  assign free = !beat_valid_o || beat_ready_i;
  assign row_ready_o = !(ended || filled) || free;
  assign accept = row_valid_i && row_ready_o;
  assign wrap = filled && accept;
  assign move = (ended && free) || wrap;

  logic [8*RowBytes-1:0] row;
  for (genvar i = 0; i < RowBytes; i++) begin : g_byte
    assign row[8*i+:8] = row_data_i[8*(RowBytes-1-i)+:8];
  end

  // The row after a beat: its bytes before `start` belong to the beat; if it has others of the
  // window, it is the first row of one more.
  wl_pkg::result_t result;
  logic [31:0] start, last_place;
  logic another;
  assign result = row_result_i;
  assign start = 32'(result.start) & (RowBytes - 1);
  assign last_place = (32'(result.start) + 32'(result.window) - 32'd1) & (RowBytes - 1);
  assign another = !row_last_i || last_place >= start;
  logic unused;
  assign unused = &result;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ended <= 1'b0;
      filled <= 1'b0;
      beat_valid_o <= 1'b0;
      part <= '0;
    end else begin
      if (wrap) begin
        ended <= row_last_i && another;
        filled <= !row_last_i && Parts == 1;
        part <= row_last_i ? '0 : PartBits'(1);
      end else if (accept) begin
        ended <= row_last_i;
        filled <= !row_last_i && part == PartBits'(Parts - 1);
        part <= row_last_i ? '0 : part + 1'b1;
      end else if (move) begin
        ended <= 1'b0;
      end
      if (move) beat_valid_o <= 1'b1;
      else if (beat_ready_i) beat_valid_o <= 1'b0;
    end
    if (accept) begin
      for (int unsigned k = 0; k < Parts; k++) begin
        if (wrap ? k == 0 : part == PartBits'(k)) fill_data[8*RowBytes*k+:8*RowBytes] <= row;
      end
      if (wrap) fill_first <= 1'b0;
      else if (part == '0) fill_first <= row_first_i;
      fill_result <= row_result_i;
    end
    if (move) begin
      beat_data_o <= fill_data;
      for (int unsigned i = 0; i < RowBytes; i++) begin
        if (wrap && i < start) beat_data_o[8*i+:8] <= row[8*i+:8];
      end
      beat_first_o  <= fill_first;
      beat_last_o   <= !wrap || !another;
      beat_result_o <= fill_result;
    end
  end

`ifdef FORMAL
  logic was_stalled, row_midst, beat_midst;
  logic [8*DataBytes+1+wl_pkg::ResultBits:0] was;
  logic [1:0] lasts;  // packets that have ended here and not left yet
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      row_midst <= 1'b0;
      beat_midst <= 1'b0;
      lasts <= '0;
    end else begin
      if (accept) row_midst <= !row_last_i;
      if (beat_valid_o && beat_ready_i) beat_midst <= !beat_last_o;
      lasts <= lasts + 2'(accept && row_last_i) - 2'(beat_valid_o && beat_ready_i && beat_last_o);
    end
    was_stalled <= !rst_i && beat_valid_o && !beat_ready_i;
    was <= {beat_first_o, beat_last_o, beat_result_o, beat_data_o};
    if (!rst_i) begin
      First_M : assume (!row_valid_i || row_first_i == !row_midst);
      Stable_A : assert (!was_stalled || (beat_valid_o && {beat_first_o, beat_last_o, beat_result_o, beat_data_o} == was));
      First_A : assert (!beat_valid_o || beat_first_o == !beat_midst);
      Complete_A : assert (!ended || (part == '0 && !filled));
      Filled_A : assert (filled == (part == PartBits'(Parts)));
      Count_A : assert (lasts == 2'(ended) + 2'(beat_valid_o && beat_last_o));
    end
  end
`endif

endmodule
