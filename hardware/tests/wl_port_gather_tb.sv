// Test bench of wl_port_gather: the packets of each port appear on the lane as a whole, once, in
// order and without gaps, with the port's number and their sideband bits; `taken_o` reports each.
// Packets of 64 bytes pass at full speed on all ports. The rest of a packet that a reset cuts never
// appears, and every packet that begins after a reset does. Over numbers and widths of ports.
module wl_port_gather_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  logic resets_done;
  tb_end #(.Cases(Cases + 1)) i_end (.clk_o(clk), .rst_o(rst), .done_i({resets_done, done}));
  gather_reset_case i_resets (.clk_i(clk), .rst_i(rst), .done_o(resets_done));
  gather_case #(.Ports(4), .Shape(0)) i_64 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  gather_case #(
      .Ports(4), .InBytes(16), .Shape(3), .RestBits(64)
  ) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  gather_case #(
      .Ports(3), .DataBytes(32), .Shape(2), .Beats(4), .RestBits(3)
  ) i_cut (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  gather_case #(
      .Ports(1), .InBytes(32), .DataBytes(32), .Shape(1)
  ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
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
    logic [16*Ports-1:0] all;
    for (int unsigned i = 0; i < Ports; i++) all[16*i+:16] = 16'(100 * i + 7);
    return all;
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
      .Ports(Ports), .InBytes(InBytes), .DataBytes(DataBytes), .RestBits(RestBits),
      .Numbers(numbers()), .Beats(Beats)
  ) i_dut (
      .clk_i, .rst_i, .s_tvalid_i(valid), .s_tready_o(ready), .s_tdata_i(data), .s_tkeep_i(keep),
      .s_tlast_i(last), .s_tuser_i(rest),
      .m_tvalid_o(out_valid), .m_tready_i(out_ready), .m_tdata_o(out_data), .m_tkeep_o(out_keep),
      .m_tlast_o(out_last),
      .m_tuser_o(out_user), .taken_o(taken), .stall_o(stalled)
  );

  for (genvar port = 0; port < Ports; port++) begin : g_port
    logic first, mine, out_first;
    int unsigned number, out_number, count, told;
    // The first port is slow, which must not stall the others.
    localparam bit Slow = port == 0 && Ports > 1;
    tb_packet_source #(.Bytes(InBytes), .Shape(Shape), .Source(port)) i_source (
        .clk_i, .rst_i, .send_i(send), .idle_i(Slow && idle == 0 ? 40 : idle),
        .valid_o(valid[port]), .ready_i(ready[port]),
        .last_o(last[port]), .data_o(data[port*8*InBytes+:8*InBytes]),
        .keep_o(keep[port*InBytes+:InBytes]), .first_o(first), .number_o(number)
    );
    assign rest[port*RestPort+:RestPort] = first ? RestPort'(tb_pkg::word(50 + port, number)) : '1;
    assign mine = out_valid && out_user[15:0] == 16'(100 * port + 7);
    tb_packet_check #(.Bytes(DataBytes), .Shape(Shape), .Source(port), .Dense(Beats > 32)) i_check (
        .clk_i, .rst_i, .valid_i(mine), .ready_i(out_ready), .last_i(out_last), .data_i(out_data),
        .keep_i(out_keep), .first_o(out_first),
        .number_o(out_number), .count_o(count)
    );
    always_ff @(posedge clk_i) begin
      if (rst_i) told <= 0;
      else begin
        told <= told + 32'(taken[port]);
        if (taken[port] !== (mine && out_ready && out_first)) begin
          $fatal(1, "%m: packet %0d: taken %b", out_number, taken[port]);
        end
        if (stalled[port] !== (valid[port] && !ready[port])) begin
          $fatal(1, "%m: stall %b", stalled[port]);
        end
        if (window && Shape === 0 && stalled[port]) begin
          $fatal(1, "%m: a beat had to wait at full speed");
        end
        if (mine && RestBits !== 0
            && RestPort'(out_user >> 16) !== RestPort'(tb_pkg::word(50 + port, out_number))) begin
          $fatal(1, "%m: packet %0d: %h came with it", out_number, out_user >> 16);
        end
        if (done_o && (count !== number || told !== number || number < 30)) begin
          $fatal(1, "%m: %0d packets of %0d", count, number);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    out_ready <= !rst_i && !tb_pkg::chance(stall);
    if (rst_i) behind <= 1'b0;
    else begin
      if (out_valid && out_ready) behind <= !out_last;
      if (behind && taken !== '0) $fatal(1, "%m: a packet is told of in its midst");
    end
  end
endmodule

// Resets that do not reach the senders. A packet on the lane must be one that was sent, whole.
module gather_reset_case (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Ports = 2;
  localparam int unsigned Cycles = 20000;

  int unsigned cycle;
  logic again;
  always_ff @(posedge clk_i) cycle <= rst_i ? 0 : cycle + 1;
  assign again = cycle % 151 < 1 + cycle / 151 % 4 && cycle > 100;

  logic [Ports-1:0] valid, ready, last;
  logic [Ports*64-1:0] data;
  logic out_valid, out_ready, out_last;
  logic [511:0] out_data;
  logic [63:0] out_keep;
  logic [15:0] out_user;
  wl_port_gather #(.Ports(Ports), .Numbers({16'd1, 16'd0}), .Beats(8)) i_dut (
      .clk_i, .rst_i(rst_i || again), .s_tvalid_i(valid), .s_tready_o(ready), .s_tdata_i(data),
      .s_tkeep_i('1), .s_tlast_i(last),
      .s_tuser_i('0), .m_tvalid_o(out_valid), .m_tready_i(out_ready), .m_tdata_o(out_data),
      .m_tkeep_o(out_keep),
      .m_tlast_o(out_last), .m_tuser_o(out_user), .taken_o(), .stall_o()
  );

  // A beat contains the number of its packet, its own number, and the number of the packet's beats.
  int unsigned number[Ports], beat[Ports], beats[Ports];
  for (genvar i = 0; i < Ports; i++) begin : g_port
    assign data[i*64+:64] = {16'(number[i]), 16'(beat[i]), 16'(beats[i]), 16'(i)};
    assign last[i] = beat[i] == beats[i] - 1;
  end

  int unsigned cuts, whole, got;
  int unsigned expected[Ports];  // the next packet of each port, at least
  logic [Ports-1:0] was_cut, midst;
  always_ff @(posedge clk_i) begin
    out_ready <= !tb_pkg::chance(30);
    if (rst_i) begin
      valid <= '0;
      {midst, was_cut} = '0;
      {cuts, whole, got} = '0;
      done_o <= 1'b0;
      for (int unsigned i = 0; i < Ports; i++) begin
        number[i] <= 1;
        beat[i] <= 0;
        beats[i] <= 5;
        expected[i] = 1;
      end
    end else begin
      if (again && ready != '0) $fatal(1, "ready in reset");
      if (again) begin
        for (int unsigned i = 0; i < Ports; i++) begin
          if (midst[i] && !was_cut[i]) cuts = cuts + 1;
          if (midst[i]) was_cut[i] = 1'b1;
          // Packets inside are lost; the next to come is the one after a cut one.
          expected[i] = midst[i] ? number[i] + 1 : number[i];
        end
        got = 0;
      end
      for (int unsigned i = 0; i < Ports; i++) begin
        if (valid[i] && ready[i]) begin
          midst[i] = !last[i];
          if (last[i]) was_cut[i] = 1'b0;
          beat[i] <= last[i] ? 0 : beat[i] + 1;
          if (last[i]) begin
            number[i] <= number[i] + 1;
            beats[i] <= 1 + $urandom() % 20;
          end
        end
        if (!valid[i] || ready[i]) valid[i] <= !tb_pkg::chance(60);
      end
      if (!again && out_valid && out_ready) begin
        int unsigned port;
        port = 32'(out_user);
        for (int unsigned part = 0; part < 8; part++) begin
          logic [63:0] word;
          word = out_data[64*part+:64];
          if (out_keep[8*part]) begin
            if (word[15:0] != 16'(port) || word[63:48] != 16'(expected[port])
                || word[47:32] != 16'(got)) begin
              $fatal(1, "port %0d: packet %0d, beat %0d in the place of packet %0d, beat %0d", port,
                  word[63:48], word[47:32],
                     expected[port], got);
            end
            got = got + 1;
            if (out_last && got > 32'(word[31:16])) $fatal(1, "port %0d: too many beats", port);
            if (out_last && (part == 7 || !out_keep[(8*part+8)%64])
                && got != 32'(word[31:16])) begin
              $fatal(1, "port %0d: a packet in part", port);
            end
          end
        end
        if (out_last) begin
          whole = whole + 1;
          got = 0;
          expected[port] = expected[port] + 1;
        end
      end
      if (cycle == Cycles) begin
        if (cuts < 50 || whole < 500) $fatal(1, "only %0d packets cut, %0d whole", cuts, whole);
        done_o <= 1'b1;
      end
    end
  end
endmodule
