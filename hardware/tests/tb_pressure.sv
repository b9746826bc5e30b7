// Controls the phases of a test of streams: how often sources idle and sinks stall, and the final
// drain.
//   full speed; idle; stalls; both; mostly idle; mostly stalled; nothing sent while stalls end.
// `window_o` is high in the middle of the full-speed phase, in which the promised throughput is
// checked.
module tb_pressure #(
    parameter int unsigned Cycles = 400,       // cycles of a phase
    parameter int unsigned FullSpeed = Cycles  // cycles of the first
) (
    input logic clk_i,
    input logic rst_i,
    output logic send_o,
    output int unsigned idle_o,
    output int unsigned stall_o,
    output logic window_o,
    output logic done_o          // all phases are over, and the pipeline had time to drain
);

  int unsigned cycle;
  always_ff @(posedge clk_i) begin
    if (rst_i) cycle <= 0;
    else if (!done_o) cycle <= cycle + 1;
  end

  assign send_o   = !rst_i && cycle < FullSpeed + 5 * Cycles;
  assign done_o   = cycle >= FullSpeed + 7 * Cycles;
  assign window_o = cycle >= FullSpeed / 4 && cycle < FullSpeed;
  always_comb begin
    case (cycle < FullSpeed ? 0 : 1 + (cycle - FullSpeed) / Cycles)
      0: {idle_o, stall_o} = {32'd0, 32'd0};
      1: {idle_o, stall_o} = {32'd128, 32'd0};
      2: {idle_o, stall_o} = {32'd0, 32'd128};
      3: {idle_o, stall_o} = {32'd128, 32'd128};
      4: {idle_o, stall_o} = {32'd230, 32'd20};
      5: {idle_o, stall_o} = {32'd20, 32'd230};
      default: {idle_o, stall_o} = {32'd0, 32'd64};
    endcase
  end

endmodule
