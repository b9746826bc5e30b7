// Test bench of wl_header_serializer and wl_header_deserializer: a packet has the number of rows
// that its length requires, byte 0 most significant; the conversion back to beats restores every
// byte. One row a cycle each. Over beat and row sizes and shapes of packets.
module wl_header_serializer_tb;
  localparam int unsigned Cases = 5;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  serializer_case #(.Shape(0)) i_full (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  serializer_case #(.Shape(2)) i_any (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  serializer_case #(.Shape(2), .DataBytes(16)) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  serializer_case #(
      .Shape(1), .DataBytes(32), .WindowBytes(32)
  ) i_narrow (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  serializer_case #(
      .Shape(2), .RowBytes(2), .DataBytes(4), .WindowBytes(64)
  ) i_tiny (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
endmodule

module serializer_case #(
    parameter int unsigned Shape = 0,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = 16,
    parameter int unsigned WindowBytes = 128
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned InfoBits = 20;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1000)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  // Header beats of packet `number`, as wl_preprocessor sends them.
  logic valid, ready, first, last;
  logic [8*DataBytes-1:0] data;
  int unsigned number, beat, length, header;
  assign length = tb_pkg::bytes(Shape, 0, number);
  assign header = length < WindowBytes ? length : WindowBytes;
  assign first = beat == 0;
  assign last = (beat + 1) * DataBytes >= header;
  always_comb begin
    for (int unsigned i = 0; i < DataBytes; i++) begin
      data[8*i+:8] = beat * DataBytes + i < header ? tb_pkg::octet(0, number, beat * DataBytes + i)
          : 8'd0;
    end
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

  logic row_valid, row_ready, row_first, row_last;
  logic [8*RowBytes-1:0] row;
  logic [InfoBits-1:0] info;
  logic join_ready;
  wl_header_serializer #(
      .DataBytes(DataBytes), .RowBytes(RowBytes), .WindowBytes(WindowBytes), .InfoBits(InfoBits)
  ) i_dut (
      .clk_i, .rst_i,
      .valid_i(valid), .ready_o(ready), .data_i(data), .first_i(first), .last_i(last),
      .info_i({4'(number), 16'(length)}), .fill_o(),
      .row_valid_o(row_valid), .row_ready_i(row_ready && join_ready), .row_data_o(row),
      .row_first_o(row_first), .row_last_o(row_last),
      .row_info_o(info)
  );

  // The engine's result: the whole header leaves, and its length tells packets apart.
  wl_pkg::result_t row_result, result;
  always_comb begin
    row_result = '0;
    row_result.window = 9'(32'(info[15:0]) < WindowBytes ? 32'(info[15:0]) : WindowBytes);
    row_result.length = info[15:0];
    row_result.egress = 16'(info[19:16]);
  end
  logic beat_valid, beat_ready, beat_last;
  logic [8*DataBytes-1:0] beat_data;
  wl_header_deserializer #(.DataBytes(DataBytes), .RowBytes(RowBytes)) i_back (
      .clk_i, .rst_i,
      .row_valid_i(row_valid && row_ready), .row_ready_o(join_ready), .row_data_i(row),
      .row_last_i(row_last), .row_result_i(row_result),
      .beat_valid_o(beat_valid), .beat_ready_i(beat_ready), .beat_data_o(beat_data),
      .beat_last_o(beat_last), .beat_result_o(result)
  );

  int unsigned row_packet, row_number, back_packet, back_beat;
  logic row_offered, beat_offered;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      row_ready <= 1'b0;
      beat_ready <= 1'b0;
      row_offered <= 1'b0;
      beat_offered <= 1'b0;
      row_packet <= 0;
      row_number <= 0;
      back_packet <= 0;
      back_beat <= 0;
    end else begin
      int unsigned bytes;
      int unsigned rows;
      bytes = tb_pkg::bytes(Shape, 0, row_packet);
      if (bytes > WindowBytes) bytes = WindowBytes;
      rows = bytes == 0 ? 1 : (bytes + RowBytes - 1) / RowBytes;
      row_ready <= !tb_pkg::chance(stall / 2);
      row_offered <= row_valid && !(row_ready && join_ready);
      if (row_offered && !row_valid) $fatal(1, "%m: a row was withdrawn");
      if (row_valid) begin
        if (row_first !== (row_number === 0) || row_last !== (row_number === rows - 1)) begin
          $fatal(1, "%m: row %0d of %0d has first %b, last %b", row_number, rows, row_first,
              row_last);
        end
        if (info !== {4'(row_packet), 16'(tb_pkg::bytes(Shape, 0, row_packet))}) begin
          $fatal(1, "%m: information %h", info);
        end
        for (int unsigned i = 0; i < RowBytes; i++) begin
          int unsigned place;
          place = row_number * RowBytes + i;
          if (row[8*(RowBytes-1-i)+:8]
              !== (place < bytes ? tb_pkg::octet(0, row_packet, place) : 8'd0)) begin
            $fatal(1, "%m: packet %0d, byte %0d", row_packet, place);
          end
        end
        if (row_ready && join_ready) begin
          row_number <= row_last ? 0 : row_number + 1;
          if (row_last) row_packet <= row_packet + 1;
        end
      end
      if (window && !(row_valid && row_ready && join_ready)) begin
        $fatal(1, "%m: less than a row a cycle");
      end

      // The beats after the conversion back have the bytes of the rows.
      begin
        int unsigned back;
        int unsigned beats;
        back = tb_pkg::bytes(Shape, 0, back_packet);
        if (back > WindowBytes) back = WindowBytes;
        beats = back == 0 ? 1 : (back + DataBytes - 1) / DataBytes;
        beat_ready <= !tb_pkg::chance(stall);
        beat_offered <= beat_valid && !beat_ready;
        if (beat_offered && !beat_valid) $fatal(1, "%m: a beat was withdrawn");
        if (beat_valid) begin
          if (beat_last !== (back_beat === beats - 1)) begin
            $fatal(1, "%m: beat %0d of %0d has last %b", back_beat, beats, beat_last);
          end
          if (result.egress !== 16'(4'(back_packet))
              || result.length !== 16'(tb_pkg::bytes(Shape, 0, back_packet))) begin
            $fatal(1, "%m: result %p", result);
          end
          for (int unsigned i = 0; i < DataBytes && back_beat * DataBytes + i < back; i++) begin
            if (beat_data[8*i+:8]
                !== tb_pkg::octet(0, back_packet, back_beat * DataBytes + i)) begin
              $fatal(1, "%m: packet %0d comes back with another byte %0d", back_packet,
                  back_beat * DataBytes + i);
            end
          end
          if (beat_ready) begin
            back_beat <= beat_last ? 0 : back_beat + 1;
            if (beat_last) back_packet <= back_packet + 1;
          end
        end
      end
      if (done_o && (row_packet !== number || back_packet !== number || number < 100)) begin
        $fatal(1, "%m: sent %0d, rows of %0d, back %0d", number, row_packet, back_packet);
      end
    end
  end
endmodule
