`include "wl_reset.svh"

// Load balancer: distributes the packets of a stream over several targets.
//
// Contract
//   Data and order: each packet goes to one target as a whole, once; a target sees its packets in
//   order. A beat that is offered to a target stays offered until it is taken.
//   Policy 0, static round robin (as in the Gorilla paper): the targets in turn; the balancer waits
//   for a target that is busy.
//   Policy 1, least loaded: the target with the most free places, the lowest of equals. None is
//   chosen while all are full.
//   Policy 2, first free: the lowest target that has a free place. None is chosen while all are
//   full.
//   Throughput: one beat a cycle while the chosen target takes one a cycle. Latency: none.
// Timing: combinational. Policy 1 compares free counts in a tree: about FreeBits + 1 LUT levels for
// each doubling of Targets; policies 0 and 2 take two or three levels.
//
// Parameters
//   Targets    targets of the packets; 1 is a wire
//   Width      bits of a beat, without `last`
//   FreeBits   bits of a target's count of free places
//   Policy     0, 1 or 2: see above
module wl_balancer #(
    parameter int unsigned Targets = 2,
    parameter int unsigned Width = 8,
    parameter int unsigned FreeBits = 1,
    parameter int unsigned Policy = 0,
    localparam int unsigned TargetBits = wl_pkg::bits(Targets)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic             in_last_i,   // the packet's last beat
    input  logic [Width-1:0] in_data_i,

    input logic [Targets-1:0][FreeBits-1:0] free_i,  // free places; unused by policy 0

    output logic [Targets-1:0] out_valid_o,
    input  logic [Targets-1:0] out_ready_i,
    output logic               out_last_o,
    output logic [  Width-1:0] out_data_o,

    output logic [TargetBits-1:0] target_o  // the chosen target, valid with `out_valid_o`
);

  if (Targets < 1 || Width < 1 || FreeBits < 1) begin : g_illegal
    $fatal(1, "wl_balancer: Targets, Width and FreeBits must be 1 or more");
  end
  if (Policy > 2) begin : g_illegal_policy
    $fatal(1, "wl_balancer: Policy must be 0 (round robin), 1 (least loaded) or 2 (first free)");
  end

  logic taken;
  logic [TargetBits-1:0] choice;
  logic some;  // a target can be chosen

  if (Policy == 0) begin : g_round_robin
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) choice <= '0;
      else if (taken && in_last_i) begin
        choice <= choice == TargetBits'(Targets - 1) ? '0 : choice + 1'b1;
      end
    end
    assign some = 1'b1;
    logic unused;
    assign unused = &free_i;
  end else if (Policy == 1) begin : g_least_loaded
    // The tree is an array of nodes: node i has the children 2 i + 1 and 2 i + 2, and the leaves
    // come last.
    localparam int unsigned Leaves = 2 ** $clog2(Targets);
    logic [2*Leaves-2:0][FreeBits-1:0] most;
    logic [2*Leaves-2:0][TargetBits-1:0] which;
    for (genvar leaf = 0; leaf < Leaves; leaf++) begin : g_leaf
      if (leaf < Targets) begin : g_target
        assign most[Leaves-1+leaf] = free_i[leaf];
      end else begin : g_none
        assign most[Leaves-1+leaf] = '0;
      end
      assign which[Leaves-1+leaf] = TargetBits'(leaf);
    end
    for (genvar node = 0; node < Leaves - 1; node++) begin : g_node
      logic right;
      assign right = most[2*node+2] > most[2*node+1];
      assign most[node] = right ? most[2*node+2] : most[2*node+1];
      assign which[node] = right ? which[2*node+2] : which[2*node+1];
    end
    assign choice = which[0];
    assign some   = most[0] != '0;
  end else begin : g_first_free
    always_comb begin
      choice = '0;
      some   = 1'b0;
      for (int i = int'(Targets) - 1; i >= 0; i--) begin
        if (free_i[i] != '0) begin
          choice = TargetBits'(unsigned'(i));
          some   = 1'b1;
        end
      end
    end
  end

  // Once a beat has been offered, the rest of its packet goes to the same target.
  logic chosen;
  logic [TargetBits-1:0] owner;
  assign target_o = chosen ? owner : choice;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) chosen <= 1'b0;
    else if (in_valid_i && (chosen || some)) chosen <= !(taken && in_last_i);
  end
  always_ff @(posedge clk_i) begin
    if (!chosen) owner <= choice;
  end

  logic offered;
  assign offered = in_valid_i && (chosen || some);
  always_comb begin
    in_ready_o = 1'b0;
    for (int unsigned i = 0; i < Targets; i++) begin
      out_valid_o[i] = offered && target_o == TargetBits'(i);
      in_ready_o |= out_ready_i[i] && (chosen || some) && target_o == TargetBits'(i);
    end
  end
  assign taken = in_valid_i && in_ready_o;
  assign out_last_o = in_last_i;
  assign out_data_o = in_data_i;

`ifdef FORMAL
  logic was_stalled;
  logic [Targets-1:0] was_valid;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && in_valid_i && !in_ready_o;
    was_valid   <= out_valid_o;
    if (!rst_i) begin
      OneTarget_A : assert ($onehot0(out_valid_o));
      Stable_A : assert (!was_stalled || was_valid == '0 || !in_valid_i
          || out_valid_o == was_valid);
      Taken_A : assert (taken == |(out_valid_o & out_ready_i));
    end
  end
`endif

endmodule
