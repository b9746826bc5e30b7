// Arbiter with fixed priorities: the lowest number wins. It is unfair: input 0 can starve all
// others.
//
// Contract
//   At most one grant is active, and only an input that requests gets one.
//   Work conserving: if any input requests, one is granted, unless a packet is under way (Lock)
//   whose owner has no beat ready.
//   With Lock a grant stays until it is taken with `last_i`: packets are not interleaved, and a
//   `valid` that is derived from the grant stays stable. Without Lock the arbiter decides anew in
//   every cycle: use this in front of a register that is written only when the grant is taken.
// Timing: combinational from `request_i` to `grant_o`; the depth grows with the logarithm of
// Inputs.
//
// Parameters
//   Inputs   requesters; 1 is a wire
//   Lock     1: a grant is held for a whole packet, see above
module wl_arbiter_fixed #(
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
    $fatal(1, "wl_arbiter_fixed: Inputs must be 1 or more");
  end

  // Returns the lowest bit that is set.
  function automatic logic [Inputs-1:0] lowest(logic [Inputs-1:0] set);
    logic below;
    below = 1'b0;
    for (int unsigned i = 0; i < Inputs; i++) begin
      lowest[i] = set[i] && !below;
      below = below || set[i];
    end
  endfunction

  logic [Inputs-1:0] choice;
  assign choice = lowest(request_i);

  if (Lock && Inputs > 1) begin : g_lock
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
    logic unused;
    assign unused  = &{clk_i, rst_i, taken_i, last_i};
    assign grant_o = choice;
    assign valid_o = |request_i;
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Conserving_A : assert ((choice != '0) == (request_i != '0));
      OneGrant_A : assert ($onehot0(grant_o) && (grant_o & ~request_i) == '0);
      Valid_A : assert (valid_o == (grant_o != '0));
    end
  end
`endif

endmodule
