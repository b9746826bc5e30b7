// Test bench of wl_port_spread: packets leave on the port that their egress port selects, or on the
// control processor's stream, as a whole, in order and without gaps; a packet for a port that does
// not exist is dropped; `went_o` and `unknown_o` report each. Ports as wide as the lane pass one
// beat a cycle. Over numbers and widths of ports and depths of queues.
module wl_port_spread_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  spread_case #(.Ports(4), .Shape(1)) i_four (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  spread_case #(
      .Ports(4), .OutBytes(16), .Shape(3)
  ) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  spread_case #(
      .Ports(3), .DataBytes(32), .Shape(2), .Beats(3)
  ) i_cut (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  spread_case #(
      .Ports(1), .OutBytes(64), .Shape(0)
  ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module spread_case #(
    parameter int unsigned Ports = 4,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned OutBytes = 8,
    parameter int unsigned Beats = 64,
    parameter int unsigned Shape = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Streams = Ports + 1;
  // The ports, the control processor, a port that does not exist.
  localparam int unsigned Goals = Ports + 2;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1500)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  function automatic logic [16*Ports-1:0] numbers();
    for (int unsigned i = 0; i < Ports; i++) numbers[16*i+:16] = 16'(3 * i + 1);
  endfunction
  // Returns the sideband bits of a packet. For packets to the control processor the egress port is
  // ignored.
  function automatic wl_pkg::sent_t sent(int unsigned number);
    int unsigned goal;
    goal = tb_pkg::goal(Goals, 1, number);
    if (goal == Ports) begin
      sent.kind = number % 3 == 0 ? wl_pkg::EXIT_COPY_TO_CPU : wl_pkg::EXIT_TO_CPU;
    end else begin
      sent.kind = number % 3 == 0 ? wl_pkg::EXIT_EMIT : wl_pkg::EXIT_FINISH;
    end
    sent.reason = 24'(tb_pkg::word(2, number));
    sent.egress = goal == Ports ? 16'd1 : goal == Goals - 1 ? 16'h8000 : 16'(3 * goal + 1);
  endfunction

  logic valid, ready, last, first, unknown;
  logic [8*DataBytes-1:0] data;
  logic [DataBytes-1:0] keep;
  int unsigned number;
  tb_packet_source #(.Bytes(DataBytes), .Shape(Shape), .Source(1)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle), .valid_o(valid), .ready_i(ready), .last_o(last),
      .data_o(data), .keep_o(keep),
      .first_o(first), .number_o(number)
  );
  logic [Streams-1:0] out_valid, out_ready, out_last, went;
  logic [Streams*8*OutBytes-1:0] out_data;
  logic [Streams*OutBytes-1:0] out_keep;
  logic [Streams*wl_pkg::SentBits-1:0] out_user;
  wl_port_spread #(
      .Ports(Ports), .DataBytes(DataBytes), .OutBytes(OutBytes), .Numbers(numbers()), .Beats(Beats)
  ) i_dut (
      .clk_i, .rst_i, .s_tvalid_i(valid), .s_tready_o(ready), .s_tdata_i(data), .s_tkeep_i(keep),
      .s_tlast_i(last),
      .s_tuser_i(sent(number)), .m_tvalid_o(out_valid), .m_tready_i(out_ready),
      .m_tdata_o(out_data), .m_tkeep_o(out_keep),
      .m_tlast_o(out_last), .m_tuser_o(out_user), .went_o(went), .unknown_o(unknown)
  );

  int unsigned counts[Streams], unknowns, total;
  for (genvar i = 0; i < Streams; i++) begin : g_stream
    logic out_first;
    int unsigned out_number, told;
    tb_packet_check #(
        .Bytes(OutBytes), .Shape(Shape), .Source(1), .Goals(Goals), .Goal(i), .Dense(Beats > 32)
    ) i_check (
        .clk_i, .rst_i, .valid_i(out_valid[i]), .ready_i(out_ready[i]), .last_i(out_last[i]),
        .data_i(out_data[i*8*OutBytes+:8*OutBytes]),
        .keep_i(out_keep[i*OutBytes+:OutBytes]), .first_o(out_first), .number_o(out_number),
        .count_o(counts[i])
    );
    always_ff @(posedge clk_i) begin
      // The first port stalls more than the others.
      out_ready[i] <= !rst_i && !tb_pkg::chance(i == 0 && stall != 0 ? 200 : stall);
      if (rst_i) told <= 0;
      else begin
        told <= told + 32'(went[i]);
        if (went[i] && (!first || tb_pkg::goal(Goals, 1, number) !== i)) begin
          $fatal(1, "%m: packet %0d does not go here", number);
        end
        if (out_valid[i]
            && out_user[i*wl_pkg::SentBits+:wl_pkg::SentBits] !== sent(out_number)) begin
          $fatal(1, "%m: packet %0d leaves with %h", out_number,
              out_user[i*wl_pkg::SentBits+:wl_pkg::SentBits]);
        end
        if (done_o && (counts[i] !== told || told < 20)) begin
          $fatal(1, "%m: %0d packets of %0d", counts[i], told);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) unknowns <= 0;
    else begin
      unknowns <= unknowns + 32'(unknown);
      if (unknown && (!first || tb_pkg::goal(Goals, 1, number) !== Goals - 1)) begin
        $fatal(1, "%m: packet %0d has a port", number);
      end
      if (window && OutBytes === DataBytes && !ready) begin
        $fatal(1, "%m: a beat had to wait at full speed");
      end
      total = unknowns;
      for (int unsigned i = 0; i < Streams; i++) total = total + counts[i];
      if (done_o && total !== number) $fatal(1, "%m: %0d packets were sent", number);
    end
  end
endmodule
