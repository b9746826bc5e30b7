// wl_virtual_ingress: router 0 sends several times its share, all that the lane still takes; the others send nearly theirs, and the output takes
// little more than all shares. The others lose nothing, every router's beats come in order, and router 0 gets its share. Over numbers of
// routers, shares and packet lengths.
module wl_virtual_ingress_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  ingress_case #(.Routers(2), .Share(19660), .MaxBeats(1), .Ready(170)) i_two (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  ingress_case #(.Routers(3), .Share(13107), .MaxBeats(4), .Ready(170)) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  ingress_case #(.Routers(5), .Share(11000), .MaxBeats(2), .Ready(228)) i_five (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  ingress_case #(.Routers(10), .Share(6000), .MaxBeats(3), .Ready(250)) i_ten (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module ingress_case #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Share = 13107,  // of each router, in 65536ths of a beat a cycle
    parameter int unsigned MaxBeats = 4,
    parameter int unsigned Ready = 256  // cycles of 256 in which the output is taken
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Width = 48;
  localparam int unsigned RouterBits = wl_pkg::bits(Routers);
  localparam int unsigned Cycles = 20000;
  localparam int unsigned Beats = 64;

  logic valid, last, out_valid, out_ready, out_last, unknown, cut;
  logic [RouterBits-1:0] router, out_router;
  logic [Width-1:0] data, out_data;
  logic [Routers-1:0] lost;
  wl_virtual_ingress #(
      .Routers(Routers), .Width(Width), .Beats(Beats), .MaxBeats(MaxBeats), .Burst(4), .Shares({Routers{17'(Share)}})
  ) i_dut (
      .clk_i, .rst_i, .valid_i(valid), .router_i(router), .last_i(last), .data_i(data), .out_valid_o(out_valid), .out_ready_i(out_ready),
      .out_router_o(out_router), .out_last_o(out_last), .out_data_o(out_data), .lost_o(lost), .unknown_o(unknown), .cut_o(cut)
  );

  // What each router is to get, and how much of it is known and has come. Credit says when a router that keeps to its share sends again.
  logic [Width:0] awaited[Routers][Cycles];
  int unsigned known[Routers], got[Routers], losses, cycle, left, sender;
  int credit[Routers];
  logic first, kept;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      valid <= 1'b0;
      out_ready <= 1'b0;
      done_o <= 1'b0;
      left = 0;
      losses = 0;
      first = 1'b1;
      for (int i = 0; i < int'(Routers); i++) begin
        known[i] = 0;
        got[i] = 0;
        credit[i] = 0;
      end
    end else begin
      cycle <= cycle + 1;
      done_o <= cycle > Cycles + 1000;
      if (valid) begin
        if (first) kept = !lost[sender];
        if (unknown || cut) $fatal(1, "%m: unknown %b, cut %b", unknown, cut);
        if ((lost >> 1) != '0) $fatal(1, "%m: routers %b lose a packet to router 0's overload", lost);
        if (lost[0]) losses = losses + 1;
        if (kept) begin
          awaited[sender][known[sender]] = {last, data};
          known[sender] = known[sender] + 1;
        end
        first = last;
      end
      // The next beat: of the packet under way; or of a router that has saved up for the longest packet; or of router 0.
      for (int i = 1; i < int'(Routers); i++) credit[i] = credit[i] + int'(Share * 15 / 16);
      if (left == 0) begin
        sender = 0;
        for (int i = 1; i < int'(Routers); i++) if (credit[i] >= int'(MaxBeats * 65536)) sender = i;
        left = 1 + $urandom() % MaxBeats;
        credit[sender] = credit[sender] - int'(left * 65536);
      end
      valid <= cycle < Cycles || !first && valid && !last;
      router <= RouterBits'(sender);
      data <= {16'(sender), 32'(cycle)};
      last <= left == 1;
      left = left - 1;
      if (cycle >= Cycles && first) left = 0;

      out_ready <= tb_pkg::chance(Ready);
      if (out_valid && out_ready) begin
        if (got[out_router] == known[out_router]) $fatal(1, "%m: router %0d gets what was not for it", out_router);
        if (awaited[out_router][got[out_router]] != {out_last, out_data}) $fatal(1, "%m: router %0d gets another beat", out_router);
        got[out_router] = got[out_router] + 1;
      end
      if (cycle == Cycles) begin
        // The overloaded router gets its share all the same.
        if (got[0] < Cycles / 100 * Share / 65536 * 97) $fatal(1, "%m: router 0 got %0d beats", got[0]);
        if (losses < 100) $fatal(1, "%m: router 0 lost %0d packets", losses);
      end
      if (done_o) begin
        for (int i = 0; i < int'(Routers); i++)
          if (got[i] != known[i]) $fatal(1, "%m: router %0d misses %0d beats", i, known[i] - got[i]);
      end
    end
  end
endmodule
