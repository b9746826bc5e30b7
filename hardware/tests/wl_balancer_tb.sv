// Test bench of wl_balancer: each packet goes to one target as a whole, none is lost, duplicated or
// reordered, and the target is the one that the policy selects, in the cycle in which the packet is
// first offered. Over targets and policies.
module wl_balancer_tb;
  localparam int unsigned Cases = 12;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar policy = 0; policy < 3; policy++) begin : g_policy
    balancer_case #(
        .Policy(policy), .Targets(1)
    ) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[4*policy]));
    balancer_case #(
        .Policy(policy), .Targets(2)
    ) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[4*policy+1]));
    balancer_case #(
        .Policy(policy), .Targets(5)
    ) i_5 (.clk_i(clk), .rst_i(rst), .done_o(done[4*policy+2]));
    balancer_case #(
        .Policy(policy), .Targets(8)
    ) i_8 (.clk_i(clk), .rst_i(rst), .done_o(done[4*policy+3]));
  end
endmodule

module balancer_case #(
    parameter int unsigned Policy = 0,
    parameter int unsigned Targets = 2
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Width = 24;
  localparam int unsigned Places = 5;  // free places of a target
  localparam int unsigned FreeBits = wl_pkg::bits(Places + 1);

  logic send, window, in_valid, in_ready, in_last, out_last;
  int unsigned idle, stall, sent;
  logic [Width-1:0] in_data, out_data;
  logic [Targets*FreeBits-1:0] free;
  logic [Targets-1:0] out_valid, out_ready;
  logic [wl_pkg::bits(Targets)-1:0] target;

  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );
  tb_source #(.Width(Width)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle),
      .valid_o(in_valid), .ready_i(in_ready), .last_o(in_last), .data_o(in_data), .count_o(sent)
  );
  wl_balancer #(.Targets(Targets), .Width(Width), .FreeBits(FreeBits), .Policy(Policy)) i_dut (
      .clk_i, .rst_i,
      .in_valid_i(in_valid), .in_ready_o(in_ready), .in_last_i(in_last), .in_data_i(in_data),
      .free_i(free),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_last_o(out_last),
      .out_data_o(out_data), .target_o(target)
  );

  // A target has places for packets: the first beat takes one, which becomes free some time after
  // the last beat.
  int unsigned free_places[Targets];
  logic [Targets-1:0] midway;  // in the middle of a packet
  logic willing;               // back-pressure
  for (genvar i = 0; i < Targets; i++) begin : g_target
    assign free[i*FreeBits+:FreeBits] = FreeBits'(free_places[i]);
    assign out_ready[i] = willing && (midway[i] || free_places[i] != 0);
  end

  // Returns the target that the policy selects; -1: none.
  int unsigned turn;
  function automatic int named();
    int best;
    best = -1;
    if (Policy == 0) return int'(turn);
    for (int i = 0; i < int'(Targets); i++) begin
      if (free_places[i] != 0
          && (best < 0 || (Policy == 1 && free_places[i] > free_places[best]))) begin
        best = i;
      end
    end
    return best;
  endfunction

  int unsigned received, used;
  int packet_target;  // target of the offered packet, or -1
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      willing <= 1'b0;
      midway <= '0;
      turn <= 0;
      received <= 0;
      used <= 0;
      packet_target <= -1;
      for (int i = 0; i < int'(Targets); i++) free_places[i] <= Places;
    end else begin
      int expected;
      expected = packet_target >= 0 ? packet_target : named();
      willing <= !tb_pkg::chance(stall);
      if (!in_valid) expected = -1;
      for (int i = 0; i < int'(Targets); i++) begin
        bit takes;
        bit frees;
        takes = out_valid[i] && out_ready[i];
        frees = free_places[i] < Places && !(midway[i] && free_places[i] == Places - 1) &&
            tb_pkg::chance(sent < 800 ? 256 : 12);
        if (out_valid[i] !== (expected === i)) begin
          $fatal(1, "%m: offered to %b, not to %0d", out_valid, expected);
        end
        free_places[i] <= free_places[i] + 32'(frees) - 32'(takes && !midway[i]);
        if (takes) midway[i] <= !out_last;
        if (takes && i < 32) used[i] <= 1'b1;
      end
      if (expected >= 0) begin
        bit takes;
        takes = out_ready[expected];
        if (32'(target) !== expected) $fatal(1, "%m: target_o is %0d, not %0d", target, expected);
        if (in_ready !== takes) $fatal(1, "%m: ready is %b", in_ready);
        if (out_data !== Width'(tb_pkg::word(0, received))
            || out_last !== tb_pkg::last(0, received)) begin
          $fatal(1, "%m: beat %0d is %h", received, out_data);
        end
        if (takes) received <= received + 1;
        packet_target <= takes && out_last ? -1 : expected;
        if (takes && out_last && Policy == 0) turn <= (turn + 1) % Targets;
      end
      // While every target has a free place, the throughput is one beat a cycle.
      if (window && sent < 800 && Targets > 1 && !(in_valid && in_ready)) begin
        $fatal(1, "%m: less than a beat a cycle");
      end
      // Policies 1 and 2 may never use the last targets.
      if (done_o
          && (received !== sent || received < 500
          || $countones(used) < (Policy === 0 ? Targets : (Targets + 2) / 3))) begin
        $fatal(1, "%m: sent %0d, received %0d, targets used %b", sent, received, used);
      end
    end
  end
endmodule
