`include "wl_reset.svh"

// Fair arbiter: round robin. The input that was served last has the lowest priority.
//
// Contract
//   At most one grant is active, and only an input that requests gets one.
//   Work conserving: if any input requests, one is granted, unless a packet is under way (Lock)
//   whose owner has no beat ready.
//   Fair: an input that keeps requesting sees at most Inputs - 1 packets (beats, without Lock) of
//   others before its own.
//   With Lock a grant stays until it is taken with `last_i`: packets are not interleaved, and a
//   `valid` that is derived from the grant stays stable. Without Lock the arbiter decides anew in
//   every cycle: use this in front of a register that is written only when the grant is taken, and
//   tie `last_i` to 1.
// Timing: combinational from `request_i` to `grant_o`; the depth grows with the logarithm of
// Inputs, one level more than wl_arbiter_fixed. Cost: Inputs - 1 flip-flops for the round robin,
// Inputs + 1 for the lock.
//
// Parameters
//   Inputs   requesters; 1 is a wire
//   Lock     1: a grant is held for a whole packet, see above
module wl_arbiter_fair #(
    parameter int unsigned Inputs = 2,
    parameter bit Lock = 1'b1
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic [Inputs-1:0] request_i,
    input  logic              taken_i,   // the grant takes effect in this cycle
    input  logic              last_i,    // the beat is the last of its packet
    output logic [Inputs-1:0] grant_o,   // one-hot, or zero
    output logic              valid_o    // an input is granted
);

  if (Inputs < 1) begin : g_illegal
    $fatal(1, "wl_arbiter_fair: Inputs must be 1 or more");
  end

  if (Inputs == 1) begin : g_wire
    logic unused;
    assign unused  = &{clk_i, rst_i, taken_i, last_i};
    assign grant_o = request_i;
    assign valid_o = request_i[0];
  end else begin : g_turn
    // Bit i says that input i has a higher number than the input served last, and so comes first.
    // The ones are at the upper end.
    logic [Inputs-1:1] above;

    // The lowest request among those above, else the lowest of all.
    logic [Inputs-1:0] choice;
    always_comb begin
      logic below_above, below_all, any_above;
      any_above = |(request_i[Inputs-1:1] & above);
      below_above = 1'b0;
      below_all = 1'b0;
      for (int unsigned i = 0; i < Inputs; i++) begin
        logic is_above;
        is_above = i != 0 && above[i==0?1 : i];
        choice[i] = request_i[i] && (any_above ? is_above && !below_above : !below_all);
        below_above = below_above || (request_i[i] && is_above);
        below_all = below_all || request_i[i];
      end
    end

    // If the grant is taken, the inputs above it come first next.
    logic [Inputs-1:1] above_grant;
    always_comb begin
      logic passed;
      passed = 1'b0;
      for (int unsigned i = 1; i < Inputs; i++) begin
        passed = passed || grant_o[i-1];
        above_grant[i] = passed;
      end
    end

    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) above <= '0;
      else if (valid_o && taken_i && last_i) above <= above_grant;
    end

`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) Conserving_A : assert ((choice != '0) == (request_i != '0));
    end
`endif

    if (Lock) begin : g_lock
      wl_grant_lock #(
          .Inputs(Inputs)
      ) i_lock (
          .clk_i,
          .rst_i,
          .request_i,
          .choice_i(choice),
          .taken_i,
          .last_i,
          .grant_o,
          .valid_o
      );
    end else begin : g_free
      assign grant_o = choice;
      assign valid_o = |request_i;
    end
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      OneGrant_A : assert ($onehot0(grant_o) && (grant_o & ~request_i) == '0);
      Valid_A : assert (valid_o == (grant_o != '0));
    end
  end
`endif

endmodule
