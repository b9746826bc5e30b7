// Test bench of wl_merger: items leave each lane unchanged and in order; no packet, copy or event
// is offered before all with lower numbers have been; no lane waits for the receiver of another;
// throughput of one packet or event a lane and cycle. Over lanes.
module wl_merger_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    merger_case #(
        .Lanes(i + 1), .Short(i == 3)
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module merger_case #(
    parameter int unsigned Lanes = 2,
    parameter bit Short = 1'b0  // only items of one beat
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = 8;
  localparam int unsigned SentBits = wl_pkg::SentBits;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(600)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic [Lanes-1:0] valid, ready, is_event, more, last, m_valid, m_ready, m_last, event_valid;
  logic [Lanes*8*Bytes-1:0] data, m_data;
  logic [Lanes*Bytes-1:0] keep, m_keep;
  logic [Lanes*SentBits-1:0] user, m_user;
  logic [Lanes*3-1:0] event_kind;
  logic [Lanes*24-1:0] event_reason;
  int unsigned sent[Lanes];
  int unsigned item[Lanes];  // items that have begun and ended on the lane
  logic blocked;

  // The output of a pipe follows from its number and that of the beat: item ends, events (at the
  // first beat of an item), copies.
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    logic [47:0] word;
    logic word_last, midway, single;
    tb_source #(.Width(48), .Source(lane)) i_source (
        .clk_i, .rst_i, .send_i(send), .idle_i(idle),
        .valid_o(valid[lane]), .ready_i(ready[lane]), .last_o(word_last), .data_o(word),
        .count_o(sent[lane])
    );
    always_ff @(posedge clk_i) begin
      if (rst_i) midway <= 1'b0;
      else if (valid[lane] && ready[lane]) midway <= !last[lane];
    end
    assign single = word_last && !midway;
    assign is_event[lane] = (Short || single) && word[0];
    assign last[lane] = Short || word_last;
    // A packet's items follow one another on its lane; all but its last are copies.
    assign more[lane] = !is_event[lane] && tb_pkg::last(lane + 100, item[lane]);
    assign data[lane*8*Bytes+:8*Bytes] = {16'(sent[lane]), word};
    assign keep[lane*Bytes+:Bytes] = word[Bytes-1:0];
    assign user[lane*SentBits+:SentBits] = word[SentBits-1:0];
  end

  // Records: which lanes' packets come next.
  logic order_valid, order_ready;
  logic [Lanes-1:0] order_lanes;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      order_valid <= 1'b0;
    end else if (!order_valid || order_ready) begin
      logic [Lanes-1:0] lanes;
      lanes = Lanes'($urandom());
      if (lanes == '0 || Short || window) lanes = '1;
      order_valid <= Lanes > 1 && !tb_pkg::chance(idle / 2);
      order_lanes <= lanes;
    end
  end

  wl_merger #(.Lanes(Lanes), .DataBytes(Bytes), .OrderDepth(20)) i_dut (
      .clk_i, .rst_i,
      .order_valid_i(order_valid), .order_ready_o(order_ready), .order_lanes_i(order_lanes),
      .pipe_valid_i(valid), .pipe_ready_o(ready), .pipe_event_i(is_event), .pipe_more_i(more),
      .pipe_data_i(data),
      .pipe_keep_i(keep), .pipe_last_i(last), .pipe_user_i(user),
      .m_tvalid_o(m_valid), .m_tready_i(m_ready), .m_tdata_o(m_data), .m_tkeep_o(m_keep),
      .m_tlast_o(m_last), .m_tuser_o(m_user),
      .event_valid_o(event_valid), .event_kind_o(event_kind), .event_reason_o(event_reason)
  );

  int unsigned packets[Lanes];  // packets whose last item has been offered
  int unsigned events, copies;
  logic [Lanes-1:0] midway, offered, shown;
  int order[$];  // lanes of the next packets
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      m_ready <= '0;
      midway <= '0;
      offered <= '0;
      shown <= '0;
      events <= 0;
      copies <= 0;
      order = {};
      for (int i = 0; i < int'(Lanes); i++) begin
        item[i] <= 0;
        packets[i] <= 0;
      end
    end else begin
      bit held_back;
      held_back = 1'b0;
      for (int lane = 0; lane < int'(Lanes); lane++) begin
        bit taken;
        bit shows;
        taken = (m_valid[lane] && m_ready[lane]) || event_valid[lane];
        shows = m_valid[lane] || event_valid[lane];
        m_ready[lane] <= !tb_pkg::chance(stall);
        offered[lane] <= m_valid[lane] && !m_ready[lane];
        if (offered[lane] && !m_valid[lane]) $fatal(1, "%m: lane %0d: a beat was withdrawn", lane);
        if (taken !== (valid[lane] && ready[lane])) begin
          $fatal(1, "%m: lane %0d: taken and not passed on, or the reverse", lane);
        end
        if (m_valid[lane] && (!valid[lane] || is_event[lane])) begin
          $fatal(1, "%m: lane %0d: sends what there is not", lane);
        end
        if (event_valid[lane] && (!valid[lane] || !is_event[lane])) begin
          $fatal(1, "%m: lane %0d: event that there is not", lane);
        end
        if (m_valid[lane]
            && (m_last[lane] !== last[lane]
            || m_data[lane*8*Bytes+:8*Bytes] !== data[lane*8*Bytes+:8*Bytes]
            || m_keep[lane*Bytes+:Bytes] !== keep[lane*Bytes+:Bytes]
                || m_user[lane*SentBits+:SentBits] !== user[lane*SentBits+:SentBits])) begin
          $fatal(1, "%m: lane %0d: the beat is changed", lane);
        end
        if (event_valid[lane]
            && {event_kind[lane*3+:3], event_reason[lane*24+:24]}
            !== user[lane*SentBits+16+:27]) begin
          $fatal(1, "%m: lane %0d: the event is changed", lane);
        end
        // An item is offered for the first time: it belongs to the next packet in the order.
        if (shows && !shown[lane] && Lanes > 1) begin
          if (order.size() === 0 || order[0] !== lane) begin
            $fatal(1, "%m: lane %0d is offered, and next is %0d of %0d", lane,
                order.size() == 0 ? -1 : order[0], order.size());
          end
          if (!more[lane]) void'(order.pop_front());
        end
        if (shows && !shown[lane] && !more[lane]) packets[lane] <= packets[lane] + 1;
        shown[lane] <= (shown[lane] || shows) && !(taken && last[lane]);
        if (valid[lane] && !shows) held_back = 1'b1;
        if (taken) midway[lane] <= !last[lane];
        if (taken && last[lane]) item[lane] <= item[lane] + 1;
        if (event_valid[lane]) events <= events + 1;
        if (shows && !shown[lane] && more[lane]) copies <= copies + 1;
      end
      if (order_valid && order_ready) begin
        for (int lane = 0; lane < int'(Lanes); lane++) if (order_lanes[lane]) order.push_back(lane);
      end
      if (window && Short && held_back) begin
        // Copies leave one a cycle on their lane, and other packets wait for them.
        bit copy;
        copy = 1'b0;
        for (int lane = 0; lane < int'(Lanes); lane++) copy |= more[lane] && ready[lane];
        if (!copy && !blocked) $fatal(1, "%m: less than an item a lane and cycle");
      end
      blocked <= 1'b0;
      for (int lane = 0; lane < int'(Lanes); lane++) if (ready[lane] && more[lane]) blocked <= 1'b1;
      if (done_o) begin
        int unsigned least;
        least = packets[0];
        for (int lane = 0; lane < int'(Lanes); lane++) begin
          if (packets[lane] < least) least = packets[lane];
        end
        if (least < 100 || events < 20 || copies < 20) begin
          $fatal(1, "%m: %0d packets, %0d events, %0d copies", least, events, copies);
        end
      end
    end
  end
endmodule
