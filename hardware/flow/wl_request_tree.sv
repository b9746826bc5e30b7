// Requests of several askers, one stream: one level of the way from engines to an offload. The number of the asker is put
// above the tag, and `wl_reply_spread` takes it off again on the way back.
//
// Contract
//   Data and order: what goes in comes out once, an asker's requests in its order; an output that is not taken stays as it is.
//   Throughput: one request a cycle, however few askers have one. Latency: one cycle.
//   Fairness: Fair = 1: an asker waits for at most Inputs - 1 requests of others; Fair = 0: low numbers first.
// Timing: outputs are registers. `in_ready_o` depends on `in_valid_i` and on `out_ready_i`, which a chain of trees passes
// through: two LUT levels for each tree, so up to four of them fit between registers.
// Cost: one register of the output's width, and a multiplexer of (TagBits + DataBits) * Inputs.
//
// Parameters
//   Inputs     askers; with one the number is a single zero bit
//   TagBits    bits of the askers' tags
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

    input  logic [         Inputs-1:0] in_valid_i,
    output logic [         Inputs-1:0] in_ready_o,
    input  logic [ Inputs*TagBits-1:0] in_tag_i,
    input  logic [Inputs*DataBits-1:0] in_data_i,

    output logic                         out_valid_o,
    input  logic                         out_ready_i,
    output logic [IndexBits+TagBits-1:0] out_tag_o,    // {asker, tag}
    output logic [         DataBits-1:0] out_data_o
);

  if (Inputs < 1 || TagBits < 1 || DataBits < 1) begin : g_illegal
    $fatal(1, "wl_request_tree: Inputs, TagBits and DataBits must be 1 or more");
  end

  logic valid, free;
  logic [   Inputs-1:0] grant;
  logic [IndexBits-1:0] index;
  logic [  TagBits-1:0] tag;
  logic [ DataBits-1:0] data;
  assign free = !out_valid_o || out_ready_i;
  assign in_ready_o = grant & {Inputs{free}};

  if (Fair) begin : g_fair
    wl_arbiter_fair #(
        .Inputs(Inputs),
        .Lock  (1'b0)
    ) i_arbiter (
        .clk_i,
        .rst_i,
        .request_i(in_valid_i),
        .taken_i(free),
        .last_i(1'b1),
        .grant_o(grant),
        .valid_o(valid)
    );
  end else begin : g_fixed
    wl_arbiter_fixed #(
        .Inputs(Inputs),
        .Lock  (1'b0)
    ) i_arbiter (
        .clk_i,
        .rst_i,
        .request_i(in_valid_i),
        .taken_i(free),
        .last_i(1'b1),
        .grant_o(grant),
        .valid_o(valid)
    );
  end

  wl_encode #(
      .Inputs(Inputs)
  ) i_encode (
      .one_hot_i(grant),
      .index_o  (index)
  );
  wl_select #(
      .Inputs(Inputs),
      .Width (TagBits)
  ) i_tag (
      .grant_i(grant),
      .data_i (in_tag_i),
      .data_o (tag)
  );
  wl_select #(
      .Inputs(Inputs),
      .Width (DataBits)
  ) i_data (
      .grant_i(grant),
      .data_i (in_data_i),
      .data_o (data)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) out_valid_o <= 1'b0;
    else if (free) out_valid_o <= valid;
    if (free) begin
      out_tag_o  <= {index, tag};
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
      Asker_A : assert (!out_valid_o || 32'(out_tag_o[TagBits+:IndexBits]) < Inputs);
    end
  end
`endif

endmodule
