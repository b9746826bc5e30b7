// Test bench of a whole pipe: pre-processor, body buffer, distributor, clusters of serialiser,
// engines (a model), reorder queue and deserialiser, gatherer and post-processor. Every packet
// arrives at one engine unchanged, and leaves in order as the engine decided: new window, the rest
// of its body, copies, or an event. Throughput of one packet or event a cycle, and of one beat a
// cycle in or out for packets of any length, with or without bytes pushed in front. Copies may
// begin and end at any byte of the body. Over clusters, policies and decisions of engines.
module wl_postprocessor_tb;
  localparam int unsigned Cases = 14;
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 14'b10_1001_1010_0000;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  if (Chosen[0])
    pipe_case #(
        .Clusters(6), .Policy(0), .Shape(4)
    ) i_6 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  if (Chosen[1])
    pipe_case #(.Clusters(8), .Policy(1)) i_8 (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  if (Chosen[2])
    pipe_case #(.Clusters(5), .Policy(2)) i_5 (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  if (Chosen[3])
    pipe_case #(
        .Clusters(4), .Policy(0), .Kind(1)
    ) i_drops (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  if (Chosen[4])
    pipe_case #(
        .Clusters(1), .Policy(0), .Kind(2), .Shape(2)
    ) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  if (Chosen[5])
    pipe_case #(
        .Clusters(3), .Policy(1), .Kind(2), .Shape(3)
    ) i_3 (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
  if (Chosen[6])
    pipe_case #(
        .Clusters(4), .Policy(0), .Kind(2), .Shape(2)
    ) i_any (.clk_i(clk), .rst_i(rst), .done_o(done[6]));
  if (Chosen[7])
    pipe_case #(
        .Clusters(2), .Policy(2), .Kind(2), .Shape(2), .DataBytes(16), .OrderDepth(24)
    ) i_narrow (.clk_i(clk), .rst_i(rst), .done_o(done[7]));
  if (Chosen[8])
    pipe_case #(
        .Clusters(6), .Policy(1), .Kind(3), .Shape(4)
    ) i_push (.clk_i(clk), .rst_i(rst), .done_o(done[8]));
  if (Chosen[9])
    pipe_case #(
        .Clusters(4), .Policy(0), .Kind(4), .Shape(2)
    ) i_pieces (.clk_i(clk), .rst_i(rst), .done_o(done[9]));
  if (Chosen[10])
    pipe_case #(
        .Clusters(1), .Policy(1), .Kind(4), .Shape(3)
    ) i_long_pieces (.clk_i(clk), .rst_i(rst), .done_o(done[10]));
  if (Chosen[11])
    pipe_case #(
        .Clusters(2), .Policy(2), .Kind(4), .Shape(2), .DataBytes(16), .OrderDepth(24)
    ) i_narrow_pieces (.clk_i(clk), .rst_i(rst), .done_o(done[11]));
  if (Chosen[12])
    pipe_case #(
        .Clusters(4), .Policy(0), .Kind(4), .Shape(2), .Holds(1'b1)
    ) i_held (.clk_i(clk), .rst_i(rst), .done_o(done[12]));
  if (Chosen[13])
    pipe_case #(
        .Clusters(3), .Policy(1), .Kind(2), .Shape(3), .Holds(1'b1)
    ) i_held_long (.clk_i(clk), .rst_i(rst), .done_o(done[13]));
endmodule

