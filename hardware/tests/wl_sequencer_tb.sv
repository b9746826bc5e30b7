// Test bench of wl_sequencer: packets go to the pipes in turn as a whole, in the order in which
// they start, with their numbers; packets of a lane stay in order; throughput of one beat on each
// lane and cycle while all packets have one beat. Over lanes, with and without numbers.
module wl_sequencer_tb;
  localparam int unsigned Cases = 6;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  sequencer_case #(.Lanes(1), .SequenceBits(0), .Short(1'b0)) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  sequencer_case #(.Lanes(1), .SequenceBits(64), .Short(1'b1)) i_1n (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  sequencer_case #(.Lanes(2), .SequenceBits(64), .Short(1'b0)) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  sequencer_case #(.Lanes(2), .SequenceBits(0), .Short(1'b1)) i_2s (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  sequencer_case #(.Lanes(3), .SequenceBits(16), .Short(1'b0)) i_3 (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  sequencer_case #(.Lanes(4), .SequenceBits(16), .Short(1'b1)) i_4 (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
endmodule

module sequencer_case #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned SequenceBits = 0,
    parameter bit Short = 1'b0  // only packets of one beat
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = 8;
  localparam int unsigned UserBits = 16;
  localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(600)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic [Lanes-1:0] valid, ready, last, pipe_valid, pipe_ready, pipe_last, stalls;
  logic [Lanes*8*Bytes-1:0] data, pipe_data;
  logic [Lanes*Bytes-1:0] keep, pipe_keep;
  logic [Lanes*UserBits-1:0] user, pipe_user;
  logic [Lanes*NumberBits-1:0] number;
  int unsigned sent[Lanes];

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    logic [39:0] word;
    logic word_last;
    tb_source #(.Width(40), .Source(lane)) i_source (
        .clk_i, .rst_i, .send_i(send), .idle_i(idle),
        .valid_o(valid[lane]), .ready_i(ready[lane]), .last_o(word_last), .data_o(word), .count_o(sent[lane])
    );
    // A beat contains the number of its lane and its own number.
    assign last[lane] = Short || word_last;
    assign data[lane*8*Bytes+:8*Bytes] = {8'(lane), 16'(sent[lane]), word};
    assign keep[lane*Bytes+:Bytes] = word[Bytes-1:0];
    assign user[lane*UserBits+:UserBits] = 16'(sent[lane]);
  end

  wl_sequencer #(.Lanes(Lanes), .DataBytes(Bytes), .UserBits(UserBits), .SequenceBits(SequenceBits)) i_dut (
      .clk_i, .rst_i,
      .s_tvalid_i(valid), .s_tready_o(ready), .s_tdata_i(data), .s_tkeep_i(keep), .s_tlast_i(last), .s_tuser_i(user),
      .pipe_valid_o(pipe_valid), .pipe_ready_i(pipe_ready), .pipe_data_o(pipe_data), .pipe_keep_o(pipe_keep),
      .pipe_last_o(pipe_last), .pipe_user_o(pipe_user), .pipe_sequence_o(number), .stall_o(stalls)
  );

  // The checks at the pipes, which also determine the order in which packets started.
  int unsigned packets[Lanes], received[Lanes];
  int from[Lanes];  // the lane of the pipe's current packet, or -1
  logic [Lanes-1:0] offered, was_stalled;
  int unsigned started;  // packets that have started
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      pipe_ready <= '0;
      offered <= '0;
      started <= 0;
      for (int i = 0; i < int'(Lanes); i++) begin
        packets[i] <= 0;
        received[i] <= 0;
        from[i] <= -1;
      end
    end else begin
      automatic int order[Lanes];
      for (int i = 0; i < int'(Lanes); i++) order[i] = -1;
      for (int pipe = 0; pipe < int'(Lanes); pipe++) begin
        automatic logic [8*Bytes-1:0] beat = pipe_data[pipe*8*Bytes+:8*Bytes];
        automatic int lane = int'(beat[63:56]);
        pipe_ready[pipe] <= !tb_pkg::chance(stall);
        offered[pipe] <= pipe_valid[pipe] && !pipe_ready[pipe];
        if (offered[pipe] && !pipe_valid[pipe]) $fatal(1, "%m: pipe %0d: a beat was withdrawn", pipe);
        if (pipe_valid[pipe]) begin
          if (beat[55:40] != 16'(received[lane]) || beat[39:0] != 40'(tb_pkg::word(lane, received[lane]))) begin
            $fatal(1, "%m: pipe %0d: beat %h, not number %0d of its lane", pipe, beat, received[lane]);
          end
          if (pipe_keep[pipe*Bytes+:Bytes] != beat[Bytes-1:0] || pipe_user[pipe*UserBits+:UserBits] != beat[55:40]) begin
            $fatal(1, "%m: pipe %0d: keep or user is not the beat's", pipe);
          end
          if (pipe_last[pipe] != (Short || tb_pkg::last(lane, received[lane]))) $fatal(1, "%m: pipe %0d: last", pipe);
          if (from[pipe] >= 0 && from[pipe] != lane) $fatal(1, "%m: pipe %0d: packets are mixed", pipe);
          if (from[pipe] < 0) begin
            automatic int unsigned global_number = packets[pipe] * Lanes + pipe;
            if (SequenceBits != 0 && number[pipe*NumberBits+:NumberBits] != NumberBits'(global_number)) begin
              $fatal(1, "%m: pipe %0d: number %0d, not %0d", pipe, number[pipe*NumberBits+:NumberBits], global_number);
            end
          end
          if (pipe_ready[pipe]) begin
            received[lane] <= received[lane] + 1;
            from[pipe] <= pipe_last[pipe] ? -1 : lane;
            if (pipe_last[pipe]) packets[pipe] <= packets[pipe] + 1;
          end
        end
      end
      // Packets start in the order of their pipes: those that show their first beat are the next in
      // turn.
      begin
        automatic int unsigned starting = 0;
        for (int pipe = 0; pipe < int'(Lanes); pipe++) begin
          if (pipe_valid[pipe] && from[pipe] < 0 && !offered[pipe]) starting++;
        end
        for (int unsigned k = 0; k < starting; k++) begin
          automatic int pipe = int'((started + k) % Lanes);
          if (!(pipe_valid[pipe] && from[pipe] < 0 && !offered[pipe])) $fatal(1, "%m: packet %0d is late", started + k);
          // Among packets that start in one cycle the lower lane comes first, except that a lane
          // that waited precedes all.
          order[k] = int'(pipe_data[pipe*8*Bytes+56+:8]);
          if (k > 0 && !was_stalled[order[k-1]] && (was_stalled[order[k]] || order[k] < order[k-1])) begin
            $fatal(1, "%m: lane %0d started before lane %0d", order[k-1], order[k]);
          end
        end
        started <= started + starting;
      end
      was_stalled <= stalls;
      if (stalls != (valid & ~ready)) $fatal(1, "%m: stall_o is %b", stalls);
      if (window && Short && (valid & ready) != '1) $fatal(1, "%m: less than a packet a cycle and lane");
      if (window && Lanes == 1 && !(valid[0] && ready[0])) $fatal(1, "%m: less than a beat a cycle");
      if (done_o) begin
        for (int i = 0; i < int'(Lanes); i++) begin
          if (sent[i] != received[i] || received[i] < 500) $fatal(1, "%m: lane %0d: sent %0d, received %0d", i, sent[i], received[i]);
        end
      end
    end
  end
endmodule
