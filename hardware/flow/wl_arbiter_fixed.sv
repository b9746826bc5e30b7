// Arbiter with fixed priorities: the lowest number wins. Unfair: input 0 can keep all others out.
//
// Contract
//   At most one grant; a grant only to who requests.
//   Work conserving: if anyone requests, someone is granted, unless a packet is under way (Lock) whose owner has none ready.
//   With Lock a grant stays until it is taken with `last_i`: packets are not mixed, and what a `valid` made of the grant
//   has promised does not change. Without Lock every cycle decides anew: for use before a register that is written only
//   when the grant is taken.
// Timing: combinational from `request_i` to `grant_o`; the depth grows with the logarithm of Inputs.
//
// Parameters
//   Inputs   who can ask; 1 is a wire
//   Lock     1: see above
module wl_arbiter_fixed #(
    parameter int unsigned Inputs = 2,
    parameter bit Lock = 1'b1
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic [Inputs-1:0] request_i,
    input  logic              taken_i,   // what is granted happens in this cycle
    input  logic              last_i,    // and is the last beat of its packet
    output logic [Inputs-1:0] grant_o,   // one hot, or zero
    output logic              valid_o    // there is a grant
);

  if (Inputs < 1) begin : g_illegal
    $fatal(1, "wl_arbiter_fixed: Inputs must be 1 or more");
  end

  // The lowest bit that is set.
  function automatic logic [Inputs-1:0] lowest(logic [Inputs-1:0] set);
    logic below;
    below = 1'b0;
    for (int unsigned i = 0; i < Inputs; i++) begin
      lowest[i] = set[i] && !below;
      below = below || set[i];
    end
  endfunction

  if (Lock && Inputs > 1) begin : g_lock
    logic locked;
    logic [Inputs-1:0] owner;
    assign grant_o = locked ? owner & request_i : lowest(request_i);
    assign valid_o = |grant_o;

    always_ff @(posedge clk_i) begin
      if (rst_i) locked <= 1'b0;
      else if (valid_o) locked <= !(taken_i && last_i);
      if (!locked) owner <= grant_o;
    end

`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Owner_A : assert (!locked || $onehot(owner));
        Conserving_A : assert (locked || valid_o == (request_i != '0));
      end
    end
`endif
  end else begin : g_free
    logic unused;
    assign unused  = &{clk_i, rst_i, taken_i, last_i};
    assign grant_o = lowest(request_i);
    assign valid_o = |request_i;
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
