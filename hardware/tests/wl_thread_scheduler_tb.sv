// Test bench of wl_thread_scheduler: grants only to ready threads, work conserving, fair, over
// numbers of threads and policies.
module wl_thread_scheduler_tb;
  localparam int unsigned Cases = 10;
  localparam bit [Cases*32-1:0] Threads =
      {32'd1, 32'd2, 32'd3, 32'd4, 32'd7, 32'd8, 32'd32, 32'd1, 32'd4, 32'd5};
  localparam bit [Cases*32-1:0] Policies =
      {32'd1, 32'd1, 32'd1, 32'd1, 32'd1, 32'd1, 32'd1, 32'd0, 32'd0, 32'd0};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    scheduler_case #(
        .Threads(Threads[32*i+:32]), .Policy(Policies[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

// Threads pause after a grant, seldom at first and mostly at the end.
module scheduler_case #(
    parameter int unsigned Threads = 4,
    parameter int unsigned Policy = 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Cycles = 4000;
  logic [Threads-1:0] ready;
  logic valid;
  logic [wl_pkg::bits(Threads)-1:0] thread;
  wl_thread_scheduler #(.Threads(Threads), .Policy(Policy)) i_dut (
      .clk_i, .rst_i, .ready_i(ready), .grant_valid_o(valid), .grant_thread_o(thread)
  );

  int unsigned cycle, turn;
  int unsigned others[Threads], granted[Threads];
  assign done_o = cycle >= Cycles;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      turn <= 0;
      ready <= '0;
      for (int unsigned t = 0; t < Threads; t++) {others[t], granted[t]} = '0;
    end else begin
      cycle <= cycle + 1;
      turn  <= (turn + 1) % Threads;
      if (valid && (32'(thread) >= Threads || !ready[thread])) begin
        $fatal(1, "%m: grant to %0d, ready are %b", thread, ready);
      end
      if (Policy === 1 && valid !== (ready !== '0)) begin
        $fatal(1, "%m: valid is %b, ready are %b", valid, ready);
      end
      if (Policy === 0 && valid !== ready[turn]) begin
        $fatal(1, "%m: valid is %b, ready are %b, the turn is %0d's", valid, ready, turn);
      end
      if (Policy === 0 && valid && 32'(thread) !== turn) begin
        $fatal(1, "%m: grant to %0d, the turn is %0d's", thread, turn);
      end
      for (int unsigned t = 0; t < Threads; t++) begin
        if (valid && 32'(thread) == t) begin
          granted[t] = granted[t] + 1;
          others[t] = 0;
          ready[t] <= tb_pkg::chance(256 - cycle * 256 / Cycles);
        end else if (ready[t]) begin
          if (valid) others[t] = others[t] + 1;
          if (others[t] >= Threads) begin
            $fatal(1, "%m: thread %0d sees %0d grants to others", t, others[t]);
          end
        end else begin
          ready[t] <= tb_pkg::chance(32);
        end
        if (done_o && granted[t] < Cycles / Threads / 8) begin
          $fatal(1, "%m: thread %0d had %0d grants", t, granted[t]);
        end
      end
    end
  end
endmodule
