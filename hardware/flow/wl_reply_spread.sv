`include "wl_reset.svh"

// Return path from an offload: delivers each reply to the requester whose number is above the tag,
// where `wl_request_tree` put it. Replies have no `ready`: a requester always has room for its
// replies.
//
// Contract
//   Data and order: each reply leaves once, at its requester, in order. Throughput: one a cycle.
//   Latency: one cycle, none with Register = 0.
// Timing: with Register outputs are registers. All outputs share tag and data; only `out_valid_o`
// selects one.
//
// Parameters
//   Outputs    requesters, the Inputs of the tree
//   TagBits    bits of the requesters' tags
//   DataBits   bits of a reply
//   Register   1: outputs are registers, 0: wires
module wl_reply_spread #(
    parameter int unsigned Outputs = 2,
    parameter int unsigned TagBits = 2,
    parameter int unsigned DataBits = 32,
    parameter bit Register = 1'b1,
    localparam int unsigned IndexBits = wl_pkg::bits(Outputs)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                         in_valid_i,
    input logic [IndexBits+TagBits-1:0] in_tag_i,    // {requester, tag}
    input logic [         DataBits-1:0] in_data_i,

    output logic [ Outputs-1:0] out_valid_o,
    output logic [ TagBits-1:0] out_tag_o,
    output logic [DataBits-1:0] out_data_o
);

  if (Outputs < 1 || TagBits < 1 || DataBits < 1) begin : g_illegal
    $fatal(1, "wl_reply_spread: Outputs, TagBits and DataBits must be 1 or more");
  end

  logic [Outputs-1:0] valid;
  always_comb begin
    for (int unsigned i = 0; i < Outputs; i++) begin
      valid[i] = in_valid_i && in_tag_i[TagBits+:IndexBits] == IndexBits'(i);
    end
  end

  if (Register) begin : g_register
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) out_valid_o <= '0;
      else out_valid_o <= valid;
    end
    always_ff @(posedge clk_i) begin
      out_tag_o  <= in_tag_i[TagBits-1:0];
      out_data_o <= in_data_i;
    end
  end else begin : g_wire
    logic unused;
    assign unused = &{clk_i, rst_i};
    assign out_valid_o = valid;
    assign out_tag_o = in_tag_i[TagBits-1:0];
    assign out_data_o = in_data_i;
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Asker_M : assume (!in_valid_i || 32'(in_tag_i[TagBits+:IndexBits]) < Outputs);
    end
  end
`endif

endmodule
