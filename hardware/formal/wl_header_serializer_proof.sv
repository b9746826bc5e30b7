// Proof of wl_header_serializer, for any headers: the rows of each packet leave once, whole and in
// order, a cycle after their beat entered if the reader takes all before; a header never waits in
// the middle. One byte is marked, which may be any of any packet, and no other; it must be in its
// row, and nowhere else. This is enough, because the module does not look at the data. Packets have
// any two lengths in turn. Unbounded, by induction: the relations at the end tie the stored beats
// to the places in the stream between what leaves and what enters.
module wl_header_serializer_proof #(
    parameter int unsigned DataBytes = 2
) (
    input logic clk_i,
    input logic rst_i,
    input logic [1:0][2:0] length_i,
    input logic [3:0] marked_i,
    input logic valid_i,
    input logic row_ready_i
);
  localparam int unsigned WindowBytes = 4;
  localparam int unsigned Beats = 4;  // that are stored

  logic [1:0][2:0] length;  // of packets with an even and an odd number
  logic [3:0] marked;       // {number, place}
  always_ff @(posedge clk_i) if (rst_i) {length, marked} <= {length_i, marked_i};

  // Beats of a header of so many bytes, and its rows of one byte.
  function automatic logic [2:0] beats_of(logic [2:0] bytes);
    return 32'(bytes) > WindowBytes ? 3'(WindowBytes / DataBytes) : bytes == 0 ? 3'd1
        : 3'((32'(bytes) + DataBytes - 1) / DataBytes);
  endfunction
  function automatic logic [2:0] rows_of(logic [2:0] bytes);
    return 32'(bytes) > WindowBytes ? 3'(WindowBytes) : bytes == 0 ? 3'd1 : bytes;
  endfunction

  // The bytes of a beat.
  function automatic logic [8*DataBytes-1:0] data_of(logic [3:0] place);
    for (int unsigned i = 0; i < DataBytes; i++) begin
      data_of[8*i+:8] = 8'({place[3:2], 2'(32'(place[1:0]) * DataBytes + i)} == marked);
    end
  endfunction

  logic ready, last, row_valid, row_first, row_last;
  logic [1:0] number, beat, out, row;  // packet and beat that enter, packet and row that leave
  logic [8*DataBytes-1:0] data;
  logic [7:0] row_data;
  logic [16:0] info;
  logic [2:0] fill;
  assign last = 3'(beat) == beats_of(length[number[0]]) - 3'd1;
  assign data = data_of({number, beat});
  wl_header_serializer #(
      .DataBytes(DataBytes), .RowBytes(1), .WindowBytes(WindowBytes), .InfoBits(17), .Beats(Beats)
  ) i_dut (
      .clk_i, .rst_i,
      .valid_i, .ready_o(ready), .data_i(data), .first_i(beat == 0), .last_i(last),
      .info_i({number[1], 13'd0, length[number[0]]}),
      .fill_o(fill),
      .row_valid_o(row_valid), .row_ready_i, .row_data_o(row_data), .row_first_o(row_first),
      .row_last_o(row_last), .row_info_o(info)
  );

  logic row_end, beat_end;
  logic [2:0] stored;
  assign row_end = 3'(row) == rows_of(length[out[0]]) - 3'd1;
  assign beat_end = row_end || 32'(row) % DataBytes == DataBytes - 1;

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    if (rst_i) begin
      {number, beat, out, row, stored} <= '0;
    end else begin
      if (valid_i && ready) begin
        beat <= last ? '0 : beat + 2'd1;
        number <= number + 2'(last);
      end
      if (row_valid && row_ready_i) begin
        row <= row_end ? '0 : row + 2'd1;
        out <= out + 2'(row_end);
      end
      stored <= stored + 3'(valid_i && ready) - 3'(row_valid && row_ready_i && beat_end);

      Goes_On_A : assert (beat == 0 || ready);
      Prompt_A : assert (row_valid == (stored != 0) && fill == stored);
      Row_A : assert (!row_valid
          || (row_first == (row == 0) && row_last == row_end
          && info == {out[1], 13'd0, length[out[0]]}));
      Byte_A : assert (!row_valid || length[out[0]] == 0 || row_data == 8'({out, row} == marked));
    end
  end

  // A place in the stream: a packet and a beat of it.
  typedef struct packed {
    logic [1:0] packet;
    logic [1:0] beat;
  } place_t;
  function automatic logic ends(place_t place);
    return 3'(place.beat) == beats_of(length[place.packet[0]]) - 3'd1;
  endfunction

  // The places of the stored beats, the oldest first, and of the beat that enters next.
  place_t [Beats:0] places;
  always_comb begin
    places[0] = '{packet: out, beat: 2'(32'(row) / DataBytes)};
    for (int unsigned i = 0; i < Beats; i++) begin
      places[i+1].packet = places[i].packet + 2'(ends(places[i]));
      places[i+1].beat = ends(places[i]) ? '0 : places[i].beat + 2'd1;
    end
  end
  logic [1:0] head;
  assign head = i_dut.i_beats.g_ram.head;
  always_ff @(posedge clk_i) begin
    if (!rst_i && started) begin
      Row_Known_A : assert (3'(row) < rows_of(length[out[0]]));
      Part_A : assert (32'(i_dut.part) == 32'(row) % DataBytes && i_dut.row_first_o == (row == 0));
      Stored_A : assert (stored == fill && 32'(fill) <= Beats);
      Entering_A : assert (places[stored] == {number, beat});
      Pointers_A : assert (i_dut.i_beats.g_ram.tail == 2'(head + 2'(fill)));
      // A header that has begun has room for its rest.
      Room_A : assert (beat == 0 || 32'(fill) + WindowBytes / DataBytes - 32'(beat) <= Beats);
    end
  end
  for (genvar i = 0; i < Beats; i++) begin : g_stored
    logic [1:0] at;
    logic [17+8*DataBytes:0] word;
    assign at = head + 2'(i);
    assign word[0+:8*DataBytes] = data_of(places[i]);
    assign word[8*DataBytes] = ends(places[i]);
    assign word[8*DataBytes+1+:17] =
        {places[i].packet[1], 13'd0, length[places[i].packet[0]]};
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && i < 32'(fill)) begin
        Word_A : assert (i_dut.i_beats.g_ram.i_ram.memory[at] == word);
      end
    end
  end
endmodule
