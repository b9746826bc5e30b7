// Test bench of wl_arbiter_fixed: every grant equals that of a model, for packets and single beats,
// taken at once and late.
module wl_arbiter_fixed_tb;
  logic clk, rst;
  logic [11:0] done;
  tb_end #(.Cases(12)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar lock = 0; lock < 2; lock++) begin : g_lock
    tb_arbiter #(
        .Inputs(1), .Lock(lock), .Fair(0)
    ) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[6*lock]));
    tb_arbiter #(
        .Inputs(2), .Lock(lock), .Fair(0)
    ) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[6*lock+1]));
    tb_arbiter #(
        .Inputs(3), .Lock(lock), .Fair(0)
    ) i_3 (.clk_i(clk), .rst_i(rst), .done_o(done[6*lock+2]));
    tb_arbiter #(
        .Inputs(5), .Lock(lock), .Fair(0)
    ) i_5 (.clk_i(clk), .rst_i(rst), .done_o(done[6*lock+3]));
    tb_arbiter #(
        .Inputs(8), .Lock(lock), .Fair(0)
    ) i_8 (.clk_i(clk), .rst_i(rst), .done_o(done[6*lock+4]));
    tb_arbiter #(
        .Inputs(17), .Lock(lock), .Fair(0)
    ) i_17 (.clk_i(clk), .rst_i(rst), .done_o(done[6*lock+5]));
  end
endmodule
