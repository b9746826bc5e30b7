// Test bench of wl_preprocessor with wl_body_buffer: every packet becomes a header of its first
// bytes, zero after its end, with its length and sideband bits, and a body of the rest, for any
// `keep` and length. Throughput of one beat a cycle. Over shapes, information, limits of length and
// room, without and with a copy of the header before the body.
module wl_preprocessor_tb;
  localparam int unsigned Cases = 8;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  preprocessor_case #(.Shape(0)) i_64 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  preprocessor_case #(
      .Shape(2), .SequenceBits(64), .UserBits(80)
  ) i_any (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  preprocessor_case #(.Shape(3), .Beats(32)) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  preprocessor_case #(
      .Shape(2), .MaxBytes(200), .Bad(1'b1), .Beats(4)
  ) i_cut (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  preprocessor_case #(
      .Shape(2), .MaxBytes(128), .Bad(1'b1), .HeaderBeats(2)
  ) i_window (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  preprocessor_case #(
      .Shape(2), .DataBytes(16), .WindowBytes(16), .MaxBytes(251), .Bad(1'b1), .SequenceBits(16),
      .Packets(2), .Beats(32)
  ) i_narrow (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
  preprocessor_case #(
      .Shape(0), .KeepHeader(1'b1)
  ) i_kept (.clk_i(clk), .rst_i(rst), .done_o(done[6]));
  preprocessor_case #(
      .Shape(2), .DataBytes(16), .WindowBytes(48), .MaxBytes(251), .Bad(1'b1), .Packets(2),
      .Beats(32), .KeepHeader(1'b1)
  ) i_narrow_kept (.clk_i(clk), .rst_i(rst), .done_o(done[7]));
endmodule

module preprocessor_case #(
    parameter int unsigned Shape = 0,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned WindowBytes = 128,
    parameter int unsigned UserBits = 16,
    parameter int unsigned SequenceBits = 0,
    parameter int unsigned MaxBytes = 2000,
    parameter int unsigned HeaderBeats = 64,
    parameter int unsigned Beats = 64,
    parameter int unsigned Packets = 64,
    parameter bit KeepHeader = 1'b0,
    parameter bit Bad = 1'b0  // packets have holes, and empty last beats
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits;
  localparam int unsigned InfoBits = 16 + UserBits + SequenceBits;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1200)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  // Packet `number` and its flaws. Packets with `flaw` 1 have a hole in the `keep` of their last
  // beat, with 2 in that of another, with 3 an empty beat at their end.
  function automatic int unsigned flaw_of(int unsigned number);
    int unsigned length = tb_pkg::bytes(Shape, 1, number);
    int unsigned flaw = Bad ? (tb_pkg::mix(number * 3) >> 5) % 8 : 0;
    if (flaw == 2 && length <= DataBytes) return 0;
    if (flaw == 1
        && (length == 0 || length % DataBytes == 0 || length % DataBytes > DataBytes - 2)) begin
      return 0;
    end
    if (flaw == 3 && (length == 0 || length % DataBytes != 0)) return 0;
    return flaw;
  endfunction

  logic valid, ready, last;
  logic [8*DataBytes-1:0] data;
  logic [DataBytes-1:0] keep;
  int unsigned number, beat, length, flaw, beats;
  assign length = tb_pkg::bytes(Shape, 1, number);
  assign flaw = flaw_of(number);
  assign beats = (length == 0 ? 1 : (length + DataBytes - 1) / DataBytes) + (flaw == 3 ? 1 : 0);
  assign last = beat == beats - 1;
  always_comb begin
    for (int unsigned i = 0; i < DataBytes; i++) begin
      int unsigned place;
      place = beat * DataBytes + i;
      data[8*i+:8] = place < length ? tb_pkg::octet(1, number, place) : 8'hee;
      keep[i] = place < length;
    end
    if (flaw == 1 && last) keep[DataBytes-1] = 1'b1;
    if (flaw == 2 && beat == 0) keep[3] = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid <= 1'b0;
      number <= 0;
      beat <= 0;
    end else begin
      if (!valid || ready) valid <= (send || (valid ? !last : beat != 0)) && !tb_pkg::chance(idle);
      if (valid && ready) begin
        beat <= last ? 0 : beat + 1;
        if (last) number <= number + 1;
      end
    end
  end

  logic header_valid, header_ready, header_first, header_last, room, write, close, body_valid, read,
      rewind, free;
  logic packet, malformed, oversize;
  logic [wl_pkg::bits(DataBytes+1)-1:0] bytes;
  logic [8*DataBytes-1:0] header, stored, body;
  logic [InfoBits-1:0] info;
  // The sideband bits of a packet are valid on its first beat only.
  wl_preprocessor #(
      .DataBytes(DataBytes), .WindowBytes(WindowBytes), .UserBits(UserBits),
      .SequenceBits(SequenceBits), .MaxBytes(MaxBytes),
      .HeaderBeats(HeaderBeats), .KeepHeader(KeepHeader)
  ) i_dut (
      .clk_i, .rst_i,
      .valid_i(valid), .ready_o(ready), .data_i(data), .keep_i(keep), .last_i(last),
      .user_i(beat == 0 ? UserBits'(tb_pkg::word(2, number)) : '1),
      .sequence_i(beat == 0 ? NumberBits'(tb_pkg::word(3, number)) : '1),
      .header_valid_o(header_valid), .header_ready_i(header_ready), .header_data_o(header),
      .header_first_o(header_first),
      .header_last_o(header_last), .header_info_o(info),
      .body_ready_i(room), .body_place_i(1'b0), .body_write_o(write), .body_data_o(stored),
      .body_close_o(close),
      .packet_o(packet), .bytes_o(bytes), .malformed_o(malformed), .oversize_o(oversize)
  );
  wl_body_buffer #(
      .DataBytes(DataBytes), .Beats(Beats), .Packets(Packets),
      .Ahead(KeepHeader ? WindowBytes / DataBytes : 0)
  ) i_body (
      .clk_i, .rst_i,
      .ready_o(room), .write_i(write), .data_i(stored), .close_i(close),
      .place_o(), .access_read_i(1'b0), .access_address_i('0), .access_data_o(),
      .access_write_i(1'b0),
      .access_write_address_i('0), .access_write_data_i('0),
      .body_valid_o(body_valid), .read_i(read), .read_data_o(body), .rewind_i(rewind), .free_i(free)
  );

  // Headers are checked as they arrive; then all, some or none of the packet's body is read, or it
  // is read twice, and freed.
  int unsigned out, out_beat, out_length, header_bytes, body_beats, body_beat, wanted;
  int unsigned total, total_out, packets, malformeds, oversizes, malformeds_out, oversizes_out;
  logic in_body, was_read, again, willing, offered;
  int unsigned read_beat;
  assign out_length = tb_pkg::bytes(Shape, 1, out) < MaxBytes ? tb_pkg::bytes(Shape, 1, out)
      : MaxBytes;
  assign header_bytes = out_length < WindowBytes ? out_length : WindowBytes;
  assign body_beats = (out_length - header_bytes + DataBytes - 1) / DataBytes;
  // At full speed, packets without body are freed with the last beat of their header.
  logic at_once;
  assign at_once = body_beats == 0;
  assign header_ready = willing && !in_body && (!header_last || body_valid);
  assign read = in_body && body_beat < wanted;
  assign rewind = in_body && !read && again;
  assign free = (in_body && !read && !again)
      || (header_valid && header_ready && header_last && at_once);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      willing <= 1'b0;
      offered <= 1'b0;
      in_body <= 1'b0;
      was_read <= 1'b0;
      again <= 1'b0;
      out <= 0;
      out_beat <= 0;
      body_beat <= 0;
      read_beat <= 0;
      wanted <= 0;
      total <= 0;
      total_out <= 0;
      packets <= 0;
      malformeds <= 0;
      oversizes <= 0;
      malformeds_out <= 0;
      oversizes_out <= 0;
    end else begin
      int unsigned counted;
      counted = 32'(bytes);
      willing <= !tb_pkg::chance(stall);
      offered <= header_valid && !header_ready;
      total <= total + counted;
      packets <= packets + 32'(packet);
      malformeds <= malformeds + 32'(malformed);
      oversizes <= oversizes + 32'(oversize);
      if (offered && !header_valid) $fatal(1, "%m: a beat was withdrawn");
      if (header_valid && !in_body) begin
        logic [InfoBits-1:0] expected;
        expected = InfoBits'(out_length);
        expected[16+:UserBits] = UserBits'(tb_pkg::word(2, out));
        if (SequenceBits != 0) begin
          expected |= InfoBits'(NumberBits'(tb_pkg::word(3, out))) << (16 + UserBits);
        end
        if (info !== expected) begin
          $fatal(1, "%m: packet %0d: information %h, not %h", out, info, expected);
        end
        if (header_first !== (out_beat === 0)
            || header_last !== ((out_beat + 1) * DataBytes >= header_bytes)) begin
          $fatal(1, "%m: packet %0d, beat %0d: first %b, last %b", out, out_beat, header_first,
              header_last);
        end
        for (int unsigned i = 0; i < DataBytes; i++) begin
          int unsigned place;
          place = out_beat * DataBytes + i;
          // A packet that was cut within its window still has all its bytes there.
          if (header[8*i+:8]
              !== (place < tb_pkg::bytes(Shape, 1, out) ? tb_pkg::octet(1, out, place)
              : 8'd0)) begin
            $fatal(1, "%m: packet %0d of %0d bytes: byte %0d of its header is %h", out, out_length,
                place, header[8*i+:8]);
          end
        end
        if (header_ready) begin
          out_beat <= header_last ? 0 : out_beat + 1;
          if (header_last) begin
            in_body <= !at_once;
            body_beat <= 0;
            wanted <= stall == 0 || out % 4 != 0 ? body_beats : body_beats / 2;
            again <= out % 8 == 1;
            total_out <= total_out + out_length;
            malformeds_out <= malformeds_out + 32'(flaw_of(out) == 1 || flaw_of(out) == 2);
            oversizes_out <= oversizes_out + 32'(tb_pkg::bytes(Shape, 1, out) > MaxBytes);
            if (at_once) out <= out + 1;
          end
        end
      end
      was_read <= read;
      read_beat <= body_beat;
      if (read) body_beat <= body_beat + 1;
      if (was_read) begin
        for (int unsigned i = 0; i < DataBytes; i++) begin
          int unsigned place;
          place = WindowBytes + read_beat * DataBytes + i;
          if (place < out_length && body[8*i+:8] !== tb_pkg::octet(1, out, place)) begin
            $fatal(1, "%m: packet %0d of %0d bytes: byte %0d of its body is %h", out, out_length,
                place, body[8*i+:8]);
          end
        end
      end
      if (rewind) begin
        body_beat <= 0;
        again <= 1'b0;
      end
      if (in_body && free) begin
        in_body <= 1'b0;
        out <= out + 1;
      end
      if (window && Shape === 0 && !(valid && ready && header_valid && header_ready)) begin
        $fatal(1, "%m: less than a packet a cycle");
      end
      if (done_o) begin
        if (out !== number || packets !== number || number < 200) begin
          $fatal(1, "%m: in %0d, whole %0d, out %0d", number, packets, out);
        end
        if (total !== total_out || malformeds !== malformeds_out
            || oversizes !== oversizes_out) begin
          $fatal(1, "%m: bytes %0d, not %0d; malformed %0d, not %0d; cut %0d, not %0d", total,
              total_out, malformeds, malformeds_out,
                 oversizes, oversizes_out);
        end
        if (Bad && (malformeds === 0 || oversizes === 0)) $fatal(1, "%m: no bad packet");
      end
    end
  end
endmodule
