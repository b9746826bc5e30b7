// Proof of wl_sequencer and wl_merger together, for two lanes. The pipe between them is any pipe
// that keeps the order of its own packets: a FIFO whose output may pause. Packets of any length
// enter; some of one beat end as events. What leaves a lane is what entered it, once and unchanged;
// packet n is not offered before packet n - 1 has been; an offer stays until it is taken; and no
// packet waits that may leave.
//
// Unbounded, by induction: the relations at the end say which packets have a number and have not
// been offered, as the records, the pipes and the entrance have them.
module wl_lanes_proof (
    input logic clk_i,
    input logic rst_i,
    input logic [1:0] s_tvalid_i,
    input logic [1:0] s_tlast_i,
    input logic [1:0] s_event_i,
    input logic [1:0] s_data_i,
    input logic [1:0] pause_i,
    input logic [1:0] m_tready_i
);
  localparam int unsigned Depth = 2;
  localparam int unsigned Number = 3;  // bits; fewer than 8 packets are under way
  localparam int unsigned Width = Number + 3;
  localparam int unsigned FillBits = wl_pkg::bits(Depth + 1);

  logic [1:0] s_ready, pipe_valid, pipe_ready, pipe_last, in_event, in_data, stall;
  logic [15:0] s_data, pipe_data;
  logic [1:0] unused_keep, unused_user;
  logic [2*Number-1:0] sequence_of;
  logic order_valid, order_ready;
  logic [1:0] order_lanes;
  wl_sequencer #(.Lanes(2), .DataBytes(1), .UserBits(1), .SequenceBits(Number)) i_sequencer (
      .clk_i, .rst_i,
      .s_tvalid_i, .s_tready_o(s_ready), .s_tdata_i(s_data), .s_tkeep_i('1), .s_tlast_i,
      .s_tuser_i('0),
      .pipe_valid_o(pipe_valid), .pipe_ready_i(pipe_ready), .pipe_data_o(pipe_data),
      .pipe_keep_o(unused_keep),
      .pipe_last_o(pipe_last), .pipe_user_o(unused_user), .pipe_sequence_o(sequence_of),
      .order_valid_o(order_valid), .order_ready_i(order_ready), .order_lanes_o(order_lanes),
      .stall_o(stall)
  );

  logic [1:0] out_valid, out_ready, out_event, out_last, m_valid, m_last, event_valid;
  logic [15:0] out_data, m_data;
  logic [1:0] m_keep;
  logic [2*wl_pkg::SentBits-1:0] m_user;
  logic [5:0] event_kind;
  logic [47:0] event_reason;
  wl_merger #(.Lanes(2), .DataBytes(1), .OrderDepth(4)) i_merger (
      .clk_i, .rst_i,
      .order_valid_i(order_valid), .order_ready_o(order_ready), .order_lanes_i(order_lanes),
      .pipe_valid_i(out_valid), .pipe_ready_o(out_ready), .pipe_event_i(out_event),
      .pipe_more_i('0), .pipe_data_i(out_data),
      .pipe_keep_i('1), .pipe_last_i(out_last), .pipe_user_i('0),
      .m_tvalid_o(m_valid), .m_tready_i, .m_tdata_o(m_data), .m_tkeep_o(m_keep), .m_tlast_o(m_last),
      .m_tuser_o(m_user),
      .event_valid_o(event_valid), .event_kind_o(event_kind), .event_reason_o(event_reason)
  );

  logic started = 1'b0;
  logic [Number-1:0] next;        // number of the packet that is offered next
  logic [1:0] newly, offered;      // the lane's packet is offered now; it has been before
  logic [1:0][Number-1:0] number; // of the packet at the end of the pipe
  logic [1:0] entry, exit;        // the lane is in a packet at the entrance; at the exit
  logic [1:0] count;
  logic [1:0] waited;
  assign count = 2'(newly[0]) + 2'(newly[1]);

  logic [1:0][Depth:0][Number-1:0] waits;  // numbers of the packets that wait, by lane
  logic [1:0][1:0] waits_count;

  for (genvar lane = 0; lane < 2; lane++) begin : g_lane
    logic fifo_valid, fifo_ready, fifo_last, fifo_event, fifo_data, held;
    logic [Number-1:0] own, kept;
    logic [FillBits-1:0] fill;
    logic [$clog2(Depth+2)-1:0] stored;
    logic [3*Depth-1:0] words;
    assign s_data[8*lane+:8] = {6'd0, s_event_i[lane], s_data_i[lane]};
    // The number is valid on the first beat.
    assign own = entry[lane] ? kept : sequence_of[Number*lane+:Number];
    wl_fifo #(.Width(Width), .Depth(Depth)) i_pipe (
        .clk_i, .rst_i,
        .in_valid_i(pipe_valid[lane]), .in_ready_o(pipe_ready[lane]),
        .in_data_i({own, pipe_last[lane], pipe_data[8*lane+:2]}),
        .out_valid_o(fifo_valid), .out_ready_i(fifo_ready),
        .out_data_o({number[lane], fifo_last, fifo_event, fifo_data}),
        .fill_o(fill)
    );
    // The pipe pauses at will, but withdraws nothing.
    assign out_valid[lane] = fifo_valid && (held || !pause_i[lane]);
    assign fifo_ready = out_valid[lane] && out_ready[lane];
    assign out_event[lane] = out_valid[lane] && fifo_event && fifo_last && !exit[lane];
    assign out_last[lane] = fifo_last;
    assign out_data[8*lane+:8] = {6'd0, fifo_event, fifo_data};
    assign newly[lane] = !offered[lane] && !exit[lane] && (m_valid[lane] || event_valid[lane]);
    always_ff @(posedge clk_i) begin
      held <= !rst_i && out_valid[lane] && !out_ready[lane];
      if (pipe_valid[lane] && !entry[lane]) kept <= sequence_of[Number*lane+:Number];
      if (rst_i) {entry[lane], exit[lane], offered[lane]} <= '0;
      else begin
        if (pipe_valid[lane] && pipe_ready[lane]) entry[lane] <= !pipe_last[lane];
        if (fifo_ready) exit[lane] <= !fifo_last;
        offered[lane] <= !fifo_ready && (offered[lane] || newly[lane]);
      end
    end
    stream_rule #(.Width(3), .Enters(1'b1)) i_in (
        .clk_i, .rst_i, .valid_i(s_tvalid_i[lane]), .ready_i(s_ready[lane]),
        .payload_i({s_tlast_i[lane], s_event_i[lane], s_data_i[lane]})
    );
    stream_rule #(.Width(9)) i_out (
        .clk_i, .rst_i, .valid_i(m_valid[lane]), .ready_i(m_tready_i[lane]),
        .payload_i({m_last[lane], m_data[8*lane+:8]})
    );
    // What enters leaves, once, unchanged, in order; events leave without being sent.
    stream_model #(.Width(3), .Depth(Depth)) i_model (
        .clk_i, .rst_i, .push_i(s_tvalid_i[lane] && s_ready[lane]),
        .push_data_i({s_tlast_i[lane], s_event_i[lane], s_data_i[lane]}),
        .out_valid_i(m_valid[lane] || event_valid[lane]),
        .out_ready_i(m_tready_i[lane] || event_valid[lane]),
        .out_data_i({m_last[lane], m_data[8*lane+:2]}), .count_o(stored), .words_o(words)
    );
    // The stored beats, the oldest first, and the numbers of the packets that wait: those that
    // begin there and have not been offered, and that at the entrance.
    logic [Depth-1:0][Width-1:0] beats;
    logic [Depth:0] begins;  // a packet begins with the beat, or at the entrance
    logic place;
    always_comb begin
      place = i_pipe.g_ram.head;
      beats = {i_pipe.g_ram.i_ram.memory[!place], i_pipe.g_ram.i_ram.memory[place]};
      begins = {beats[1][2], beats[0][2], !exit[lane]};
      waits_count[lane] = '0;
      waits[lane] = '0;
      for (int unsigned i = 0; i < Depth; i++) begin
        if (i < 32'(fill) && begins[i] && !(i == 0 && offered[lane])) begin
          waits[lane][waits_count[lane]] = beats[i][3+:Number];
          waits_count[lane] = waits_count[lane] + 2'd1;
        end
      end
      if (i_sequencer.g_number.numbered[lane] && !entry[lane]) begin
        waits[lane][waits_count[lane]] = i_sequencer.g_number.own[lane];
        waits_count[lane] = waits_count[lane] + 2'd1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (started && !rst_i) begin
        Uncut_A : assert (!i_sequencer.cut[lane] && i_sequencer.midst[lane] == entry[lane]);
        Numbered_A : assert (!entry[lane] || i_sequencer.g_number.numbered[lane]);
        Shown_A : assert (i_merger.g_order.shown[lane] == (exit[lane] || offered[lane]));
        Offered_A : assert (!offered[lane] || (held && !exit[lane]));
        Waiting_A : assert (!held || fifo_valid);
        Stored_A : assert (stored == 2'(fill) && i_pipe.g_ram.tail == place + fill[0]);
        Entry_A : assert (entry[lane] == !begins[fill]);
        Kept_A : assert (!entry[lane] || fill == 0
            || beats[fill[0] ? 0 : 1][3+:Number] == kept);
        Packet_A : assert (fill < 2 || begins[1] || beats[1][3+:Number] == beats[0][3+:Number]);
      end
    end
    for (genvar i = 0; i < Depth; i++) begin : g_beat
      always_ff @(posedge clk_i) begin
        if (started && !rst_i && i < 32'(fill)) begin
          Beat_A : assert (beats[i][2:0] == words[3*i+:3]);
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (started && !rst_i) begin
        Order_A : assert (!newly[lane] || Number'(number[lane] - next) < Number'(count));
        Event_A : assert (!(m_valid[lane] && event_valid[lane])
            && (!event_valid[lane] || out_event[lane]));
      end
    end
  end

  logic oldest_waits;  // the next packet is at the end of its pipe and is not offered
  assign oldest_waits = (out_valid[0] && !exit[0] && !offered[0] && !newly[0] && number[0] == next)
      || (out_valid[1] && !exit[1] && !offered[1] && !newly[1] && number[1] == next);
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    if (rst_i) begin
      next <= '0;
      waited <= '0;
    end else begin
      next <= next + Number'(count);
      waited <= oldest_waits ? waited + 2'd1 : '0;
      Distinct_A : assert (newly != 2'b11 || number[0] != number[1]);
      // A record is in use two cycles after it was made.
      Progress_A : assert (waited == 0 || (waited == 1 && i_merger.g_order.record));
    end
  end

  // The same numbers by the records, the oldest first: that in the register, and those in the RAM.
  localparam int unsigned Records = 4;  // in the RAM
  logic [Records:0][1:0] records;
  logic [2:0] record_count;
  logic [1:0] head;
  logic [1:0][7:0][Number-1:0] recorded;
  logic [1:0][2:0] recorded_count;
  logic [Number-1:0] after;
  always_comb begin
    head = i_merger.g_order.i_order.head;
    record_count = i_merger.g_order.i_order.fill_o;
    for (int unsigned i = 0; i < Records; i++) begin
      logic [1:0] at;
      at = head + 2'(i);
      records[i+1] = i_merger.g_order.i_order.i_ram.memory[at];
    end
    records[0] = i_merger.g_order.lanes & ~i_merger.g_order.passed;
    if (!i_merger.g_order.record) records = {2'b00, records[Records:1]};
    recorded = '0;
    recorded_count = '0;
    after = next;
    for (int unsigned i = 0; i <= Records; i++) begin
      for (int unsigned lane = 0; lane < 2; lane++) begin
        if (i < 32'(record_count) && records[i][lane]) begin
          recorded[lane][recorded_count[lane]] = after;
          recorded_count[lane] = recorded_count[lane] + 3'd1;
          after = after + 1'b1;
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (started && !rst_i) begin
      Number_A : assert (i_sequencer.number == after);
      Passed_A : assert (i_merger.g_order.record ? records[0] != '0
          && (i_merger.g_order.passed & ~i_merger.g_order.lanes) == '0
          : i_merger.g_order.passed == '0);
      Records_A : assert (i_merger.g_order.i_order.tail
          == 2'(head + 2'(i_merger.g_order.i_order.stored)));
    end
  end
  for (genvar i = 1; i <= Records; i++) begin : g_record
    always_ff @(posedge clk_i) begin
      if (started && !rst_i) Record_A : assert (i >= 32'(record_count) || records[i] != '0);
    end
  end
  for (genvar lane = 0; lane < 2; lane++) begin : g_waits
    always_ff @(posedge clk_i) begin
      if (started && !rst_i) Count_A : assert (recorded_count[lane] == 3'(waits_count[lane]));
    end
    for (genvar i = 0; i <= Depth; i++) begin : g_number
      always_ff @(posedge clk_i) begin
        if (started && !rst_i) begin
          Wait_A : assert (i >= 32'(waits_count[lane]) || waits[lane][i] == recorded[lane][i]);
        end
      end
    end
  end
endmodule
