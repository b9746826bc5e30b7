// Test bench of wl_sequencer: each lane's beats pass to its pipe unchanged; packets get numbers and
// records in the order in which they are first offered, the lower lane first; a lane waits for no
// other; nothing starts without room for a record; nothing is accepted in reset, and the rest of a
// packet that a reset cuts is discarded. Over lanes, with and without numbers.
module wl_sequencer_tb;
  localparam int unsigned Cases = 6;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  sequencer_case #(
      .Lanes(1), .SequenceBits(0), .Short(1'b0)
  ) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  sequencer_case #(
      .Lanes(1), .SequenceBits(64), .Short(1'b1)
  ) i_1n (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  sequencer_case #(
      .Lanes(2), .SequenceBits(64), .Short(1'b0)
  ) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  sequencer_case #(
      .Lanes(2), .SequenceBits(0), .Short(1'b1)
  ) i_2s (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  sequencer_case #(
      .Lanes(3), .SequenceBits(16), .Short(1'b0)
  ) i_3 (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  sequencer_case #(
      .Lanes(4), .SequenceBits(16), .Short(1'b1)
  ) i_4 (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
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

  // A second reset, which reaches only the module, cuts packets.
  logic again;
  int unsigned cycle;
  always_ff @(posedge clk_i) cycle <= rst_i ? 0 : cycle + 1;
  assign again = cycle >= 1500 && cycle < 1504;

  logic [Lanes-1:0] valid, ready, last, pipe_valid, pipe_ready, pipe_last, stalls, order_lanes;
  logic [Lanes*8*Bytes-1:0] data, pipe_data;
  logic [Lanes*Bytes-1:0] keep, pipe_keep;
  logic [Lanes*UserBits-1:0] user, pipe_user;
  logic [Lanes*NumberBits-1:0] number;
  logic order_valid, order_ready;
  int unsigned sent[Lanes];

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    logic [39:0] word;
    logic word_last;
    tb_source #(.Width(40), .Source(lane)) i_source (
        .clk_i, .rst_i, .send_i(send), .idle_i(idle),
        .valid_o(valid[lane]), .ready_i(ready[lane]), .last_o(word_last), .data_o(word),
        .count_o(sent[lane])
    );
    // A beat contains the number of its lane and its own number.
    assign last[lane] = Short || word_last;
    assign data[lane*8*Bytes+:8*Bytes] = {8'(lane), 16'(sent[lane]), word};
    assign keep[lane*Bytes+:Bytes] = word[Bytes-1:0];
    assign user[lane*UserBits+:UserBits] = 16'(sent[lane]);
  end

  wl_sequencer #(
      .Lanes(Lanes), .DataBytes(Bytes), .UserBits(UserBits), .SequenceBits(SequenceBits)
  ) i_dut (
      .clk_i, .rst_i(rst_i || again),
      .s_tvalid_i(valid), .s_tready_o(ready), .s_tdata_i(data), .s_tkeep_i(keep), .s_tlast_i(last),
      .s_tuser_i(user),
      .pipe_valid_o(pipe_valid), .pipe_ready_i(pipe_ready), .pipe_data_o(pipe_data),
      .pipe_keep_o(pipe_keep),
      .pipe_last_o(pipe_last), .pipe_user_o(pipe_user), .pipe_sequence_o(number),
      .order_valid_o(order_valid), .order_ready_i(order_ready), .order_lanes_o(order_lanes),
      .stall_o(stalls)
  );

  int unsigned discarded, passed, records;
  longint unsigned next_number;
  longint unsigned number_of[Lanes];
  logic [Lanes-1:0] midst;  // the lane is in the middle of a packet
  logic [Lanes-1:0] waits;  // its packet has its number, and no beat has been accepted
  logic [Lanes-1:0] cut;    // a reset has cut its packet
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      pipe_ready <= '0;
      order_ready <= 1'b0;
      midst <= '0;
      waits <= '0;
      cut <= '0;
      next_number <= 0;
      discarded <= 0;
      passed <= 0;
      records <= 0;
      if (ready !== '0) $fatal(1, "%m: ready in reset");
    end else begin
      longint unsigned following;
      logic [Lanes-1:0] begin_now;
      following = next_number;
      begin_now = '0;
      order_ready <= !tb_pkg::chance(stall / 4);
      for (int lane = 0; lane < int'(Lanes); lane++) begin
        bit taken;
        taken = valid[lane] && ready[lane];
        pipe_ready[lane] <= !tb_pkg::chance(stall);
        if (again && ready[lane]) $fatal(1, "%m: lane %0d: ready in reset", lane);
        if (cut[lane] && !again) begin
          if (pipe_valid[lane]) $fatal(1, "%m: lane %0d: the rest of a cut packet passes", lane);
          if (valid[lane] && !ready[lane]) begin
            $fatal(1, "%m: lane %0d: the rest of a cut packet waits", lane);
          end
          if (valid[lane]) discarded <= discarded + 1;
          if (valid[lane] && last[lane]) cut[lane] <= 1'b0;
        end else if (!again) begin
          bit may;
          may = midst[lane] || waits[lane] || Lanes == 1 || order_ready;
          if (pipe_valid[lane] !== (valid[lane] && may)) begin
            $fatal(1, "%m: lane %0d: valid %b, pipe %b", lane, valid[lane], pipe_valid[lane]);
          end
          if (ready[lane] !== (pipe_ready[lane] && may)) begin
            $fatal(1, "%m: lane %0d: ready depends on more than its pipe", lane);
          end
          if (pipe_valid[lane]) begin
            if (pipe_data[lane*8*Bytes+:8*Bytes] !== data[lane*8*Bytes+:8*Bytes]
                || pipe_keep[lane*Bytes+:Bytes] !== keep[lane*Bytes+:Bytes]
                || pipe_user[lane*UserBits+:UserBits] !== user[lane*UserBits+:UserBits]
                    || pipe_last[lane] !== last[lane]) begin
              $fatal(1, "%m: lane %0d: the beat is changed", lane);
            end
            if (!midst[lane] && !waits[lane]) begin
              number_of[lane] <= following;
              begin_now[lane] = 1'b1;
              if (SequenceBits !== 0
                  && number[lane*NumberBits+:NumberBits] !== NumberBits'(following)) begin
                $fatal(1, "%m: lane %0d: number %0d, not %0d", lane,
                    number[lane*NumberBits+:NumberBits], following);
              end
              following++;
            end else if (!midst[lane] && SequenceBits !== 0
                && number[lane*NumberBits+:NumberBits] !== NumberBits'(number_of[lane])) begin
              $fatal(1, "%m: lane %0d: another number after waiting", lane);
            end
            waits[lane] <= !midst[lane] && !taken;
          end
          if (taken) begin
            midst[lane] <= !last[lane];
            passed <= passed + 1;
          end
        end
        if (again) begin
          if (midst[lane]) cut[lane] <= 1'b1;
          midst[lane] <= 1'b0;
          waits[lane] <= 1'b0;
        end
      end
      if (again) following = 0;
      else if (Lanes > 1
          && (order_valid !== (begin_now !== '0)
          || (order_valid && order_lanes !== begin_now))) begin
        $fatal(1, "%m: record %b %b, and %b began", order_valid, order_lanes, begin_now);
      end
      if (Lanes > 1 && order_valid) records <= records + 1;
      next_number <= following;
      if (!again && (stalls !== (valid & ~ready))) $fatal(1, "%m: stall_o is %b", stalls);
      if (window && (valid & ready) !== '1) $fatal(1, "%m: less than a beat a cycle and lane");
      if (done_o
          && (passed < 500 * Lanes || (!Short && discarded === 0)
          || (Lanes > 1 && records < 300))) begin
        $fatal(1, "%m: %0d beats passed, %0d discarded, %0d records", passed, discarded, records);
      end
    end
  end
endmodule
