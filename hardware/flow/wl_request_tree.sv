`include "wl_reset.svh"

// Merges the requests of several requesters into one stream: one level of the path from engines to
// an offload. The number of the requester is added above the tag; `wl_reply_spread` removes it on
// the return path.
//
// The next requester is chosen one cycle ahead and stored in a register, so that a register selects
// the input of the request multiplexer. That makes the multiplexer a third smaller than one after
// the arbiter, and keeps it off the critical path. The choice is a prediction: if the chosen
// requester is idle, one cycle is lost.
//
// Contract
//   Data and order: each request that enters leaves once, a requester's requests in order; an
//   output that is not taken stays stable.
//   Throughput: one request a cycle while a requester that was active stays active. Latency: two
//   cycles, or one for the requester that was served last.
//   Fairness: Fair = 1: a requester sees at most Inputs requests of others before its own; Fair =
//   0: low numbers first, but no requester twice in a row while others request.
// Timing: outputs are registers. `in_ready_o` depends on registers and on `out_ready_i`; this path
// runs through a chain of trees, with one LUT level for each tree.
// Cost: one register of the output's width, a multiplexer of (TagBits + DataBits) * Inputs, and the
// arbiter.
//
// Parameters
//   Inputs     requesters; with one the number is a single zero bit
//   TagBits    bits of the requesters' tags
//   DataBits   bits of a request
//   Fair       1: round robin, 0: fixed priorities
module wl_request_tree #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned TagBits = 2,
    parameter int unsigned DataBits = 32,
    parameter bit Fair = 1'b1,
    localparam int unsigned IndexBits = wl_pkg::bits(Inputs)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [Inputs-1:0]               in_valid_i,
    output logic [Inputs-1:0]               in_ready_o,
    input  logic [Inputs-1:0][ TagBits-1:0] in_tag_i,
    input  logic [Inputs-1:0][DataBits-1:0] in_data_i,

    output logic                         out_valid_o,
    input  logic                         out_ready_i,
    output logic [IndexBits+TagBits-1:0] out_tag_o,    // {requester, tag}
    output logic [         DataBits-1:0] out_data_o
);

  if (Inputs < 1 || TagBits < 1 || DataBits < 1) begin : g_illegal
    $fatal(1, "wl_request_tree: Inputs, TagBits and DataBits must be 1 or more");
  end

  logic [IndexBits-1:0] pick, choice;  // the input that is served, and the next one
  logic [Inputs-1:0] picked, grant;
  logic some, asks, free;
  logic [TagBits-1:0] tag;
  logic [DataBits-1:0] data;
  always_comb begin
    for (int unsigned i = 0; i < Inputs; i++) picked[i] = pick == IndexBits'(i);
  end
  assign asks = |(picked & in_valid_i);
  assign free = !out_valid_o || out_ready_i;
  assign in_ready_o = picked & {Inputs{free}};

  // If the picked requester requests but is not accepted, the choice waits: whether it will request
  // again is not known.
  logic choose;
  assign choose = free || !asks;

  if (Fair) begin : g_fair
    wl_arbiter_fair #(
        .Inputs(Inputs),
        .Lock  (1'b0)
    ) i_arbiter (
        .clk_i,
        .rst_i,
        .request_i(in_valid_i),  // the picked input has the lowest priority
        .taken_i(choose),
        .last_i(1'b1),
        .grant_o(grant),
        .valid_o(some)
    );
  end else begin : g_fixed
    wl_arbiter_fixed #(
        .Inputs(Inputs),
        .Lock  (1'b0)
    ) i_arbiter (
        .clk_i,
        .rst_i,
        .request_i(in_valid_i & ~picked),
        .taken_i(choose),
        .last_i(1'b1),
        .grant_o(grant),
        .valid_o(some)
    );
  end

  wl_encode #(
      .Inputs(Inputs)
  ) i_encode (
      .one_hot_i(grant),
      .index_o  (choice)
  );
  wl_select #(
      .Inputs(Inputs),
      .Width (TagBits)
  ) i_tag (
      .index_i(pick),
      .data_i (in_tag_i),
      .data_o (tag)
  );
  wl_select #(
      .Inputs(Inputs),
      .Width (DataBits)
  ) i_data (
      .index_i(pick),
      .data_i (in_data_i),
      .data_o (data)
  );

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      out_valid_o <= 1'b0;
      pick <= '0;
    end else begin
      if (free) out_valid_o <= asks;
      if (choose && some) pick <= choice;
    end
  end
  always_ff @(posedge clk_i) begin
    if (free) begin
      out_tag_o  <= {pick, tag};
      out_data_o <= data;
    end
  end

`ifdef FORMAL
  logic was_stalled;
  logic [IndexBits+TagBits+DataBits-1:0] was;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was <= {out_tag_o, out_data_o};
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (out_valid_o && {out_tag_o, out_data_o} == was));
      Pick_A : assert (32'(pick) < Inputs);
      Asker_A : assert (!out_valid_o || 32'(out_tag_o[TagBits+:IndexBits]) < Inputs);
    end
  end
`endif

endmodule
