// Test bench of wl_merge: no loss, no duplication, order, whole packets, throughput and fairness,
// over inputs, policies and registers.
module wl_merge_tb;
  localparam int unsigned Cases = 8;
  localparam bit [Cases*32-1:0] Inputs = {32'd1, 32'd1, 32'd2, 32'd2, 32'd3, 32'd5, 32'd8, 32'd4};
  localparam bit [Cases-1:0] Fair = 8'b11011110;
  localparam bit [Cases-1:0] Register = 8'b01010010;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    merge_case #(.Inputs(Inputs[32*i+:32]), .Fair(Fair[i]), .Register(Register[i])) i_case (
        .clk_i(clk), .rst_i(rst), .done_o(done[i])
    );
  end
endmodule

module merge_case #(
    parameter int unsigned Inputs = 2,
    parameter bit Fair = 1'b1,
    parameter bit Register = 1'b0
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

  // A register holds up to two beats of others before an input's own is seen.
  tb_merge_sources #(
      .Inputs(Inputs), .Width(Width), .Wait(Fair ? Inputs - 1 + (Register ? 2 : 0) : 0)
  ) i_sources (
      .clk_i, .rst_i,
      .valid_o(in_valid), .ready_i(in_ready), .last_o(in_last), .data_o(in_data),
      .valid_i(out_valid), .ready_o(out_ready), .last_i(out_last), .data_i(out_data), .done_o
  );
  wl_merge #(.Inputs(Inputs), .Width(Width), .Fair(Fair), .Register(Register)) i_dut (
      .clk_i, .rst_i,
      .in_valid_i(in_valid), .in_ready_o(in_ready), .in_last_i(in_last), .in_data_i(in_data),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_last_o(out_last), .out_data_o(out_data)
  );
endmodule
