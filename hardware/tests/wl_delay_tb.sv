// Test bench of wl_delay: the output is the input of the given number of cycles before; with reset,
// zeros until then.
module wl_delay_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Widths = {32'd1, 32'd8, 32'd8, 32'd40, 32'd8, 32'd1};
  localparam bit [Cases*32-1:0] Cycles = {32'd0, 32'd0, 32'd1, 32'd2, 32'd17, 32'd5};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    delay_case #(
        .Width(Widths[32*i+:32]), .Cycles(Cycles[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module delay_case #(
    parameter int unsigned Width = 8,
    parameter int unsigned Cycles = 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  int unsigned number;  // number of the input word
  logic [Width-1:0] in, plain, reset, expected;
  assign in = Width'(tb_pkg::word(1, number));
  assign expected = Width'(tb_pkg::word(1, number - Cycles));
  assign done_o = number == 200;

  wl_delay #(.Width(Width), .Cycles(Cycles)) i_plain (.clk_i, .rst_i, .data_i(in), .data_o(plain));
  wl_delay #(
      .Width(Width), .Cycles(Cycles), .Reset(1'b1)
  ) i_reset (.clk_i, .rst_i, .data_i(in), .data_o(reset));

  always_ff @(posedge clk_i) begin
    if (rst_i) number <= 0;
    else begin
      if (!done_o) number <= number + 1;
      if (!done_o && number >= Cycles && (plain !== expected || reset !== expected)) begin
        $fatal(1, "%m: %h and %h instead of %h", plain, reset, expected);
      end
      if (number < Cycles && reset !== '0) $fatal(1, "%m: %h after reset", reset);
    end
  end
endmodule
