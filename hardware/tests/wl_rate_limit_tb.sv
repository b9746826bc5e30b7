// Test bench of wl_rate_limit: packets pass as a whole and in order, no more of them than the rate
// allows in any window, and no fewer than it guarantees; under back-pressure and with idle cycles.
// Over rates, bursts and packet lengths.
module wl_rate_limit_tb;
  localparam int unsigned Cases = 5;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  limit_case #(
      .Share(65536), .Burst(1), .MaxBeats(1)
  ) i_open (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  limit_case #(
      .Share(13107), .Burst(1), .MaxBeats(1)
  ) i_fifth (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  limit_case #(
      .Share(13107), .Burst(16), .MaxBeats(24)
  ) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  limit_case #(
      .Share(50000), .Burst(4), .MaxBeats(3)
  ) i_most (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  limit_case #(
      .Share(655), .Burst(2), .MaxBeats(2)
  ) i_trickle (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
endmodule

module limit_case #(
    parameter int unsigned Share = 65536,
    parameter int unsigned Burst = 1,
    parameter int unsigned MaxBeats = 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Cycles = 12000;
  localparam int unsigned Phase = Cycles / 3;

  logic in_valid, in_ready, in_last, out_valid, out_ready, out_last;
  logic [31:0] in_data, out_data;
  wl_rate_limit #(.Width(32), .Share(Share), .Burst(Burst), .MaxBeats(MaxBeats)) i_dut (
      .clk_i, .rst_i, .in_valid_i(in_valid), .in_ready_o(in_ready), .in_last_i(in_last),
      .in_data_i(in_data), .out_valid_o(out_valid),
      .out_ready_i(out_ready), .out_last_o(out_last), .out_data_o(out_data)
  );

  // Beats are numbered; the length of a packet follows from the number of its first beat.
  int unsigned cycle, left, expected, passed[Cycles+1], most;
  logic held;
  logic [32:0] held_beat;
  assign in_last = left == 1;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      in_valid <= 1'b0;
      in_data <= 0;
      left <= 1;
      expected = 0;
      held <= 1'b0;
      out_ready <= 1'b0;
      done_o <= 1'b0;
    end else if (cycle < Cycles) begin
      cycle <= cycle + 1;
      if (held && (!out_valid || {out_last, out_data} !== held_beat)) begin
        $fatal(1, "%m: a beat that was offered changes");
      end
      held <= out_valid && !out_ready;
      held_beat <= {out_last, out_data};
      if ((in_valid && in_ready) !== (out_valid && out_ready)) begin
        $fatal(1, "%m: a beat is lost or made");
      end
      passed[cycle+1] = passed[cycle] + 32'(out_valid && out_ready);
      if (out_valid && out_ready) begin
        if (out_data !== expected) $fatal(1, "%m: beat %0d comes for %0d", out_data, expected);
        expected = expected + 1;
      end
      // The source always has a beat in the first phase, and pauses after it. The sink is always
      // ready in the first phase, and seldom in the second.
      if (in_valid && in_ready) begin
        in_data <= in_data + 1;
        left <= in_last ? 1 + $urandom() % MaxBeats : left - 1;
      end
      in_valid <= in_valid && !in_ready || cycle < Phase || !tb_pkg::chance(100);
      out_ready <= cycle < Phase || (cycle < 2 * Phase ? tb_pkg::chance(60) : !tb_pkg::chance(100));
    end else begin
      if (!done_o) begin
        // The limit, over windows of many lengths that begin at every tenth cycle.
        for (int unsigned from = 0; from < Cycles; from += 10) begin
          for (int unsigned n = 1; from + n <= Cycles; n = n * 3 + 1) begin
            most = Burst + MaxBeats - 1 + n * Share / 65536 + 1;
            if (passed[from+n] - passed[from] > most)
              $fatal(1, "%m: %0d beats in %0d cycles from %0d", passed[from+n] - passed[from], n,
                  from);
          end
        end
        // The guarantee, while the source always has a beat and the sink is ready.
        if (passed[Phase] + 3 < (Phase - 2) * Share / 65536) begin
          $fatal(1, "%m: only %0d beats in %0d cycles", passed[Phase], Phase);
        end
      end
      done_o <= 1'b1;
    end
  end
  initial passed[0] = 0;
endmodule
