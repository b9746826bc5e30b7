// Proof of wl_sequencer and wl_merger together, for two lanes. The pipe between them is any pipe
// that keeps the order of its own packets: a FIFO whose output may pause. Packets of any length
// enter; some of one beat end as events. What leaves a lane is what entered it, once and unchanged;
// packet n is not offered before packet n - 1 has been; an offer stays until it is taken; and no
// packet waits that may leave.
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
  logic [2:0] waited;
  assign count = 2'(newly[0]) + 2'(newly[1]);

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
      waited <= oldest_waits ? waited + 3'd1 : '0;
      Distinct_A : assert (newly != 2'b11 || number[0] != number[1]);
      // A record is in use two cycles after it was made.
      Progress_A : assert (waited < 3'd3);
    end
  end
endmodule
