// Test bench of wl_port_gather: the packets of each port appear on the lane as a whole, once, in
// order and without gaps, with the port's number and their sideband bits; `taken_o` reports each.
// Packets of 64 bytes pass at full speed on all ports. Over numbers and widths of ports.
module wl_port_gather_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  gather_case #(.Ports(4), .Shape(0)) i_64 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  gather_case #(.Ports(4), .InBytes(16), .Shape(3), .RestBits(64)) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  gather_case #(.Ports(3), .DataBytes(32), .Shape(2), .Beats(4), .RestBits(3)) i_cut (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  gather_case #(.Ports(1), .InBytes(32), .DataBytes(32), .Shape(1)) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module gather_case #(
    parameter int unsigned Ports = 4,
    parameter int unsigned InBytes = 8,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RestBits = 0,
    parameter int unsigned Beats = 64,
    parameter int unsigned Shape = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned RestPort = RestBits == 0 ? 1 : RestBits;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1200)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  // Ports have the numbers 7, 107, 207 and so on.
  function automatic logic [16*Ports-1:0] numbers();
    for (int unsigned i = 0; i < Ports; i++) numbers[16*i+:16] = 16'(100 * i + 7);
  endfunction

  logic [Ports-1:0] valid, ready, last, taken, stalled;
  logic [Ports*8*InBytes-1:0] data;
  logic [Ports*InBytes-1:0] keep;
  logic [Ports*RestPort-1:0] rest;
  logic out_valid, out_ready, out_last, behind;
  logic [8*DataBytes-1:0] out_data;
  logic [DataBytes-1:0] out_keep;
  logic [RestBits+15:0] out_user;
  wl_port_gather #(
      .Ports(Ports), .InBytes(InBytes), .DataBytes(DataBytes), .RestBits(RestBits), .Numbers(numbers()), .Beats(Beats)
  ) i_dut (
      .clk_i, .rst_i, .s_tvalid_i(valid), .s_tready_o(ready), .s_tdata_i(data), .s_tkeep_i(keep), .s_tlast_i(last), .s_tuser_i(rest),
      .m_tvalid_o(out_valid), .m_tready_i(out_ready), .m_tdata_o(out_data), .m_tkeep_o(out_keep), .m_tlast_o(out_last),
      .m_tuser_o(out_user), .taken_o(taken), .stall_o(stalled)
  );

  for (genvar i = 0; i < Ports; i++) begin : g_port
    logic first, mine, out_first;
    int unsigned number, out_number, count, told;
    // The first port is slow, which must not stall the others.
    tb_packet_source #(.Bytes(InBytes), .Shape(Shape), .Source(i)) i_source (
        .clk_i, .rst_i, .send_i(send), .idle_i(i == 0 && Ports > 1 && idle == 0 ? 40 : idle), .valid_o(valid[i]), .ready_i(ready[i]), .last_o(last[i]),
        .data_o(data[i*8*InBytes+:8*InBytes]), .keep_o(keep[i*InBytes+:InBytes]), .first_o(first), .number_o(number)
    );
    assign rest[i*RestPort+:RestPort] = first ? RestPort'(tb_pkg::word(50 + i, number)) : '1;
    assign mine = out_valid && out_user[15:0] == 16'(100 * i + 7);
    tb_packet_check #(.Bytes(DataBytes), .Shape(Shape), .Source(i), .Dense(Beats > 32)) i_check (
        .clk_i, .rst_i, .valid_i(mine), .ready_i(out_ready), .last_i(out_last), .data_i(out_data), .keep_i(out_keep), .first_o(out_first),
        .number_o(out_number), .count_o(count)
    );
    always_ff @(posedge clk_i) begin
      if (rst_i) told <= 0;
      else begin
        told <= told + 32'(taken[i]);
        if (taken[i] != (mine && out_ready && out_first)) $fatal(1, "%m: packet %0d: taken %b", out_number, taken[i]);
        if (stalled[i] != (valid[i] && !ready[i])) $fatal(1, "%m: stall %b", stalled[i]);
        if (window && Shape == 0 && stalled[i]) $fatal(1, "%m: a beat had to wait at full speed");
        if (mine && RestBits != 0 && RestPort'(out_user >> 16) != RestPort'(tb_pkg::word(50 + i, out_number))) begin
          $fatal(1, "%m: packet %0d: %h came with it", out_number, out_user >> 16);
        end
        if (done_o && (count != number || told != number || number < 30)) $fatal(1, "%m: %0d packets of %0d", count, number);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    out_ready <= !rst_i && !tb_pkg::chance(stall);
    if (rst_i) behind <= 1'b0;
    else begin
      if (out_valid && out_ready) behind <= !out_last;
      if (behind && taken != '0) $fatal(1, "%m: a packet is told of in its midst");
    end
  end
endmodule
