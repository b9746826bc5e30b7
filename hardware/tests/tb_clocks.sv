// Generates a core clock, a memory clock that is `Slots` times as fast with aligned edges, and the
// reset of the core.
module tb_clocks #(
    parameter int unsigned Slots = 3
) (
    output logic clk_o,
    output logic clk_mem_o,
    output logic rst_o
);
  int unsigned edges;  // edges of the memory clock, rising and falling
  initial begin
    clk_o = 1'b0;
    clk_mem_o = 1'b0;
    edges = 0;
    forever begin
      #5;
      // The core clock rises with the memory clock, and falls somewhere in between.
      clk_o = edges % (2 * Slots) < Slots;
      clk_mem_o = edges % 2 == 0;
      edges++;
    end
  end

  initial begin
    rst_o = 1'b1;
    repeat (10) @(negedge clk_o);  // longer than the time in which the memory ignores commands
    rst_o = 1'b0;
  end
endmodule
