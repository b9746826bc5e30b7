// Proof of wl_arbiter_fair, for any requests: in addition to the module's own assertions, an input
// that keeps requesting sees at most Inputs - 1 packets of others, and a grant that was promised
// stays. Unbounded, by induction.
module wl_arbiter_fair_proof #(
    parameter int unsigned Inputs = 3,
    parameter bit Lock = 1'b1
) (
    input logic clk_i,
    input logic rst_i,
    input logic [Inputs-1:0] request_i,
    input logic taken_i,
    input logic last_i
);
  logic [Inputs-1:0] grant;
  logic valid;
  wl_arbiter_fair #(.Inputs(Inputs), .Lock(Lock)) i_dut (
      .clk_i, .rst_i, .request_i, .taken_i, .last_i, .grant_o(grant), .valid_o(valid)
  );

  // An arbitrary input: a register that never changes has any value.
  logic [7:0] watched;
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    watched <= watched;
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    Watched_M : assume (32'(watched) < Inputs);
    SingleBeats_M : assume (Lock || last_i);
  end

  logic waits, served;
  assign waits  = request_i[watched[$clog2(Inputs+1)-1:0]] && !grant[watched[$clog2(Inputs+1)-1:0]];
  assign served = valid && taken_i && last_i;

  // Packets of others since the watched input began to wait.
  logic [7:0] others;
  logic was_promised;
  logic [Inputs-1:0] was_grant;
  always_ff @(posedge clk_i) begin
    if (rst_i || !waits) others <= '0;
    else if (served) others <= others + 1'b1;
    was_promised <= !rst_i && Lock && valid && !taken_i;
    was_grant <= grant;

    if (!rst_i) begin
      Fair_A : assert (32'(others) < Inputs);
      Promised_A : assert (!was_promised || grant == (was_grant & request_i));
    end
  end

  // Invariants for the induction: the turn is a row of ones at the upper end, and determines how
  // many inputs may still come before the watched one.
  if (Inputs > 1) begin : g_invariants
    logic [7:0] last_served;
    logic [Inputs-1:1] above, next_above;
    assign above = i_dut.g_turn.above;
    assign next_above = (Inputs - 1)'({1'b1, above} >> 1);
    assign last_served = 8'(Inputs - 1 - $countones(above));
    function automatic logic [7:0] ahead(logic [7:0] from, logic [7:0] to);
      return 8'((32'(to) + 2 * Inputs - 32'(from) - 1) % Inputs);
    endfunction
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Row_A : assert ((above & ~next_above) == '0);
        Turn_A : assert (32'(others) + 32'(ahead(last_served, watched)) < Inputs);
      end
    end
    if (Lock) begin : g_lock
      logic [7:0] owner;
      always_comb begin
        owner = '0;
        for (int unsigned i = 0; i < Inputs; i++) begin
          if (i_dut.g_turn.g_lock.i_lock.owner[i]) owner = 8'(i);
        end
      end
      always_ff @(posedge clk_i) begin
        if (!rst_i && i_dut.g_turn.g_lock.i_lock.locked) begin
          Owner_A : assert (others == '0 || owner == watched
              || ahead(owner, watched) < ahead(last_served, watched));
        end
      end
    end
  end
endmodule
