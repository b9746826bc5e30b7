// Test bench of wl_virtual_ingress: router 0 sends several times its share, all that the lane has
// left; the others send nearly their shares, and each processor accepts little more than the shares
// of its routers. The others lose nothing, every router's beats reach its processor in order, and
// router 0 gets its share. Packets without a router are reported. Over numbers of routers and
// processors, shares and packet lengths.
module wl_virtual_ingress_tb;
  localparam int unsigned Cases = 5;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  ingress_case #(
      .Routers(2), .Share(19660), .MaxBeats(1), .Ready(170)
  ) i_two (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  ingress_case #(
      .Routers(3), .Share(13107), .MaxBeats(4), .Ready(170)
  ) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  ingress_case #(
      .Routers(5), .Share(11000), .MaxBeats(2), .Ready(228)
  ) i_five (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  ingress_case #(
      .Routers(10), .Share(6000), .MaxBeats(3), .Ready(250)
  ) i_ten (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  ingress_case #(
      .Routers(6), .Processors(3), .Counts({9'd1, 9'd3, 9'd2}), .Share(8000), .MaxBeats(3),
      .Ready(120)
  ) i_processors (
      .clk_i(clk), .rst_i(rst), .done_o(done[4])
  );
endmodule

module ingress_case #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Processors = 1,
    parameter logic [Processors*9-1:0] Counts = (Processors * 9)'(Routers),
    parameter int unsigned Share = 13107,  // share of each router, in 65536ths of a beat a cycle
    parameter int unsigned MaxBeats = 4,
    parameter int unsigned Ready = 256  // cycles of 256 in which an output is ready
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Width = 48;
  localparam int unsigned Cycles = 20000;
  localparam int unsigned Beats = 64;

  logic valid, last, unknown, cut;
  logic [7:0] tag;
  logic [Width-1:0] data;
  logic [Processors-1:0] out_valid, out_ready, out_last;
  logic [Processors*8-1:0] out_place;
  logic [Processors*Width-1:0] out_data;
  logic [Routers-1:0] lost;
  // Router i has the tag 200 - 7 * i.
  function automatic logic [Routers*8-1:0] all_tags();
    for (int unsigned i = 0; i < Routers; i++) all_tags[i*8+:8] = 8'(200 - 7 * i);
  endfunction
  localparam logic [Routers*8-1:0] Tags = all_tags();
  wl_virtual_ingress #(
      .Routers(Routers), .Processors(Processors), .Counts(Counts), .Tags(Tags), .Width(Width),
      .Beats(Beats), .MaxBeats(MaxBeats),
      .Burst(4), .Shares({Routers{17'(Share)}})
  ) i_dut (
      .clk_i, .rst_i, .valid_i(valid), .tag_i(tag), .last_i(last), .data_i(data),
      .out_valid_o(out_valid), .out_ready_i(out_ready),
      .out_place_o(out_place), .out_last_o(out_last), .out_data_o(out_data), .lost_o(lost),
      .unknown_o(unknown), .cut_o(cut)
  );

  // The expected beats of each router, how many are known, and how many have arrived. The credit
  // determines when a router that keeps to its share sends again.
  logic [Width:0] awaited[Routers][Cycles];
  int unsigned known[Routers], got[Routers], losses, cycle, left, sender, strangers, first_of, from;
  int credit[Routers];
  logic first, kept, strange;
  initial valid = 1'b0;  // a beat before reset would begin a packet that reset cuts
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      valid <= 1'b0;
      out_ready <= '0;
      strange = 1'b0;
      strangers = 0;
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
        if (unknown !== (strange && first) || cut) begin
          $fatal(1, "%m: unknown %b, cut %b", unknown, cut);
        end
        if (strange) kept = 1'b0;
        if (strange && first) strangers = strangers + 1;
        if ((lost >> 1) !== '0) begin
          $fatal(1, "%m: routers %b lose a packet to router 0's overload", lost);
        end
        if (lost[0]) losses = losses + 1;
        if (kept) begin
          awaited[sender][known[sender]] = {last, data};
          known[sender] = known[sender] + 1;
        end
        first = last;
      end
      // The next beat: of the packet under way, or of a router that has credit for the longest
      // packet, or of router 0.
      for (int i = 1; i < int'(Routers); i++) credit[i] = credit[i] + int'(Share * 15 / 16);
      if (left == 0) begin
        sender = 0;
        for (int i = 1; i < int'(Routers); i++) if (credit[i] >= int'(MaxBeats * 65536)) sender = i;
        left = 1 + $urandom() % MaxBeats;
        credit[sender] = credit[sender] - int'(left * 65536);
        strange = sender == 0 && tb_pkg::chance(8);
      end
      valid <= cycle < Cycles || !first && valid && !last;
      tag <= strange ? 8'd201 : Tags[sender*8+:8];
      data <= {16'(sender), 32'(cycle)};
      last <= left == 1;
      left = left - 1;
      if (cycle >= Cycles && first) left = 0;

      first_of = 0;
      for (int p = 0; p < int'(Processors); p++) begin
        out_ready[p] <= tb_pkg::chance(Ready);
        if (out_valid[p] && out_ready[p]) begin
          if (out_place[p*8+:8] >= Counts[p*9+:9]) begin
            $fatal(1, "%m: processor %0d has no router %0d", p, out_place[p*8+:8]);
          end
          from = first_of + 32'(out_place[p*8+:8]);
          if (got[from] === known[from]) $fatal(1, "%m: router %0d gets what was not for it", from);
          if (awaited[from][got[from]] !== {out_last[p], out_data[p*Width+:Width]}) begin
            $fatal(1, "%m: router %0d gets another beat", from);
          end
          got[from] = got[from] + 1;
        end
        first_of = first_of + 32'(Counts[p*9+:9]);
      end
      if (cycle == Cycles) begin
        // The overloaded router still gets its share.
        if (got[0] < Cycles / 100 * Share / 65536 * 97) begin
          $fatal(1, "%m: router 0 got %0d beats", got[0]);
        end
        if (losses < 100) $fatal(1, "%m: router 0 lost %0d packets", losses);
        if (strangers < 20) $fatal(1, "%m: %0d packets of no router", strangers);
      end
      if (done_o) begin
        for (int i = 0; i < int'(Routers); i++)
          if (got[i] !== known[i]) begin
            $fatal(1, "%m: router %0d misses %0d beats", i, known[i] - got[i]);
          end
      end
    end
  end
endmodule
