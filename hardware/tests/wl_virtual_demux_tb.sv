// Test bench of wl_virtual_demux: packets reach their routers as a whole and in order; a router
// that takes little or nothing loses packets, and the others lose none; packets for no router and
// those that are too long are reported. Over numbers of routers and sizes of queues.
module wl_virtual_demux_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  demux_case #(
      .Routers(1), .Beats(4), .MaxBeats(4)
  ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  demux_case #(
      .Routers(2), .Beats(24), .MaxBeats(1)
  ) i_short (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  demux_case #(
      .Routers(3), .Beats(40), .MaxBeats(8)
  ) i_three (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  demux_case #(
      .Routers(10), .Beats(64), .MaxBeats(6)
  ) i_ten (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module demux_case #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Beats = 16,
    parameter int unsigned MaxBeats = 4
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Width = 64;
  localparam int unsigned RouterBits = wl_pkg::bits(Routers);
  localparam int unsigned Cycles = 6000;

  logic valid, last, unknown, cut;
  logic [RouterBits-1:0] router;
  logic [Width-1:0] data;
  logic [Routers-1:0] router_valid, router_ready, router_last, lost;
  logic [Routers*Width-1:0] router_data;
  logic [Routers-1:0] meant;
  for (genvar i = 0; i < Routers; i++) begin : g_meant
    assign meant[i] = router == RouterBits'(i);
  end
  wl_virtual_demux #(.Routers(Routers), .Width(Width), .Beats(Beats), .MaxBeats(MaxBeats)) i_dut (
      .clk_i, .rst_i, .valid_i(valid), .meant_i(meant), .last_i(last), .data_i(data),
      .router_valid_o(router_valid),
      .router_ready_i(router_ready), .router_last_o(router_last), .router_data_o(router_data),
      .lost_o(lost), .unknown_o(unknown),
      .cut_o(cut)
  );

  // The expected beats of each router, {last, data}; how many are known, and how many it has
  // received.
  logic [Width:0] awaited[Routers][Cycles];
  int unsigned known[Routers], got[Routers];
  int unsigned cycle, number, beat, length, target, losses[Routers], unknowns, cuts;
  logic taken;  // the packet under way goes to a router
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      number <= 0;
      beat = 0;
      valid <= 1'b0;
      done_o <= 1'b0;
      router_ready <= '0;
      unknowns <= 0;
      cuts <= 0;
      for (int i = 0; i < int'(Routers); i++) begin
        losses[i] <= 0;
        got[i] = 0;
        known[i] = 0;
      end
    end else begin
      cycle <= cycle + 1;
      done_o <= cycle > Cycles + 4 * Beats;
      // The beat offered in the cycle that ends, which is always accepted.
      if (valid) begin
        if (beat == 0) begin
          taken = 32'(router) < Routers && !lost[router];
          if ((lost !== '0) !== (32'(router) < Routers && lost[router])) begin
            $fatal(1, "%m: another router loses a packet");
          end
          if (unknown !== (32'(router) >= Routers)) begin
            $fatal(1, "%m: tag %0d: unknown %b", router, unknown);
          end
          if (32'(router) < Routers && lost[router]) losses[router] <= losses[router] + 1;
          if (unknown) unknowns <= unknowns + 1;
          target = 32'(router);
        end else if (lost !== '0 || unknown) $fatal(1, "%m: a loss in the middle of a packet");
        if (cut !== (taken && beat === MaxBeats - 1 && !last)) begin
          $fatal(1, "%m: cut %b in beat %0d", cut, beat);
        end
        cuts <= cuts + 32'(cut);
        if (taken && beat < MaxBeats) begin
          awaited[target][known[target]] = {last || beat == MaxBeats - 1, data};
          known[target] = known[target] + 1;
        end
        beat = last ? 0 : beat + 1;
      end
      // The next beat: no pauses in the first half. Tags without a router occur if there are any;
      // lengths are up to one beat more than is stored.
      valid <= cycle < Cycles && (cycle < Cycles / 2 || !tb_pkg::chance(64));
      if (!(cycle < Cycles)) valid <= beat != 0;
      if (beat == 0) begin
        length = 1 + $urandom() % (MaxBeats + 1);
        router <= RouterBits'($urandom());
      end else router <= RouterBits'($urandom());
      last <= beat + 1 >= length;
      data <= {$urandom(), 32'(cycle)};
      // Router 0 is overloaded: it takes a beat in thirty-two cycles, and for a time none; the
      // others are ready always or nearly always.
      for (int i = 0; i < int'(Routers); i++) begin
        router_ready[i] <= i == 0 && cycle < Cycles ? cycle > 1000 && tb_pkg::chance(8)
            : i % 2 == 0 || !tb_pkg::chance(40);
        if (router_valid[i] && router_ready[i]) begin
          if (got[i] === known[i]) $fatal(1, "%m: router %0d gets what was not for it", i);
          if (awaited[i][got[i]] !== {router_last[i], router_data[i*Width+:Width]}) begin
            $fatal(1, "%m: router %0d gets another beat", i);
          end
          got[i] = got[i] + 1;
        end
      end
      if (done_o) begin
        for (int i = 0; i < int'(Routers); i++) begin
          if (got[i] !== known[i]) begin
            $fatal(1, "%m: router %0d misses %0d beats", i, known[i] - got[i]);
          end
          if (got[i] < 50) $fatal(1, "%m: router %0d got %0d beats", i, got[i]);
          // The overload of router 0 must not cause losses of the others.
          if (i > 0 && Beats > 2 * MaxBeats && losses[i] !== 0) begin
            $fatal(1, "%m: router %0d lost %0d packets", i, losses[i]);
          end
        end
        if (losses[0] < 6) $fatal(1, "%m: the overloaded router lost %0d packets", losses[0]);
        if ((unknowns > 10) !== (2 ** RouterBits > Routers)) begin
          $fatal(1, "%m: %0d unknown tags", unknowns);
        end
        if (cuts < 10) $fatal(1, "%m: %0d packets were cut", cuts);
      end
    end
  end
endmodule
