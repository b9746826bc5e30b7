// Proof of a whole pipe, from wl_preprocessor to wl_postprocessor: each packet that enters leaves
// once, whole and in order, or an event in its place. The engines are any that keep to their
// contract: a thread takes a header with the tag that it gets, and ends its packet after any number
// of cycles, whatever the other threads do; some packets are dropped. One byte is marked, which may
// be any of any packet; it must be at its place, and nowhere else. This is enough, because no
// module looks at the data. One packet is watched, which may be any: as long as it is the oldest
// that has entered, it leaves within Within cycles, those not counted in which a thread has it or
// the receiver does not take what is offered (and those in which no thread is ready, without
// Prompt). Packets have any two lengths in turn. With Prompt a thread takes a header as soon as
// there is one, and of sender and receiver those never pause whose parameter is not set; without it
// all pause at will.
module wl_pipe_proof #(
    parameter int unsigned Clusters = 2,
    parameter int unsigned Tags = 2,  // threads of a cluster
    parameter int unsigned Policy = 0,
    // 1: only the ends of threads vary: fewer runs, so that longer ones can be checked.
    parameter bit Prompt = 1'b1,
    parameter bit SenderPauses = 1'b0,
    parameter bit ReceiverPauses = 1'b0,
    parameter int unsigned Within = 14
) (
    input logic clk_i,
    input logic rst_i,
    input logic [1:0][4:0] length_i,
    input logic [1:0] drops_i,
    input logic [5:0] marked_i,
    input logic valid_i,
    input logic watch_i,                // the packet that begins is watched
    input logic [Clusters-1:0] load_i,  // a thread is ready to load
    input logic [Clusters-1:0] end_i,   // a thread ends its packet
    input logic [Clusters-1:0] end_thread_i,
    input logic ready_i
);
  localparam int unsigned DataBytes = 8;  // also of a row, and of the longest window
  localparam int unsigned MaxBytes = 16;
  localparam int unsigned NumberBits = 2;
  localparam int unsigned InfoBits = 1 + NumberBits + 16;  // whether it is watched, number, length
  localparam int unsigned FreeBits = wl_pkg::bits(Tags + 1);
  localparam int unsigned TagBits = wl_pkg::bits(Tags);

  logic [1:0][4:0] length;  // of packets with an even and an odd number
  logic [1:0] drops;
  logic [5:0] marked;  // {number, place}
  always_ff @(posedge clk_i) if (rst_i) {length, drops, marked} <= {length_i, drops_i, marked_i};
  for (genvar i = 0; i < 2; i++) begin : g_packet
    always_ff @(posedge clk_i) Length_M : assume (length_i[i] <= 5'(MaxBytes));
  end

  logic watch, watching, was_watched;  // now; in this packet; one before it has been

  // What enters.
  logic [NumberBits-1:0] number;
  logic beat, ready, last;
  logic [8*DataBytes-1:0] data;
  logic [DataBytes-1:0] keep;
  assign watch = beat ? watching : watch_i && !was_watched;
  assign last = beat || length[number[0]] <= 5'(DataBytes);
  for (genvar i = 0; i < DataBytes; i++) begin : g_in
    assign data[8*i+:8] = 8'({number, beat, 3'(i)} == marked);
    assign keep[i] = {beat, 3'(i)} < length[number[0]];
  end

  logic header_valid, header_ready, header_first, header_last, room, write, close, body_valid, read,
      rewind, free_body;
  logic [8*DataBytes-1:0] header, stored, body;
  logic [InfoBits-1:0] info;
  wl_preprocessor #(
      .DataBytes(DataBytes), .WindowBytes(DataBytes), .UserBits(1 + NumberBits),
      .MaxBytes(MaxBytes), .HeaderBeats(2)
  ) i_preprocessor (
      .clk_i, .rst_i,
      .valid_i, .ready_o(ready), .data_i(data), .keep_i(keep), .last_i(last),
      .user_i({watch, number}), .sequence_i(1'b0),
      .header_valid_o(header_valid), .header_ready_i(header_ready), .header_data_o(header),
      .header_first_o(header_first), .header_last_o(header_last), .header_info_o(info),
      .body_ready_i(room), .body_place_i(1'b0), .body_write_o(write), .body_data_o(stored),
      .body_close_o(close), .packet_o(), .bytes_o(), .malformed_o(), .oversize_o()
  );
  wl_body_buffer #(.DataBytes(DataBytes), .Beats(4), .Packets(4)) i_bodies (
      .clk_i, .rst_i,
      .ready_o(room), .write_i(write), .data_i(stored), .close_i(close), .place_o(),
      .access_read_i(1'b0), .access_address_i('0), .access_data_o(), .access_write_i(1'b0),
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
  logic [Clusters*wl_pkg::ResultBits-1:0] from_result;
  wl_distributor #(
      .Clusters(Clusters), .DataBytes(DataBytes), .InfoBits(InfoBits), .FreeBits(FreeBits),
      .Policy(Policy)
  ) i_distributor (
      .clk_i, .rst_i,
      .header_valid_i(header_valid), .header_ready_o(header_ready), .header_data_i(header),
      .header_first_i(header_first), .header_last_i(header_last), .header_info_i(info),
      .cluster_valid_o(to_valid), .cluster_ready_i(to_ready), .cluster_data_o(to_data),
      .cluster_first_o(to_first), .cluster_last_o(to_last), .cluster_info_o(to_info),
      .free_i(free),
      .order_valid_o(order_valid), .order_ready_i(order_ready), .order_cluster_o(order)
  );

  logic [Clusters-1:0] in_thread;  // a thread of the cluster has the watched packet
  for (genvar c = 0; c < Clusters; c++) begin : g_cluster
    logic row_valid, row_first, row_last, alloc_ready, finish_ready, out_valid, out_ready, out_last;
    logic load, ends;
    logic [8*DataBytes-1:0] row, out_row;
    logic [InfoBits-1:0] row_info;
    logic [TagBits-1:0] alloc_tag, tag;
    logic [wl_pkg::ResultBits-1:0] out_result;
    wl_header_serializer #(
        .DataBytes(DataBytes), .RowBytes(DataBytes), .WindowBytes(DataBytes), .InfoBits(InfoBits)
    ) i_serializer (
        .clk_i, .rst_i,
        .valid_i(to_valid[c]), .ready_o(to_ready[c]), .data_i(to_data), .first_i(to_first),
        .last_i(to_last), .info_i(to_info), .fill_o(),
        .row_valid_o(row_valid), .row_ready_i(load_i[c] && alloc_ready), .row_data_o(row),
        .row_first_o(row_first), .row_last_o(row_last), .row_info_o(row_info)
    );

    // The threads: each has the packet of a tag.
    logic [Tags-1:0] busy, watched;
    logic [Tags-1:0][8*DataBytes-1:0] headers;
    logic [Tags-1:0][InfoBits-1:0] infos;
    for (genvar t = 0; t < Tags; t++) begin : g_thread
      assign watched[t] = busy[t] && infos[t][InfoBits-1];
    end
    assign in_thread[c] = watched != '0;
    logic [15:0] bytes;
    wl_pkg::result_t result;
    assign load = row_valid && load_i[c] && alloc_ready;
    assign tag = TagBits'(end_thread_i[c]);
    assign ends = end_i[c] && busy[tag];
    assign bytes = infos[tag][15:0];
    always_comb begin
      result = '0;
      result.kind = drops[infos[tag][16]] ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_FINISH;
      result.egress = 16'(infos[tag][16+:NumberBits]);
      result.window = bytes > 16'(DataBytes) ? 9'(DataBytes) : bytes[8:0];
      result.length = bytes;
    end
    always_ff @(posedge clk_i) begin
      if (rst_i) busy <= '0;
      else begin
        busy <= (busy | (load ? Tags'(1'b1) << alloc_tag : '0))
            & ~(ends && finish_ready ? Tags'(1'b1) << tag : '0);
        if (load) Thread_A : assert (row_first && row_last && !busy[alloc_tag]);
      end
      if (load) begin
        headers[alloc_tag] <= row;
        infos[alloc_tag] <= row_info;
      end
    end

    wl_reorder #(.Tags(Tags), .Rows(1), .RowBytes(DataBytes)) i_reorder (
        .clk_i, .rst_i,
        .alloc_valid_i(row_valid && load_i[c]), .alloc_ready_o(alloc_ready),
        .alloc_tag_o(alloc_tag), .free_o(free[c*FreeBits+:FreeBits]),
        .finish_valid_i(ends), .finish_ready_o(finish_ready), .finish_first_i(1'b1),
        .finish_last_i(1'b1), .finish_source_i('0), .finish_data_i(headers[tag]),
        .finish_tag_i(tag), .finish_result_i(result),
        .order_head_o(), .order_drained_o(),
        .row_valid_o(out_valid), .row_ready_i(out_ready), .row_first_o(), .row_last_o(out_last),
        .row_data_o(out_row), .row_result_o(out_result)
    );
    wl_header_deserializer #(.DataBytes(DataBytes), .RowBytes(DataBytes)) i_deserializer (
        .clk_i, .rst_i,
        .row_valid_i(out_valid), .row_ready_o(out_ready), .row_data_i(out_row),
        .row_last_i(out_last), .row_result_i(out_result),
        .beat_valid_o(from_valid[c]), .beat_ready_i(from_ready[c]),
        .beat_data_o(from_data[c*8*DataBytes+:8*DataBytes]), .beat_last_o(from_last[c]),
        .beat_result_o(from_result[c*wl_pkg::ResultBits+:wl_pkg::ResultBits])
    );
  end

  logic beat_valid, beat_ready, beat_last, valid, is_event, more, out_ends;
  logic [8*DataBytes-1:0] beat_data, out_data;
  logic [DataBytes-1:0] out_keep;
  logic [wl_pkg::ResultBits-1:0] beat_result;
  wl_pkg::sent_t sent;
  wl_gatherer #(
      .Clusters(Clusters), .DataBytes(DataBytes), .Policy(Policy), .OrderDepth(2)
  ) i_gatherer (
      .clk_i, .rst_i,
      .order_valid_i(order_valid), .order_ready_o(order_ready), .order_cluster_i(order),
      .cluster_valid_i(from_valid), .cluster_ready_o(from_ready), .cluster_data_i(from_data),
      .cluster_last_i(from_last), .cluster_result_i(from_result),
      .beat_valid_o(beat_valid), .beat_ready_i(beat_ready), .beat_data_o(beat_data),
      .beat_last_o(beat_last), .beat_result_o(beat_result)
  );
  wl_postprocessor #(.DataBytes(DataBytes), .RowBytes(DataBytes)) i_postprocessor (
      .clk_i, .rst_i,
      .beat_valid_i(beat_valid), .beat_ready_o(beat_ready), .beat_data_i(beat_data),
      .beat_last_i(beat_last), .beat_result_i(beat_result),
      .body_valid_i(body_valid), .body_read_o(read), .body_data_i(body), .body_rewind_o(rewind),
      .body_free_o(free_body),
      .valid_o(valid), .ready_i, .event_o(is_event), .more_o(more), .data_o(out_data),
      .keep_o(out_keep), .last_o(out_ends), .user_o(sent)
  );
  stream_rule #(.Width(9 * DataBytes + wl_pkg::SentBits + 3)) i_out (
      .clk_i, .rst_i, .valid_i(valid), .ready_i,
      .payload_i({is_event, more, out_ends, sent, out_keep, out_data})
  );

  // What leaves.
  logic [NumberBits-1:0] out;
  logic [3:0] under_way;  // packets that have entered completely and not left completely
  logic out_beat;
  logic [4:0] total;
  assign total = drops[out[0]] ? '0 : length[out[0]];
  // The watched packet: packets before it that are under way, and the cycles that it has waited.
  logic waits;
  logic [3:0] before_it;
  logic [4:0] waited;

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    if (Prompt) Prompt_M : assume (load_i == '1);
    if (Prompt && !SenderPauses) Sender_M : assume (valid_i);
    if (Prompt && !ReceiverPauses) Receiver_M : assume (ready_i);
    if (rst_i) begin
      {number, beat, out, out_beat, under_way} <= '0;
      {watching, was_watched, waits, before_it, waited} <= '0;
    end else begin
      if (valid_i && ready) begin
        watching <= watch;
        was_watched <= was_watched || watch;
      end
      if (valid_i && ready && last && watch) begin
        waits <= 1'b1;
        before_it <= under_way - 4'(valid && ready_i && out_ends);
      end else if (valid && ready_i && out_ends) begin
        if (before_it == '0) waits <= 1'b0;
        else before_it <= before_it - 4'd1;
      end
      if (waits && before_it == '0 && in_thread == '0 && (Prompt || load_i == '1)
          && !(valid && !ready_i)) begin
        waited <= waited + 5'd1;
      end
      Leaves_A : assert (32'(waited) <= Within);
      if (valid_i && ready) begin
        beat <= !last;
        number <= number + NumberBits'(last);
      end
      under_way <= under_way + 4'(valid_i && ready && last) - 4'(valid && ready_i && out_ends);
      if (valid) begin
        UnderWay_A : assert (under_way != '0);
        Packet_A : assert (is_event == drops[out[0]] && !more && sent.egress == 16'(out)
            && sent.kind == (is_event ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_FINISH));
        Last_A : assert (out_ends == (out_beat || total <= 5'(DataBytes)));
        if (ready_i) begin
          out_beat <= !out_ends;
          out <= out + NumberBits'(out_ends);
        end
      end
    end
  end
  for (genvar i = 0; i < DataBytes; i++) begin : g_out
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && valid) begin
        Keep_A : assert (out_keep[i] == ({1'b0, out_beat, 3'(i)} < total));
        Byte_A : assert (!out_keep[i]
            || out_data[8*i+:8] == 8'({out, out_beat, 3'(i)} == marked));
      end
    end
  end
endmodule
