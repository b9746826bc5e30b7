// Clock, reset and end of a test bench: prints PASS when all cases are done.
module tb_end #(
    parameter int unsigned Cases = 1,
    parameter int unsigned Limit = 100_000  // cycles after which an unfinished bench has failed
) (
    output logic clk_o,
    output logic rst_o,
    input logic [Cases-1:0] done_i
);

  initial begin
    clk_o = 1'b0;
    forever #5 clk_o = !clk_o;
  end

  initial begin
    rst_o = 1'b1;
    repeat (3) @(negedge clk_o);
    rst_o = 1'b0;
    for (int unsigned cycle = 0; cycle < Limit && done_i !== '1; cycle++) @(posedge clk_o);
    if (done_i !== '1) $fatal(1, "not done after %0d cycles: cases %b", Limit, done_i);
    repeat (2) @(posedge clk_o);  // lets the checks of the last cycle finish
    $display("PASS");
    $finish;
  end

endmodule
