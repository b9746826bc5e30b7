// Test bench of wl_reply_store: each thread reads its own last reply, over threads and storage.
module wl_reply_store_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Threads = {32'd1, 32'd2, 32'd8, 32'd1, 32'd5, 32'd32};
  localparam bit [Cases*32-1:0] Storages = {32'd0, 32'd0, 32'd0, 32'd1, 32'd1, 32'd1};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    reply_store_case #(.Threads(Threads[32*i+:32]), .Storage(Storages[32*i+:32])) i_case (
        .clk_i(clk), .rst_i(rst), .done_o(done[i])
    );
  end
endmodule

module reply_store_case #(
    parameter int unsigned Threads = 4,
    parameter int unsigned Storage = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned ThreadBits = wl_pkg::bits(Threads);
  logic reply_valid;
  logic [ThreadBits-1:0] reply_thread, read_thread, read_thread_before;
  logic [39:0] reply, read;
  wl_reply_store #(.Width(40), .Threads(Threads), .Storage(Storage)) i_dut (
      .clk_i, .reply_valid_i(reply_valid), .reply_thread_i(reply_thread), .reply_data_i(reply),
      .read_thread_i(read_thread),
      .read_data_o(read)
  );

  int unsigned cycle, seen;
  logic [Threads-1:0] known;
  logic [39:0] last[Threads];
  logic check;
  logic [39:0] expected;
  assign done_o = cycle >= 3000;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      seen  <= 0;
      known <= '0;
      check <= 1'b0;
      reply_valid <= 1'b0;
      read_thread <= '0;
    end else begin
      cycle <= cycle + 1;
      if (reply_valid) begin
        last[reply_thread]  <= reply;
        known[reply_thread] <= 1'b1;
      end
      reply_valid <= tb_pkg::chance(160);
      reply_thread <= ThreadBits'($urandom() % Threads);
      reply <= {$urandom(), 8'(cycle)};
      read_thread <= ThreadBits'($urandom() % Threads);

      // A reply that arrives in the cycle of the address need not be seen.
      check <= known[read_thread] && !(reply_valid && reply_thread == read_thread);
      expected <= last[read_thread];
      read_thread_before <= read_thread;
      if (check) seen <= seen + 1;
      if (check && read !== expected) begin
        $fatal(1, "%m: thread %0d reads %h, not %h", read_thread_before, read, expected);
      end
      if (done_o && seen < 500) $fatal(1, "%m: only %0d replies were read", seen);
    end
  end
endmodule
