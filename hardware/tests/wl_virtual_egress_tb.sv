// Test bench of wl_virtual_egress after processors with wl_virtual_owner at their inputs: the
// packets of each processor leave as a whole and in order, also under back-pressure, with the tag
// of their router, and so do copies and events; a router's event never precedes what its packets
// sent earlier. Over numbers of processors and routers, and of packets inside.
module wl_virtual_egress_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  egress_case #(
      .Routers(1), .Processors(1), .Counts(9'd1), .Packets(4)
  ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  egress_case #(
      .Routers(5), .Processors(1), .Counts(9'd5), .Packets(64)
  ) i_shared (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  egress_case #(
      .Routers(6), .Processors(3), .Counts({9'd1, 9'd2, 9'd3}), .Packets(8)
  ) i_three (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  egress_case #(
      .Routers(4), .Processors(2), .Counts({9'd2, 9'd2}), .Packets(2), .Ready(100)
  ) i_slow (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module egress_case #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Processors = 1,
    parameter logic [Processors*9-1:0] Counts = 9'd2,
    parameter int unsigned Packets = 8,
    parameter int unsigned Ready = 256  // cycles of 256 in which the lane is ready
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = 8;
  localparam int unsigned Sent = wl_pkg::SentBits;
  localparam int unsigned Cycles = 6000;
  localparam int unsigned Latency = 3;  // least cycles of a processor
  function automatic logic [Routers*8-1:0] all_tags();
    for (int unsigned i = 0; i < Routers; i++) all_tags[i*8+:8] = 8'(3 + 11 * i);
  endfunction
  localparam logic [Routers*8-1:0] Tags = all_tags();

  logic [Processors-1:0] in_valid, in_ready, in_last, to_valid, to_ready, ends;
  logic [Processors*8-1:0] in_place, place;
  logic [Processors-1:0] out_valid, out_ready, out_last, event_in;
  logic [Processors*8*Bytes-1:0] out_data;
  logic [Processors*Sent-1:0] out_user, event_out;
  logic [Processors*27-1:0] event_data;
  logic [Processors-1:0] event_valid;
  logic m_valid, m_ready, m_last;
  logic [8*Bytes-1:0] m_data;
  logic [Bytes-1:0] m_keep;
  logic [Sent-1:0] m_user;
  wl_pkg::sent_t m_sent;
  assign m_sent = m_user;

  int unsigned firsts[Processors];
  always_comb begin
    int unsigned sum;
    sum = 0;
    for (int p = 0; p < int'(Processors); p++) begin
      firsts[p] = sum;
      sum += 32'(Counts[p*9+:9]);
    end
  end

  for (genvar p = 0; p < Processors; p++) begin : g_owner
    wl_virtual_owner #(
        .Routers(32'(Counts[p*9+:9])), .Packets(Packets)
    ) i_owner (
        .clk_i, .rst_i, .in_valid_i(in_valid[p]), .in_ready_o(in_ready[p]), .in_last_i(in_last[p]),
        .in_place_i(in_place[p*8+:8]),
        .out_valid_o(to_valid[p]), .out_ready_i(to_ready[p]), .place_o(place[p*8+:8]),
        .ends_i(ends[p])
    );
  end
  wl_virtual_egress #(
      .Routers(Routers), .Processors(Processors), .Counts(Counts), .Tags(Tags), .DataBytes(Bytes)
  ) i_dut (
      .clk_i, .rst_i, .in_valid_i(out_valid), .in_ready_o(out_ready), .in_last_i(out_last),
      .in_data_i(out_data),
      .in_keep_i({Processors*Bytes{1'b1}}), .in_user_i(out_user), .in_event_i(event_in),
      .in_event_data_i(event_data), .place_i(place),
      .ends_o(ends), .m_tvalid_o(m_valid), .m_tready_i(m_ready), .m_tdata_o(m_data),
      .m_tkeep_o(m_keep), .m_tlast_o(m_last),
      .m_tuser_o(m_user), .event_valid_o(event_valid), .event_o(event_out)
  );

  // For each processor: the packets inside, {router, cycle in which it entered}; the current item,
  // and the remaining beats and copies.
  logic [63:0] held_in[Processors][Cycles+100];
  int unsigned entered[Processors], sent[Processors], left[Processors], copies[Processors], cycle,
      packets, events, copied;
  // The packets that have ended, and for each router its packets that have left.
  int unsigned gone[Processors], who, router, numbers[Routers], number;
  logic behind[Processors], active[Processors];
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      done_o <= 1'b0;
      in_valid <= '0;
      to_ready <= '0;
      out_valid <= '0;
      event_in <= '0;
      m_ready <= 1'b0;
      packets = 0;
      events = 0;
      copied = 0;
      for (int p = 0; p < int'(Processors); p++) begin
        entered[p] = 0;
        sent[p] = 0;
        gone[p] = 0;
        left[p] = 0;
        copies[p] = 0;
        behind[p] = 1'b0;
        active[p] = 1'b0;
      end
      for (int r = 0; r < int'(Routers); r++) numbers[r] = 0;
    end else begin
      cycle <= cycle + 1;
      m_ready <= tb_pkg::chance(Ready);
      // The data of a packet contain its router, and its number among those of the router.
      if (m_valid && m_ready) begin
        router = 32'(m_data[7:0]);
        if (m_sent.egress !== {Tags[router*8+:8], m_data[15:8]}) begin
          $fatal(1, "%m: egress port %h for router %0d", m_sent.egress, router);
        end
        if (m_data[63:32] !== 32'(numbers[router])) begin
          $fatal(1, "%m: router %0d: number %0d, not %0d", router, m_data[63:32], numbers[router]);
        end
        if (m_keep !== '1) $fatal(1, "%m: bytes are missing");
        if (m_last && m_sent.kind == wl_pkg::EXIT_FINISH) numbers[router] = numbers[router] + 1;
        if (m_last && m_sent.kind != wl_pkg::EXIT_FINISH) copied = copied + 1;
        if (m_last) packets = packets + 1;
      end
      for (int p = 0; p < int'(Processors); p++) begin
        if (event_valid[p]) begin
          router = 0;
          for (int r = 0; r < int'(Routers); r++) begin
            if (Tags[r*8+:8] == event_out[p*Sent+8+:8]) router = r;
          end
          if (event_out[p*Sent+16+:16] !== 16'(numbers[router])) begin
            $fatal(1, "%m: event %0d of router %0d, not %0d", event_out[p*Sent+16+:16], router,
                numbers[router]);
          end
          numbers[router] = numbers[router] + 1;
          events = events + 1;
        end
      end
      // Packets enter: beats of a router, one packet after the other.
      for (int p = 0; p < int'(Processors); p++) begin
        if (to_valid[p] && to_ready[p]) begin
          if (!behind[p]) begin
            held_in[p][entered[p]] = {32'(firsts[p]) + 32'(in_place[p*8+:8]), 32'(cycle)};
            entered[p] = entered[p] + 1;
            if (Counts[p*9+:9] > 1 && entered[p] - gone[p] > Packets + 2) begin
              $fatal(1, "%m: %0d packets inside", entered[p] - gone[p]);
            end
          end
          behind[p] = !in_last[p];
        end
        if (to_valid[p] && !in_valid[p] || in_ready[p] && !to_ready[p]) begin
          $fatal(1, "%m: something from nothing");
        end
        if (!in_valid[p] || in_ready[p]) begin
          if (!in_valid[p] || in_last[p]) in_place[p*8+:8] <= 8'($urandom() % 32'(Counts[p*9+:9]));
          in_valid[p] <= cycle < Cycles && tb_pkg::chance(200) || in_valid[p] && !in_last[p];
          in_last[p] <= tb_pkg::chance(128);
        end
        to_ready[p] <= entered[p] - sent[p] < 40 && tb_pkg::chance(220);
      end
      // Packets leave in order: an event, or copies and the packet, each of one to three beats.
      for (int p = 0; p < int'(Processors); p++) begin
        event_in[p] <= 1'b0;
        if (event_in[p]) gone[p] = gone[p] + 1;
        if (out_valid[p] && out_ready[p]) begin
          if (!out_last[p]) left[p] = left[p] - 1;
          else if (copies[p] != 0) begin
            copies[p] = copies[p] - 1;
            left[p] = $urandom() % 3;
          end else begin
            active[p] = 1'b0;
            sent[p] = sent[p] + 1;
            gone[p] = gone[p] + 1;
          end
          out_valid[p] <= 1'b0;
        end
        if (!out_valid[p] || out_ready[p]) begin
          who = 32'(held_in[p][sent[p]][63:32]);
          number = 0;
          for (int k = 0; k < int'(sent[p]); k++) begin
            if (32'(held_in[p][k][63:32]) == who) number = number + 1;
          end
          if (!active[p] && sent[p] < entered[p]
              && cycle - 32'(held_in[p][sent[p]][31:0]) >= Latency && tb_pkg::chance(200)) begin
            if (tb_pkg::chance(60)) begin
              event_in[p] <= 1'b1;
              event_data[p*27+:27] <= {wl_pkg::EXIT_DROP, 8'd0, 16'(number)};
              sent[p] = sent[p] + 1;
            end else begin
              active[p] = 1'b1;
              copies[p] = tb_pkg::chance(60) ? 1 + $urandom() % 2 : 0;
              left[p] = $urandom() % 3;
            end
          end
          if (active[p] && tb_pkg::chance(220)) begin
            out_valid[p] <= 1'b1;
            out_last[p] <= left[p] == 0;
            out_data[p*8*Bytes+:8*Bytes] <= {32'(number), 16'd0, 8'(cycle), 8'(who)};
            // The upper byte of the program's egress port is ignored.
            out_user[p*Sent+:Sent] <= {copies[p] == 0 ? wl_pkg::EXIT_FINISH
                : tb_pkg::chance(128) ? wl_pkg::EXIT_COPY_TO_CPU : wl_pkg::EXIT_EMIT,
                24'($urandom()), 8'($urandom()), 8'(cycle)};
          end
        end
      end
      if (cycle == Cycles + 2500) begin
        for (int p = 0; p < int'(Processors); p++)
          if (sent[p] !== entered[p]) begin
            $fatal(1, "%m: processor %0d has %0d packets left", p, entered[p] - sent[p]);
          end
        if (packets < 500 || events < 50 || copied < 50) begin
          $fatal(1, "%m: %0d packets, %0d events, %0d copies", packets, events, copied);
        end
        done_o <= 1'b1;
      end
    end
  end
endmodule