module pipe_case #(
    parameter int unsigned Clusters = 4,
    parameter int unsigned Policy = 0,
    // Packets leave 0: with a window of unchanged length; 1: not at all; 2: in any way; 3: with
    // four bytes pushed in front; 4: in any way, with copies of some bytes of the body.
    parameter int unsigned Kind = 0,
    parameter bit Holds = 1'b0,  // a packet's next record waits until its copy has left the bodies
    parameter int unsigned Shape = 0,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned OrderDepth = 512
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Tags = 16;
  localparam int unsigned TagBits = wl_pkg::bits(Tags);
  localparam int unsigned FreeBits = wl_pkg::bits(Tags + 1);
  localparam int unsigned InfoBits = 16 + 16 + 32;
  localparam int unsigned ResultBits = wl_pkg::ResultBits;
  localparam int unsigned SkipBits = Kind == 4 ? 8 : 0;
  localparam int unsigned ReadBits = Kind == 4 ? 8 : 1;
  localparam bit IsAny = Kind == 2 || Kind == 4;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1000)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  // ---- Input ----
  logic valid, ready, last;
  logic [8*DataBytes-1:0] data;
  logic [DataBytes-1:0] keep;
  int unsigned number, beat, length;
  assign length = tb_pkg::bytes(Shape, 1, number);
  assign last = (beat + 1) * DataBytes >= length;
  always_comb begin
    for (int unsigned i = 0; i < DataBytes; i++) begin
      data[8*i+:8] = tb_pkg::octet(1, number, beat * DataBytes + i);
      keep[i] = beat * DataBytes + i < length;
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

  // ---- The engine's result for record `copy` of packet `number` ----
  function automatic int unsigned copies(int unsigned number);
    /* verilator no_inline_task */
    int unsigned random = tb_pkg::mix(number + 5);
    return IsAny && random % (Kind == 4 ? 2 : 8) == 0 ? 1 + (random >> 8) % 3 : 0;
  endfunction
  // Returns the bytes of the body before the first that leaves, of a record with an empty window.
  function automatic int unsigned skip_of(int unsigned number, int unsigned copy);
    /* verilator no_inline_task */
    int unsigned random = tb_pkg::mix(tb_pkg::mix(number) + copy + 77);
    int unsigned length = tb_pkg::bytes(Shape, 1, number);
    int unsigned body = length > 128 ? length - 128 : 0;
    if (Kind != 4 || copy >= copies(number) || random % 8 == 0) return 0;
    if (random % 8 == 1) return body;
    // Near the limits of beats, and anywhere.
    if (random % 8 < 4) skip_of = (random >> 3) % 4 * DataBytes + (random >> 8) % 3;
    else skip_of = random >> 3;
    return skip_of < body ? skip_of : body == 0 ? 0 : skip_of % body;
  endfunction
  function automatic wl_pkg::result_t result_of(int unsigned number, int unsigned copy);
    /* verilator no_inline_task */
    wl_pkg::result_t result;
    int unsigned random = tb_pkg::mix(tb_pkg::mix(number) + copy);
    int unsigned length = tb_pkg::bytes(Shape, 1, number);
    int unsigned body = length > 128 ? length - 128 : 0;
    result.kind = wl_pkg::EXIT_FINISH;
    result.reason = random[23:0];
    result.egress = 16'(random >> 3);
    result.more = copy < copies(number);
    result.start = '0;
    result.window = 9'(length - body);
    if (Kind == 3) begin
      result.start = 4'd12;
      result.window = 9'(length - body + 4);
    end
    if (Kind == 1) result.kind = random[0] ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_DONE;
    if (IsAny) begin
      result.start = random[3:0];
      result.window = 9'((random >> 4) % 257);
      if ((random >> 12) % 4 == 0) result.window = 9'((random >> 4) % 4 * 64);
      if ((random >> 16) % 8 < (Kind == 4 && result.more ? 6 : 1)) result.window = '0;
      if (Kind == 4 && result.window == '0) begin
        result.start = '0;
        body -= skip_of(number, copy);
      end
      if ((random >> 20) % 8 == 0) body = body == 0 ? 0 : (random >> 10) % body;
      if ((random >> 24) % 8 == 0 && !result.more) result.kind = wl_pkg::EXIT_DROP;
      else if (result.more) begin
        result.kind = random[5] ? wl_pkg::EXIT_COPY_TO_CPU : wl_pkg::EXIT_EMIT;
      end else if ((random >> 28) % 4 == 0) result.kind = wl_pkg::EXIT_TO_CPU;
    end
    result.length = 16'(32'(result.window) + body);
    return result;
  endfunction
  function automatic bit sends(wl_pkg::result_t result);
    /* verilator no_inline_task */
    return result.kind != wl_pkg::EXIT_DROP && result.kind != wl_pkg::EXIT_DONE;
  endfunction
  function automatic int unsigned rows_of(wl_pkg::result_t result);
    return !sends(result) || result.window == '0 ? 0 : (32'(result.window) + 15) / 16;
  endfunction
  function automatic logic [127:0] row_of(int unsigned number, int unsigned copy, int unsigned row);
    /* verilator no_inline_task */
    wl_pkg::result_t result = result_of(number, copy);
    if (Kind == 4 && result.window == '0) return {16'(skip_of(number, copy)), {14{8'hff}}};
    for (int unsigned i = 0; i < 16; i++) begin
      // Bytes outside the window are arbitrary.
      int unsigned place;
      place = 16 * row + (i + 16 - 32'(result.start)) % 16;
      row_of[8*(15-i)+:8] = place >= 32'(result.window) ? 8'hff
          : tb_pkg::octet(2 + copy, number, place);
    end
  endfunction

  // ---- The pipe ----
  logic header_valid, header_ready, header_first, header_last, room, write, close, body_valid,
      rewind, free_body;
  logic [ReadBits-1:0] read;
  logic [8*DataBytes-1:0] header, stored, body;
  logic [InfoBits-1:0] info;
  logic unused_packet, unused_malformed, unused_oversize;
  logic [wl_pkg::bits(DataBytes+1)-1:0] unused_bytes;
  wl_preprocessor #(
      .DataBytes(DataBytes), .SequenceBits(32), .MaxBytes(2100), .HeaderBeats(32)
  ) i_preprocessor (
      .clk_i, .rst_i,
      .valid_i(valid), .ready_o(ready), .data_i(data), .keep_i(keep), .last_i(last),
      .user_i(16'(number)), .sequence_i(number),
      .header_valid_o(header_valid), .header_ready_i(header_ready), .header_data_o(header),
      .header_first_o(header_first),
      .header_last_o(header_last), .header_info_o(info),
      .body_ready_i(room), .body_place_i(1'b0), .body_write_o(write), .body_data_o(stored),
      .body_close_o(close),
      .packet_o(unused_packet), .bytes_o(unused_bytes), .malformed_o(unused_malformed),
      .oversize_o(unused_oversize)
  );
  wl_body_buffer #(
      .DataBytes(DataBytes), .Beats(256), .Packets(256), .SkipBits(SkipBits)
  ) i_body (
      .clk_i, .rst_i,
      .ready_o(room), .write_i(write), .data_i(stored), .close_i(close),
      .place_o(), .access_read_i(1'b0), .access_address_i('0), .access_data_o(),
      .access_write_i(1'b0),
      .access_write_address_i('0), .access_write_data_i('0),
      .body_valid_o(body_valid), .read_i(read), .read_data_o(body), .rewind_i(rewind),
      .free_i(free_body)
  );

  logic [Clusters-1:0] to_valid, to_ready, from_valid, from_ready, from_last;
  logic to_first, to_last, order_valid, order_ready;
  logic [8*DataBytes-1:0] to_data;
  logic [InfoBits-1:0] to_info;
  logic [Clusters*FreeBits-1:0] free;
  logic [wl_pkg::bits(Clusters)-1:0] order;
  logic [Clusters*8*DataBytes-1:0] from_data;
  logic [Clusters*ResultBits-1:0] from_result;
  wl_distributor #(
      .Clusters(Clusters), .DataBytes(DataBytes), .InfoBits(InfoBits), .FreeBits(FreeBits),
      .Policy(Policy)
  ) i_distributor (
      .clk_i, .rst_i,
      .header_valid_i(header_valid), .header_ready_o(header_ready), .header_data_i(header),
      .header_first_i(header_first),
      .header_last_i(header_last), .header_info_i(info),
      .cluster_valid_o(to_valid), .cluster_ready_i(to_ready), .cluster_data_o(to_data),
      .cluster_first_o(to_first),
      .cluster_last_o(to_last), .cluster_info_o(to_info), .free_i(free),
      .order_valid_o(order_valid), .order_ready_i(order_ready), .order_cluster_o(order)
  );

  // The record whose body is read next.
  int unsigned ending_packet, ending_copy;
  always_ff @(posedge clk_i) begin
    if (rst_i || free_body) ending_copy <= 0;
    else if (rewind) ending_copy <= ending_copy + 1;
    if (rst_i) ending_packet <= 0;
    else if (free_body) ending_packet <= ending_packet + 1;
  end

  int unsigned loaded[Clusters];
  for (genvar c = 0; c < Clusters; c++) begin : g_cluster
    logic row_valid, row_ready, row_first, row_last, alloc_ready;
    logic [FreeBits-1:0] free_tags;
    logic [wl_pkg::bits(2*((128+DataBytes-1)/DataBytes)+1)-1:0] waiting;
    assign free[c*FreeBits+:FreeBits] = 32'(free_tags) > 32'(waiting)
        ? free_tags - FreeBits'(waiting) : '0;
    logic [127:0] row;
    logic [InfoBits-1:0] row_info;
    wl_header_serializer #(.DataBytes(DataBytes), .InfoBits(InfoBits)) i_serializer (
        .clk_i, .rst_i,
        .valid_i(to_valid[c]), .ready_o(to_ready[c]), .data_i(to_data), .first_i(to_first),
        .last_i(to_last), .info_i(to_info), .fill_o(waiting),
        .row_valid_o(row_valid), .row_ready_i(row_ready), .row_data_o(row), .row_first_o(row_first),
        .row_last_o(row_last),
        .row_info_o(row_info)
    );

    logic [TagBits-1:0] alloc_tag, finish_tag, head;
    logic finish_valid, finish_ready, finish_first, finish_last, drained, out_valid, out_ready,
        out_last, any_drained;
    logic [127:0] finish_data, out_data;
    wl_pkg::result_t finish_result;
    logic [ResultBits-1:0] out_result;
    wl_reorder #(.Tags(Tags)) i_reorder (
        .clk_i, .rst_i,
        .alloc_valid_i(row_valid && row_first), .alloc_ready_o(alloc_ready),
        .alloc_tag_o(alloc_tag), .free_o(free_tags),
        .finish_valid_i(finish_valid), .finish_ready_o(finish_ready), .finish_first_i(finish_first),
        .finish_last_i(finish_last), .finish_source_i('0),
        .finish_data_i(finish_data), .finish_tag_i(finish_tag), .finish_result_i(finish_result),
        .order_head_o(head), .order_drained_o(any_drained),
        .row_valid_o(out_valid), .row_ready_i(out_ready), .row_first_o(),
        .row_last_o(out_last), .row_data_o(out_data),
        .row_result_o(out_result)
    );
    wl_header_deserializer #(.DataBytes(DataBytes)) i_deserializer (
        .clk_i, .rst_i,
        .row_valid_i(out_valid), .row_ready_o(out_ready), .row_data_i(out_data),
        .row_last_i(out_last), .row_result_i(out_result),
        .beat_valid_o(from_valid[c]), .beat_ready_i(from_ready[c]),
        .beat_data_o(from_data[c*8*DataBytes+:8*DataBytes]),
        .beat_last_o(from_last[c]),
        .beat_result_o(from_result[c*ResultBits+:ResultBits])
    );

    if (Holds) begin : g_gate
      wl_copy_gate i_gate (
          .clk_i, .rst_i,
          .drained_i(any_drained), .drained_o(drained),
          .row_valid_i(out_valid), .row_ready_i(out_ready), .row_result_i(out_result),
          .beat_valid_i(from_valid[c]), .beat_ready_i(from_ready[c]), .beat_last_i(from_last[c]),
          .beat_result_i(from_result[c*ResultBits+:ResultBits]), .left_i(rewind)
      );
    end else begin : g_free
      assign drained = any_drained;
    end

    // Engines: packets are checked as they are loaded, and finish at random, or the oldest first at
    // full speed.
    int owner[Tags];  // the packet that has been loaded completely under the tag, or -1
    int unsigned copy_of[Tags];
    int unsigned now_row, load_row;
    int choice;
    logic [TagBits-1:0] load_tag;
    assign row_ready = !row_first || alloc_ready;
    assign finish_valid = choice >= 0;
    assign finish_tag = TagBits'(choice);
    assign finish_result = choice >= 0 ? result_of(owner[choice], copy_of[choice]) : '0;
    assign finish_first = now_row == 0;
    assign finish_last = rows_of(finish_result) == 0 || now_row == rows_of(finish_result) - 1;
    assign finish_data = choice >= 0 ? row_of(owner[choice], copy_of[choice], now_row) : '0;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        now_row <= 0;
        load_row <= 0;
        choice <= -1;
        loaded[c] <= 0;
        for (int tag = 0; tag < int'(Tags); tag++) begin
          owner[tag] <= -1;
          copy_of[tag] <= 0;
        end
      end else begin
        int held[Tags];
        bit ends;
        bit oldest;
        for (int tag = 0; tag < int'(Tags); tag++) held[tag] = owner[tag];
        ends = finish_valid && finish_ready && finish_last;
        oldest = idle == 0 && stall == 0;
        if (row_valid && row_ready) begin
          int unsigned packet;
          int unsigned bytes;
          logic [TagBits-1:0] tag;
          packet = row_info[32+:32];
          bytes = tb_pkg::bytes(Shape, 1, packet);
          tag = row_first ? alloc_tag : load_tag;
          if (row_info[31:0] !== {16'(packet), 16'(bytes)}) begin
            $fatal(1, "%m: information %h", row_info);
          end
          for (int unsigned i = 0; i < 16; i++) begin
            if (16 * load_row + i < bytes
                && row[8*(15-i)+:8] !== tb_pkg::octet(1, packet, 16 * load_row + i)) begin
              $fatal(1, "%m: packet %0d is loaded with another byte %0d", packet,
                  16 * load_row + i);
            end
          end
          load_row <= row_last ? 0 : load_row + 1;
          load_tag <= tag;
          if (row_last) begin
            held[tag] = int'(packet);
            copy_of[tag] <= 0;
            loaded[c] <= loaded[c] + 1;
          end
        end
        if (finish_valid && finish_ready) now_row <= finish_last ? 0 : now_row + 1;
        if (Holds && drained && owner[head] >= 0 && copy_of[head] > 0
            && (ending_packet !== owner[head] || ending_copy !== copy_of[head])) begin
          $fatal(1, "%m: packet %0d continues, and copy %0d of %0d is being read", owner[head],
              ending_copy, ending_packet);
        end
        if (ends && finish_result.more) copy_of[choice] <= copy_of[choice] + 1;
        if (ends && !finish_result.more) held[choice] = -1;
        if (choice < 0 || ends) begin
          int next;
          int from;
          next = -1;
          from = int'($urandom() % Tags);
          for (int k = 0; k < int'(Tags); k++) begin
            int tag;
            tag = (from + k) % int'(Tags);
            if (held[tag] >= 0 && owner[tag] >= 0 && !(ends && tag == choice) &&
                (copies(owner[tag]) == 0 || (32'(head) == tag && drained))) begin
              if (next < 0 || (oldest && owner[tag] < owner[next])) next = tag;
            end
          end
          choice <= !oldest && tb_pkg::chance(32) ? -1 : next;
        end
        for (int tag = 0; tag < int'(Tags); tag++) owner[tag] <= held[tag];
      end
    end
  end

  logic beat_valid, beat_ready, beat_last, out_valid, out_ready, out_event, out_more,
      out_last;
  logic [8*DataBytes-1:0] beat_data, out_data;
  logic [DataBytes-1:0] out_keep;
  logic [ResultBits-1:0] beat_result;
  wl_pkg::sent_t out_user;
  wl_gatherer #(
      .Clusters(Clusters), .DataBytes(DataBytes), .Policy(Policy), .OrderDepth(OrderDepth)
  ) i_gatherer (
      .clk_i, .rst_i,
      .order_valid_i(order_valid), .order_ready_o(order_ready), .order_cluster_i(order),
      .cluster_valid_i(from_valid), .cluster_ready_o(from_ready), .cluster_data_i(from_data),
      .cluster_last_i(from_last), .cluster_result_i(from_result),
      .beat_valid_o(beat_valid), .beat_ready_i(beat_ready), .beat_data_o(beat_data),
      .beat_last_o(beat_last), .beat_result_o(beat_result)
  );
  wl_postprocessor #(.DataBytes(DataBytes), .SkipBits(SkipBits)) i_dut (
      .clk_i, .rst_i,
      .beat_valid_i(beat_valid), .beat_ready_o(beat_ready), .beat_data_i(beat_data),
      .beat_last_i(beat_last), .beat_result_i(beat_result),
      .body_valid_i(body_valid), .body_read_o(read), .body_data_i(body), .body_rewind_o(rewind),
      .body_free_o(free_body),
      .valid_o(out_valid), .ready_i(out_ready), .event_o(out_event), .more_o(out_more),
      .data_o(out_data), .keep_o(out_keep),
      .last_o(out_last), .user_o(out_user)
  );

  // ---- Output ----
  int unsigned out_packet, out_copy, out_place;
  logic offered;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      out_ready <= 1'b0;
      offered <= 1'b0;
      out_packet <= 0;
      out_copy <= 0;
      out_place <= 0;
    end else begin
      out_ready <= !tb_pkg::chance(stall);
      offered <= out_valid && !out_ready;
      if (offered && !out_valid) $fatal(1, "%m: a beat was withdrawn");
      if (out_valid) begin
        wl_pkg::result_t result;
        int unsigned bytes;
        result = result_of(out_packet, out_copy);
        bytes = sends(result) ? 32'(result.length) : 0;
        if (out_user.kind !== result.kind || out_user.reason !== result.reason
            || out_user.egress !== result.egress) begin
          $fatal(1, "%m: packet %0d, copy %0d: %p, not %p", out_packet, out_copy, out_user, result);
        end
        if (out_event === sends(result) || out_more !== result.more) begin
          $fatal(1, "%m: packet %0d: event %b", out_packet, out_event);
        end
        if (out_last !== (out_place + DataBytes >= bytes)) begin
          $fatal(1, "%m: packet %0d: last is %b", out_packet, out_last);
        end
        for (int unsigned i = 0; i < DataBytes; i++) begin
          int unsigned place;
          logic [7:0] expected;
          place = out_place + i;
          expected = place < 32'(result.window) ? tb_pkg::octet(2 + out_copy, out_packet, place)
              : tb_pkg::octet(1, out_packet, 128 + place - 32'(result.window)
                  + (result.window == '0 ? skip_of(out_packet, out_copy) : 0));
          if (out_keep[i] !== (place < bytes)) begin
            $fatal(1, "%m: packet %0d of %0d bytes: keep %b", out_packet, bytes, out_keep);
          end
          if (place < bytes && out_data[8*i+:8] !== expected) begin
            $fatal(1, "%m: packet %0d, copy %0d (%p): byte %0d is %h, not %h", out_packet, out_copy,
                result, place, out_data[8*i+:8], expected);
          end
        end
        if (out_ready) begin
          out_place <= out_last ? 0 : out_place + DataBytes;
          if (out_last) begin
            out_copy <= result.more ? out_copy + 1 : 0;
            if (!result.more) out_packet <= out_packet + 1;
          end
        end
      end
      // Input is always accepted, except that of packets that leave longer than they came while the
      // output is busy.
      if (window && !IsAny && !(valid && ready)
          && !(Kind === 3 && out_valid && out_ready)) begin
        $fatal(1, "%m: less than a beat a cycle");
      end
      if (window && (Kind === 1 || Shape === 0) && !(out_valid && out_ready)) begin
        $fatal(1, "%m: less than a packet a cycle");
      end
      if (done_o) begin
        int unsigned total;
        total = 0;
        for (int c = 0; c < int'(Clusters); c++) total += loaded[c];
        if (out_packet !== number || number < 200 || total !== number) begin
          $fatal(1, "%m: in %0d, out %0d", number, out_packet);
        end
        for (int c = 0; c < int'(Clusters); c++) begin
          if (loaded[c] === 0) $fatal(1, "%m: cluster %0d had nothing to do", c);
        end
      end
    end
  end
endmodule
