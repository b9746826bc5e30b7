// Header deserialiser of a cluster: assembles rows from the reorder queue to beats of the pipe.
//
// Contract
//   Data and order: row k of a packet is part k mod (DataBytes / RowBytes) of its beat k /
//   (DataBytes / RowBytes). Parts of the last beat that no row filled are arbitrary. The byte order
//   is reversed, as in wl_header_serializer.
//   Throughput: one row a cycle, if a beat is taken at the latest when the rows of the next one
//   have arrived. Latency: two cycles after the last row of the beat. Room: two beats.
// Timing: only registers. Cost: two registers of a beat, no multiplexer.
//
// Parameters
//   DataBytes   bytes of a beat, a multiple of RowBytes
//   RowBytes    bytes of a row
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

  if (RowBytes < 1 || DataBytes < RowBytes || DataBytes % RowBytes != 0) begin : g_illegal
    $fatal(1, "wl_header_deserializer: DataBytes must be a multiple of RowBytes");
  end

  localparam int unsigned Parts = DataBytes / RowBytes;
  localparam int unsigned PartBits = wl_pkg::bits(Parts);

  // Rows are collected in `fill`; a complete beat moves to the output as a whole.
  logic complete, move, accept;
  logic [PartBits-1:0] part;
  logic [8*DataBytes-1:0] fill_data;
  logic fill_first, fill_last;
  logic [wl_pkg::ResultBits-1:0] fill_result;

  assign move = complete && (!beat_valid_o || beat_ready_i);
  assign row_ready_o = !complete || move;
  assign accept = row_valid_i && row_ready_o;

  logic [8*RowBytes-1:0] row;
  for (genvar i = 0; i < RowBytes; i++) begin : g_byte
    assign row[8*i+:8] = row_data_i[8*(RowBytes-1-i)+:8];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      complete <= 1'b0;
      beat_valid_o <= 1'b0;
      part <= '0;
    end else begin
      if (accept) begin
        complete <= row_last_i || part == PartBits'(Parts - 1);
        part <= row_last_i || part == PartBits'(Parts - 1) ? '0 : part + 1'b1;
      end else if (move) begin
        complete <= 1'b0;
      end
      if (move) beat_valid_o <= 1'b1;
      else if (beat_ready_i) beat_valid_o <= 1'b0;
    end
    if (accept) begin
      for (int unsigned k = 0; k < Parts; k++) begin
        if (part == PartBits'(k)) fill_data[8*RowBytes*k+:8*RowBytes] <= row;
      end
      if (part == '0) fill_first <= row_first_i;
      fill_last   <= row_last_i;
      fill_result <= row_result_i;
    end
    if (move) begin
      beat_data_o   <= fill_data;
      beat_first_o  <= fill_first;
      beat_last_o   <= fill_last;
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
      Complete_A : assert (!complete || part == '0);
      Count_A : assert (lasts == 2'(complete && fill_last) + 2'(beat_valid_o && beat_last_o));
    end
  end
`endif

endmodule
