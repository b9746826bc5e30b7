// The clock of wl_rate_adapter_proof: it changes in every step of the proof. (In Verilog, for
// Yosys' own reader, which knows the steps as `gclk`.)
module wl_rate_adapter_clock (
    input [`SLOTS*2-1:0] down_i
);
  (* gclk *) wire step;
  reg clk_mem = 1'b0;
  always @(posedge step) clk_mem <= !clk_mem;
  wl_rate_adapter_proof i_proof (.clk_mem_i(clk_mem), .down_i(down_i));
endmodule
