// Proof of wl_thread_scheduler, for any sequence of ready threads: a grant goes to one thread that
// is ready, and no thread starves. Ready to execute: a thread that stays ready sees at most
// Threads - 1 grants to others. Strict round robin: a thread that stays ready is granted within
// Threads cycles. Unbounded, by induction.
module wl_thread_scheduler_proof #(
    parameter int unsigned Threads = 4,
    parameter int unsigned Policy = 1
) (
    input logic clk_i,
    input logic rst_i,
    input logic [Threads-1:0] ready_i
);
  localparam int unsigned ThreadBits = wl_pkg::bits(Threads);
  logic valid;
  logic [ThreadBits-1:0] thread;
  wl_thread_scheduler #(.Threads(Threads), .Policy(Policy)) i_dut (
      .clk_i, .rst_i, .ready_i, .grant_valid_o(valid), .grant_thread_o(thread)
  );

  // An arbitrary thread: a register that never changes has any value.
  logic [ThreadBits-1:0] watched;
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    watched <= watched;
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    Watched_M : assume (32'(watched) < Threads);
  end

  logic waits;
  assign waits = ready_i[watched] && !(valid && thread == watched);

  // Returns the number of threads that come before `to` if the search begins after `from`.
  function automatic logic [7:0] between(logic [ThreadBits-1:0] from, logic [ThreadBits-1:0] to);
    return 8'((32'(to) + 2 * Threads - 32'(from) - 1) % Threads);
  endfunction

  // Grants to others (or cycles, if the turn advances in every cycle) since the watched thread
  // began to wait.
  logic [7:0] others;
  always_ff @(posedge clk_i) begin
    if (rst_i || !waits) others <= '0;
    else if (valid || Policy == 0) others <= others + 1'b1;

    if (!rst_i) begin
      Grant_A : assert (!valid || (32'(thread) < Threads && ready_i[thread]));
      Fair_A : assert (32'(others) < Threads);
    end
  end

  // Invariants for the induction: the last thread determines how many may still come before the
  // watched one.
  if (Threads > 1) begin : g_invariants
    logic [ThreadBits-1:0] last;
    if (Policy == 0) begin : g_strict
      assign last = thread == '0 ? ThreadBits'(Threads - 1) : thread - 1'b1;
    end else begin : g_ready
      assign last = i_dut.g_ready.last;
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Last_A : assert (32'(last) < Threads);
        Turn_A : assert (32'(others) + 32'(between(last, watched)) < Threads);
      end
    end
  end
endmodule
