// Proof of wl_arbiter_fixed, for any requests: in addition to the module's own assertions (one
// grant, only to a requester, work conserving), a new grant goes to the lowest request, and a grant
// that was promised stays. Unbounded, by induction.
module wl_arbiter_fixed_proof #(
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
  wl_arbiter_fixed #(.Inputs(Inputs), .Lock(Lock)) i_dut (
      .clk_i, .rst_i, .request_i, .taken_i, .last_i, .grant_o(grant), .valid_o(valid)
  );

  // No packet is under way: nothing was granted since the last grant that was taken with `last`.
  logic idle;
  logic was_promised;
  logic [Inputs-1:0] was_grant;
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);

    if (rst_i || !Lock) idle <= 1'b1;
    else if (valid) idle <= taken_i && last_i;
    was_promised <= !rst_i && Lock && valid && !taken_i;
    was_grant <= grant;
    if (!rst_i) begin
      Lowest_A : assert (!idle || grant == (request_i & -request_i));
      Promised_A : assert (!was_promised || grant == (was_grant & request_i));
    end
  end

  if (Lock && Inputs > 1) begin : g_invariants
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Idle_A : assert (idle == !i_dut.g_lock.i_lock.locked);
        Owner_A : assert (!was_promised || i_dut.g_lock.i_lock.owner == was_grant);
      end
    end
  end
endmodule
