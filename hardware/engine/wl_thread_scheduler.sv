`include "wl_reset.svh"

// Chooses the thread that runs next in a multithreaded engine.
//
// Contract
//   A grant goes only to a thread that is ready, at most one a cycle, and always takes effect.
//   Policy 0, strict round robin: thread n has every Threads-th cycle, ready or not; the cycles of
//   threads that wait are lost.
//   Policy 1, ready to execute: work conserving (a thread is granted if any is ready) and fair: a
//   thread that stays ready is granted after at most Threads - 1 grants to others.
// Timing: combinational from `ready_i` through a tree of two-input nodes, whose depth is the
// logarithm of Threads (5 for 32).
// Cost of policy 1: about four LUTs for each thread; of policy 0, less than one.
module wl_thread_scheduler #(
    parameter int unsigned Threads = 4,  // threads to choose from; 1 is a wire
    parameter int unsigned Policy = 1,   // 0: strict round robin, 1: ready to execute
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads)
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic [   Threads-1:0] ready_i,
    output logic                  grant_valid_o,  // a thread is granted
    output logic [ThreadBits-1:0] grant_thread_o  // its number; valid only with a grant
);
  if (Threads < 1) begin : g_illegal_threads
    $fatal(1, "wl_thread_scheduler: Threads must be at least one");
  end
  if (Policy > 1) begin : g_illegal_policy
    $fatal(1, "wl_thread_scheduler: Policy must be 0 (strict round robin) or 1 (ready to execute)");
  end

  if (Threads == 1) begin : g_wire
    logic unused;
    assign unused = &{clk_i, rst_i};
    assign grant_valid_o = ready_i[0];
    assign grant_thread_o = '0;
  end else if (Policy == 0) begin : g_strict
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) grant_thread_o <= '0;
      else if (grant_thread_o == ThreadBits'(Threads - 1)) grant_thread_o <= '0;
      else grant_thread_o <= grant_thread_o + 1'b1;
    end
    assign grant_valid_o = ready_i[grant_thread_o];
  end else begin : g_ready
    localparam int unsigned Leaves = 2 ** ThreadBits;

    // The thread that was granted last. Threads with a higher number come first, then the others;
    // within each group the lowest comes first.
    logic [ThreadBits-1:0] last;
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) last <= '0;
      else if (grant_valid_o) last <= grant_thread_o;
    end

    // The tree: node n has the children 2n and 2n + 1, the root is 1, and thread t is leaf Leaves +
    // t. The winner of a node is that of the left child, unless only the right child has a ready
    // thread above the last one, or neither has one and only the right child has a ready thread.
    logic [2*Leaves-1:1] any_above, any_ready;
    logic [2*Leaves-1:1][ThreadBits-1:0] winner;
    always_comb begin
      for (int unsigned t = 0; t < Leaves; t++) begin
        any_ready[Leaves+t] = t < Threads && ready_i[t<Threads?t : 0];
        any_above[Leaves+t] = any_ready[Leaves+t] && ThreadBits'(t) > last;
        winner[Leaves+t] = ThreadBits'(t);
      end
      for (int unsigned n = Leaves - 1; n > 0; n--) begin
        logic right;
        right = !any_above[2*n] && (any_above[2*n+1] || !any_ready[2*n]);
        any_ready[n] = any_ready[2*n] || any_ready[2*n+1];
        any_above[n] = any_above[2*n] || any_above[2*n+1];
        winner[n] = right ? winner[2*n+1] : winner[2*n];
      end
    end
    assign grant_valid_o  = any_ready[1];
    assign grant_thread_o = winner[1];
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Ready_A : assert (!grant_valid_o || ready_i[grant_thread_o]);
      Conserving_A : assert (Policy == 0 || grant_valid_o == (ready_i != '0));
    end
  end
`endif
endmodule
