// Proof of wl_preprocessor, for packets of any length with any `keep`: each leaves once, in order,
// as a header of its first bytes with zeros after its end, with its length and sideband bit, and a
// body of the rest, which is complete before the header leaves; what is longer than MaxBytes is
// cut; no header waits that may leave. One byte is marked, which may be any of any packet; it must
// be at its place if it is part of its packet, and nowhere else. This is enough, because the module
// does not look at the data. Senders and receivers pause at will. Unbounded, by induction: the
// relations at the end tie the beat that is held, and the stored headers and lengths, to the
// packets that have entered.
module wl_preprocessor_proof #(
    parameter bit KeepHeader = 1'b0
) (
    input logic clk_i,
    input logic rst_i,
    input logic [7:0] marked_i,
    input logic valid_i,
    input logic [7:0] keep_i,
    input logic last_i,
    input logic header_ready_i,
    input logic body_ready_i
);
  localparam int unsigned DataBytes = 8;
  localparam int unsigned WindowBytes = 16;
  localparam int unsigned MaxBytes = 20;  // four bytes of the third beat

  logic [7:0] marked;  // {packet, place}: a place of the first four beats
  always_ff @(posedge clk_i) if (rst_i) marked <= marked_i;

  // What enters: the packet, the beat of it, and its bytes before this beat.
  logic [2:0] packet;
  logic [2:0] beat;  // stays at four
  logic [3:0] count;  // bytes of a last beat: those before the first zero of `keep`
  logic [63:0] data;
  logic ready;
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < DataBytes; i++) begin
      if (keep_i[i] && 32'(count) == i) count = 4'(i + 1);
    end
    for (int unsigned i = 0; i < DataBytes; i++) begin
      data[8*i+:8] = beat < 3'd4 && {packet, beat[1:0], 3'(i)} == marked ? 8'h03 : 8'h01;
    end
  end

  logic header_valid, header_first, header_last, write, close;
  logic [63:0] header, body;
  logic [16:0] info;
  wl_preprocessor #(
      .DataBytes(DataBytes), .WindowBytes(WindowBytes), .UserBits(1), .MaxBytes(MaxBytes),
      .HeaderBeats(2), .KeepHeader(KeepHeader)
  ) i_dut (
      .clk_i, .rst_i,
      .valid_i, .ready_o(ready), .data_i(data), .keep_i, .last_i,
      .user_i(packet[0] && beat == '0), .sequence_i(1'b0),
      .header_valid_o(header_valid), .header_ready_i, .header_data_o(header),
      .header_first_o(header_first), .header_last_o(header_last), .header_info_o(info),
      .body_ready_i, .body_place_i(1'b0), .body_write_o(write), .body_data_o(body),
      .body_close_o(close), .packet_o(), .bytes_o(), .malformed_o(), .oversize_o()
  );
  stream_rule #(.Width(64 + 1 + 17)) i_header (
      .clk_i, .rst_i, .valid_i(header_valid), .ready_i(header_ready_i),
      .payload_i({header, header_last, info})
  );

  logic [3:0][4:0] length;    // of the last four packets, as far as they have entered
  logic [4:0] whole;          // bytes of the packet with this beat, cut
  assign whole = beat >= 3'd3 ? 5'(MaxBytes)
      : 5'(beat) * 5'd8 + 5'(last_i ? count : 4'd8) > 5'(MaxBytes) ? 5'(MaxBytes)
      : 5'(beat) * 5'd8 + 5'(last_i ? count : 4'd8);

  // What leaves: the body that is written, and the header.
  logic [2:0] body_packet, out;
  logic [1:0] body_beat;
  logic out_beat;
  logic [4:0] body_bytes, out_bytes;
  logic [4:0] body_length, out_length;
  assign body_length = length[body_packet[1:0]];
  assign out_length = length[out[1:0]];
  assign body_bytes = KeepHeader ? body_length
      : body_length > 5'(WindowBytes) ? body_length - 5'(WindowBytes) : '0;
  assign out_bytes = out_length > 5'(WindowBytes) ? 5'(WindowBytes) : out_length;
  // A packet of no bytes has one beat, also of its copy.
  logic [2:0] body_beats;
  assign body_beats = KeepHeader && body_bytes == '0 ? 3'd1 : 3'((body_bytes + 5'd7) >> 3);
  logic [1:0] waited;

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    if (rst_i) begin
      {packet, beat, body_packet, body_beat, out, out_beat, waited} <= '0;
    end else begin
      if (valid_i && ready) begin
        beat <= last_i ? '0 : beat == 3'd4 ? beat : beat + 3'd1;
        packet <= packet + 3'(last_i);
        length[packet[1:0]] <= whole;
      end
      if (write) body_beat <= body_beat + 2'd1;
      if (close) begin
        body_packet <= body_packet + 3'd1;
        body_beat <= '0;
        Body_A : assert (3'(body_beat) + 3'(write) == body_beats);
      end
      if (header_valid) begin
        Complete_A : assert (out != body_packet);
        Info_A : assert (info == {out[0], 16'(out_length)});
        First_A : assert (header_first == !out_beat);
        Last_A : assert (header_last == (5'(out_beat) * 5'd8 + 5'd8 >= out_bytes));
        if (header_ready_i) begin
          out_beat <= !header_last;
          out <= out + 3'(header_last);
        end
      end
      waited <= out != body_packet && !header_valid ? waited + 2'd1 : '0;
      Progress_A : assert (waited == 0 || (waited == 1 && header_valid));
    end
  end

  for (genvar i = 0; i < DataBytes; i++) begin : g_byte
    logic is_marked, body_marked;
    logic [4:0] place, body_place;
    assign place = {1'b0, out_beat, 3'(i)};
    assign is_marked = {out, place} == marked;
    assign body_place = {body_beat, 3'(i)} + (KeepHeader ? 5'd0 : 5'(WindowBytes));
    assign body_marked = {body_packet, body_place} == marked;
    always_ff @(posedge clk_i) begin
      if (!rst_i && header_valid) begin
        Header_A : assert (header[8*i+:8]
            == (place >= out_length ? 8'h00 : is_marked ? 8'h03 : 8'h01));
      end
      if (!rst_i && write) begin
        // What a cut leaves of the last beat is not part of the packet.
        Stored_A : assert (!body_marked || body_place >= body_length || body[8*i+:8] == 8'h03);
        Elsewhere_A : assert (body_marked || body[8*i+:8] != 8'h03);
      end
    end
  end

  // The beat that is held is of packet `body_packet`, after `index` beats of it.
  logic held, held_last;
  logic [1:0] index;
  logic [3:0] bytes;
  assign held = i_dut.held;
  assign held_last = held && i_dut.last;
  assign index = i_dut.index;
  assign bytes = i_dut.bytes;
  // The length of a packet with `bytes` of a beat after `beats` others.
  function automatic logic [4:0] length_with(logic [2:0] beats, logic [3:0] bytes);
    return 32'(beats) * DataBytes + 32'(bytes) > MaxBytes ? 5'(MaxBytes)
        : 5'(32'(beats) * DataBytes + 32'(bytes));
  endfunction
  // A byte of a packet as it is stored.
  function automatic logic [7:0] byte_of(logic [2:0] number, logic [4:0] place);
    return place >= length[number[1:0]] ? 8'h00 : {number, place} == marked ? 8'h03 : 8'h01;
  endfunction
  always_ff @(posedge clk_i) begin
    if (started && !rst_i) begin
      Packet_A : assert (body_packet == packet - 3'(held_last));
      Behind_A : assert (i_dut.behind == (beat != 0) && beat <= 3'd4);
      User_A : assert ((!held && beat == 0) || i_dut.user == body_packet[0]);
      Bytes_A : assert (!held || (32'(bytes) <= DataBytes
          && (held_last || 32'(bytes) == DataBytes)));
      Index_A : assert (held ? beat == (held_last ? 3'd0 : 3'(index) + 3'd1)
          : index == (beat > 3'd3 ? 2'd3 : beat[1:0]));
      Length_A : assert (held
          ? length[body_packet[1:0]] == (index == 2'd3 ? 5'(MaxBytes) : length_with(index, bytes))
          : beat == 0 || length[packet[1:0]] == length_with(beat, '0));
      Written_A : assert (body_beat == (KeepHeader ? index : 2'(index == 2'd3)));
    end
  end
  for (genvar i = 0; i < DataBytes; i++) begin : g_held
    always_ff @(posedge clk_i) begin
      if (started && !rst_i && held && index != 2'd3) begin
        Held_A : assert (i_dut.data[8*i+:8] == (i >= 32'(bytes) ? 8'h00
            : {body_packet, index, 3'(i)} == marked ? 8'h03 : 8'h01));
      end
    end
  end

  // What is stored of headers: complete packets, from `out` on, then the beats of the packet whose
  // end has not come. The oldest is in the register, if that is valid.
  localparam int unsigned Stored = 2;
  typedef struct packed {
    logic [2:0] number;
    logic [1:0] beat;
  } place_t;
  place_t [Stored+1:0] places;
  logic [2:0] complete;
  always_comb begin
    complete = body_packet - out;
    places[0] = '{number: out, beat: {1'b0, out_beat}};
    for (int unsigned i = 0; i <= Stored; i++) begin
      logic [4:0] in_window;
      in_window = length[places[i].number[1:0]];
      if (in_window > 5'(WindowBytes)) in_window = 5'(WindowBytes);
      places[i+1] = places[i];
      if (places[i].number != body_packet
          && (5'(places[i].beat) + 5'd1) * 5'd8 >= in_window) begin
        places[i+1].number = places[i].number + 3'd1;
        places[i+1].beat = '0;
      end else places[i+1].beat = places[i].beat + 2'd1;
    end
  end
  logic [1:0] headers, infos;
  assign headers = i_dut.i_headers.fill_o;
  assign infos = i_dut.i_infos.fill_o;
  always_ff @(posedge clk_i) begin
    if (started && !rst_i) begin
      Complete_Count_A : assert (32'(infos) == 32'(complete));
      Out_A : assert (i_dut.beat == out_beat && (!out_beat || complete != 0));
      In_Header_A : assert (!out_beat || out_length > 5'(DataBytes));
      Place_A : assert (places[headers].number == body_packet
          && places[headers].beat == (index > 2'd2 ? 2'd2 : index));
      Headers_A : assert (i_dut.i_headers.tail
          == i_dut.i_headers.head + i_dut.i_headers.stored[0]);
      Infos_A : assert (i_dut.i_infos.tail == i_dut.i_infos.head + i_dut.i_infos.stored[0]);
    end
  end
  for (genvar i = 0; i <= Stored; i++) begin : g_stored
    logic [63:0] word;
    logic [16:0] length_word;
    logic [2:0] number;
    assign number = out + 3'(i);
    always_comb begin
      word = i == 0 && i_dut.beat_valid ? header
          : i_dut.i_headers.i_ram.memory[1'(i_dut.i_headers.head + 1'(i) + i_dut.beat_valid)];
      length_word = i == 0 && i_dut.info_valid ? info
          : i_dut.i_infos.i_ram.memory[1'(i_dut.i_infos.head + 1'(i) + i_dut.info_valid)];
    end
    always_ff @(posedge clk_i) begin
      if (started && !rst_i && i < 32'(infos)) begin
        Info_A : assert (length_word == {number[0], 11'd0, length[number[1:0]]});
      end
    end
    for (genvar k = 0; k < DataBytes; k++) begin : g_byte
      always_ff @(posedge clk_i) begin
        if (started && !rst_i && i < 32'(headers)) begin
          Header_A : assert (word[8*k+:8]
              == byte_of(places[i].number, {places[i].beat, 3'(k)}));
        end
      end
    end
  end
endmodule
