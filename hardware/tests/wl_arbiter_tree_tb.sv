// Test bench of wl_arbiter_tree: no loss, no duplication, order, whole packets and throughput, over
// radices, policies and registers of the levels; fairness if all levels are fair and full.
module wl_arbiter_tree_tb;
  localparam int unsigned Cases = 6;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));

  tree_case #(.Inputs(1), .Levels(1), .Radices(8'd1), .Fair(1'b1), .Registers(1'b0), .Wait(0))
      i_one (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  tree_case #(.Inputs(4), .Levels(1), .Radices(8'd4), .Fair(1'b0), .Registers(1'b1), .Wait(0))
      i_fixed (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  tree_case #(.Inputs(6), .Levels(2), .Radices({8'd3, 8'd2}), .Fair(2'b11), .Registers(2'b00),
      .Wait(5))
      i_fair (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  // A last node with fewer inputs than the others, and an unfair level below a fair one.
  tree_case #(.Inputs(7), .Levels(2), .Radices({8'd4, 8'd3}), .Fair(2'b10), .Registers(2'b01),
      .Wait(0))
      i_mixed (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  // Two others and two in the node's register, each alternating with three of the other nodes; and
  // two in the last register.
  tree_case #(.Inputs(12), .Levels(3), .Radices({8'd2, 8'd2, 8'd3}), .Fair(3'b111),
      .Registers(3'b101), .Wait(21))
      i_deep (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  // More capacity than inputs: levels with a single node.
  tree_case #(.Inputs(3), .Levels(3), .Radices({8'd1, 8'd5, 8'd2}), .Fair(3'b011),
      .Registers(3'b010), .Wait(0))
      i_loose (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
endmodule

module tree_case #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned Levels = 1,
    parameter bit [8*Levels-1:0] Radices = '0,
    parameter bit [Levels-1:0] Fair = '0,
    parameter bit [Levels-1:0] Registers = '0,
    // Packets of others before an input's own, including those in the tree's registers.
    parameter int unsigned Wait = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Width = 20;
  logic [Inputs-1:0] in_valid, in_ready, in_last;
  logic [Inputs*Width-1:0] in_data;
  logic out_valid, out_ready, out_last;
  logic [Width-1:0] out_data;

  tb_merge_sources #(.Inputs(Inputs), .Width(Width), .Wait(Wait)) i_sources (
      .clk_i, .rst_i,
      .valid_o(in_valid), .ready_i(in_ready), .last_o(in_last), .data_o(in_data),
      .valid_i(out_valid), .ready_o(out_ready), .last_i(out_last), .data_i(out_data), .done_o
  );
  wl_arbiter_tree #(
      .Inputs(Inputs), .Width(Width), .Levels(Levels), .Radices(Radices), .Fair(Fair),
      .Registers(Registers)
  ) i_dut (
      .clk_i, .rst_i,
      .in_valid_i(in_valid), .in_ready_o(in_ready), .in_last_i(in_last), .in_data_i(in_data),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_last_o(out_last), .out_data_o(out_data)
  );
endmodule
