// Tree of arbiters: merges many valid/ready streams of packets into one, level by level. Each level
// has its own radix, policy and optional register stage.
//
// Contract
//   Data and order: each beat that enters at an input leaves once, in that input's order; packets
//   are not interleaved. An output that is not taken stays stable.
//   Throughput: one beat a cycle. Latency: one cycle for each level with a register.
//   Fairness: if every level is fair and all nodes of a level have the same number of inputs, each
//   input sees at most Inputs - 1 packets of others before its own, besides those in registers; a
//   fixed level favours the lower numbers of each node.
// Timing: a level is an arbiter and a multiplexer; use a register where the levels between
// registers would get too deep.
//
// Parameters
//   Inputs      streams
//   Width       bits of a beat, `last` not counted
//   Levels      levels; level 0 is next to the inputs
//   Radices     8 bits for each level, level 0 lowest: inputs of a node. The last node of a level
//               may have fewer.
//   Fair        one bit for each level: 1 wl_arbiter_fair, 0 wl_arbiter_fixed
//   Registers   one bit for each level: 1 adds a skid buffer at the output of each of its nodes
module wl_arbiter_tree #(
    parameter int unsigned Inputs = 4,
    parameter int unsigned Width = 8,
    parameter int unsigned Levels = 1,
    parameter bit [8*Levels-1:0] Radices = {Levels{8'd4}},
    parameter bit [Levels-1:0] Fair = '1,
    parameter bit [Levels-1:0] Registers = '0
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [Inputs-1:0]            in_valid_i,
    output logic [Inputs-1:0]            in_ready_o,
    input  logic [Inputs-1:0]            in_last_i,
    input  logic [Inputs-1:0][Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic             out_last_o,
    output logic [Width-1:0] out_data_o
);

  // Returns the number of streams that enter a level; those that "enter" level `Levels` leave the
  // tree.
  function automatic int unsigned streams(int unsigned level);
    streams = Inputs;
    for (int unsigned i = 0; i < level; i++) begin
      if (Radices[8*i+:8] != 0) begin
        streams = (streams + 32'(Radices[8*i+:8]) - 1) / 32'(Radices[8*i+:8]);
      end
    end
  endfunction

  function automatic bit zero_radix();
    zero_radix = 1'b0;
    for (int unsigned i = 0; i < Levels; i++) zero_radix |= Radices[8*i+:8] == 0;
  endfunction

  if (Inputs < 1) begin : g_illegal_inputs
    $fatal(1, "wl_arbiter_tree: Inputs must be 1 or more");
  end
  if (Width < 1) begin : g_illegal_width
    $fatal(1, "wl_arbiter_tree: Width must be 1 or more");
  end
  if (zero_radix()) begin : g_illegal_zero
    $fatal(1, "wl_arbiter_tree: no radix in Radices may be 0");
  end
  if (streams(Levels) != 1) begin : g_illegal_product
    $fatal(1, "wl_arbiter_tree: the product of Radices must be at least Inputs");
  end

  for (genvar level = 0; level < Levels; level++) begin : g_level
    localparam int unsigned Radix = 32'(Radices[8*level+:8]);
    localparam int unsigned Streams = streams(level);
    localparam int unsigned Nodes = streams(level + 1);

    logic [Streams-1:0] valid, ready, last;
    logic [Streams-1:0][Width-1:0] data;
    logic [Nodes-1:0] node_valid, node_ready, node_last;
    logic [Nodes-1:0][Width-1:0] node_data;

    if (level == 0) begin : g_first
      assign valid = in_valid_i;
      assign in_ready_o = ready;
      assign last = in_last_i;
      assign data = in_data_i;
    end else begin : g_next
      assign valid = g_level[level-1].node_valid;
      assign g_level[level-1].node_ready = ready;
      assign last = g_level[level-1].node_last;
      assign data = g_level[level-1].node_data;
    end

    for (genvar node = 0; node < Nodes; node++) begin : g_node
      localparam int unsigned First = node * Radix;
      localparam int unsigned Count = First + Radix > Streams ? Streams - First : Radix;
      wl_merge #(
          .Inputs(Count),
          .Width(Width),
          .Fair(Fair[level]),
          .Register(Registers[level])
      ) i_merge (
          .clk_i,
          .rst_i,
          .in_valid_i(valid[First+:Count]),
          .in_ready_o(ready[First+:Count]),
          .in_last_i(last[First+:Count]),
          .in_data_i(data[First+:Count]),
          .out_valid_o(node_valid[node]),
          .out_ready_i(node_ready[node]),
          .out_last_o(node_last[node]),
          .out_data_o(node_data[node])
      );
    end
  end

  assign out_valid_o = g_level[Levels-1].node_valid[0];
  assign g_level[Levels-1].node_ready[0] = out_ready_i;
  assign out_last_o = g_level[Levels-1].node_last[0];
  assign out_data_o = g_level[Levels-1].node_data[0];

`ifdef FORMAL
  // Returns the most beats that the registers hold: two for each node of a level with registers.
  function automatic int unsigned room();
    room = 0;
    for (int unsigned i = 0; i < Levels; i++) if (Registers[i]) room += 2 * streams(i + 1);
  endfunction

  int unsigned held;  // beats inside the tree
  int unsigned taken;  // beats that enter now
  always_comb begin
    taken = 0;
    for (int unsigned i = 0; i < Inputs; i++) taken += 32'(in_valid_i[i] && in_ready_o[i]);
  end
  logic was_stalled;
  logic [Width:0] was;
  always_ff @(posedge clk_i) begin
    if (rst_i) held <= 0;
    else held <= held + taken - 32'(out_valid_o && out_ready_i);
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was <= {out_last_o, out_data_o};
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (out_valid_o && {out_last_o, out_data_o} == was));
      Count_A : assert (held <= room());
    end
  end
`endif

endmodule
