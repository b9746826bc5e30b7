// Proof of wl_header_deserializer, for windows of any length that begin at either byte of a row:
// the beats of each packet leave once, whole and in order, each byte at its place; an offer stays
// until it is taken, and a packet whose rows are there does not wait. One byte is marked, which may
// be any of any packet, and no other; it must be at its place, and nowhere else. This is enough,
// because the module does not look at the data. Packets have any two windows in turn. Unbounded, by
// induction: the relations at the end tie the two registers of a beat to the places in the stream
// of what enters and what leaves.
module wl_header_deserializer_proof #(
    parameter int unsigned DataBytes = 4
) (
    input logic clk_i,
    input logic rst_i,
    input logic [1:0][3:0] window_i,
    input logic [1:0][3:0] start_i,
    input logic [1:0] drops_i,
    input logic [5:0] marked_i,
    input logic row_valid_i,
    input logic beat_ready_i
);
  localparam int unsigned RowBytes = 2;

  logic [1:0][3:0] window, start;  // of packets with an even and an odd number
  logic [1:0] drops;
  logic [5:0] marked;  // {number, place}
  always_ff @(posedge clk_i) if (rst_i) {window, start, drops, marked} <=
      {window_i, start_i, drops_i, marked_i};
  for (genvar p = 0; p < 2; p++) begin : g_packet
    always_ff @(posedge clk_i) Window_M : assume (window_i[p] <= 4'd9);
  end

  logic [1:0] number, out;  // packet that enters, packet that leaves
  logic [2:0] row;          // that enters
  logic [2:0] beat;         // that leaves
  function automatic wl_pkg::result_t result_of(logic [1:0] packet);
    result_of = '0;
    result_of.kind = drops[packet[0]] ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_FINISH;
    result_of.egress = 16'(packet);
    result_of.start = start[packet[0]];
    result_of.window = 9'(window[packet[0]]);
    result_of.length = 16'(window[packet[0]]);
  endfunction
  logic none, out_none;  // the packet has no rows: one beat without data
  logic row_last, ready;
  logic [8*RowBytes-1:0] row_data;
  assign none = drops[number[0]] || window[number[0]] == 0;
  assign row_last = none || (32'(row) + 1) * RowBytes >= 32'(window[number[0]]);
  for (genvar i = 0; i < RowBytes; i++) begin : g_row
    logic [5:0] place;
    assign place =
        6'(32'(row) * RowBytes + (i + RowBytes - 32'(start[number[0]]) % RowBytes) % RowBytes);
    assign row_data[8*(RowBytes-1-i)+:8] = 8'({number, place[3:0]} == marked);
  end

  logic beat_valid, beat_last;
  logic [8*DataBytes-1:0] beat_data;
  wl_pkg::result_t result;
  wl_header_deserializer #(.DataBytes(DataBytes), .RowBytes(RowBytes)) i_dut (
      .clk_i, .rst_i,
      .row_valid_i, .row_ready_o(ready), .row_data_i(row_data), .row_last_i(row_last),
      .row_result_i(result_of(number)),
      .beat_valid_o(beat_valid), .beat_ready_i, .beat_data_o(beat_data),
      .beat_last_o(beat_last), .beat_result_o(result)
  );

  logic [1:0] ended;  // packets whose rows are there and whose last beat has not left
  logic [1:0] waited;
  logic last;
  assign out_none = drops[out[0]] || window[out[0]] == 0;
  assign last = out_none || (32'(beat) + 1) * DataBytes >= 32'(window[out[0]]);

  stream_rule #(.Width(8 * DataBytes + 1 + wl_pkg::ResultBits)) i_out (
      .clk_i, .rst_i, .valid_i(beat_valid), .ready_i(beat_ready_i),
      .payload_i({result, beat_last, beat_data})
  );

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    if (rst_i) begin
      {number, row, out, beat, ended, waited} <= '0;
    end else begin
      if (row_valid_i && ready) begin
        row <= row_last ? '0 : row + 3'd1;
        number <= number + 2'(row_last);
      end
      if (beat_valid && beat_ready_i) begin
        beat <= beat_last ? '0 : beat + 3'd1;
        out <= out + 2'(beat_last);
      end
      ended <= ended + 2'(row_valid_i && ready && row_last)
          - 2'(beat_valid && beat_ready_i && beat_last);
      waited <= ended != 0 && !beat_valid ? waited + 2'd1 : '0;
      Progress_A : assert (waited < 2'd2 && (waited == 0 || beat_valid));
      Accepts_A : assert (ready || (beat_valid && !beat_ready_i));
      Beat_A : assert (!beat_valid || (beat_last == last && result == result_of(out)));
    end
  end

  for (genvar i = 0; i < DataBytes; i++) begin : g_byte
    logic [3:0] place;
    logic [$clog2(DataBytes)-1:0] at;
    assign place = 4'(32'(beat) * DataBytes + i);
    assign at = ($clog2(DataBytes))'(32'(start[out[0]]) % RowBytes + i);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && beat_valid && !out_none && place < window[out[0]]) begin
        Byte_A : assert (beat_data[8*at+:8] == 8'({out, place} == marked));
      end
    end
  end

  // A place in the stream: a packet and a beat of it.
  typedef struct packed {
    logic [1:0] packet;
    logic [2:0] beat;
  } place_t;
  function automatic logic [3:0] bytes_of(logic [1:0] packet);
    return drops[packet[0]] ? '0 : window[packet[0]];
  endfunction
  function automatic logic ends(place_t place);
    return (32'(place.beat) + 1) * DataBytes >= 32'(bytes_of(place.packet));
  endfunction
  function automatic place_t next(place_t place);
    next.packet = place.packet + 2'(ends(place));
    next.beat = ends(place) ? '0 : place.beat + 3'd1;
  endfunction

  // The registers match the places: what leaves next, what is collected, what enters next.
  localparam int unsigned Parts = DataBytes / RowBytes;
  place_t leaving, filling, entering;
  logic [2:0] part;
  always_comb begin
    leaving = '{packet: out, beat: beat};
    filling = beat_valid ? next(leaving) : leaving;
    entering = '{packet: number, beat: 3'(32'(row) / Parts)};
    part = 3'(32'(row) % Parts);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i && started) begin
      Row_A : assert (row == 0 || 32'(row) * RowBytes < 32'(bytes_of(number)));
      Part_A : assert (3'(i_dut.part) == part);
      Leaving_A : assert (beat == 0 || 32'(beat) * DataBytes < 32'(bytes_of(out)));
      Entering_A : assert (entering == (i_dut.full ? next(filling) : filling));
      Ended_A : assert (ended == 2'(i_dut.full && i_dut.fill_last) + 2'(beat_valid && beat_last));
      Filled_A : assert (!i_dut.full || (i_dut.fill_last == ends(filling)
          && i_dut.fill_result == result_of(filling.packet)));
    end
  end
  for (genvar i = 0; i < DataBytes; i++) begin : g_fill
    logic [3:0] at_place;
    logic [$clog2(DataBytes)-1:0] at;
    assign at_place = 4'(32'(filling.beat) * DataBytes + i);
    assign at = ($clog2(DataBytes))'(32'(start[filling.packet[0]]) % RowBytes + i);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && at_place < bytes_of(filling.packet)
          && (i_dut.full || i < 32'(part) * RowBytes)) begin
        Filled_A : assert (i_dut.fill_data[8*at+:8] == 8'({filling.packet, at_place} == marked));
      end
    end
  end
endmodule
