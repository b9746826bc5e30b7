// Takes words, with stall cycles in between, and stops the simulation unless each word is the next
// of `tb_pkg::word`, and an offered word stays until it is taken.
module tb_sink #(
    parameter int unsigned Width = 8,
    parameter int unsigned Source = 0
) (
    input logic clk_i,
    input logic rst_i,
    input int unsigned stall_i,       // cycles of 256 in which it is not ready
    input logic valid_i,
    output logic ready_o,
    input logic [Width-1:0] data_i,
    output int unsigned count_o       // words taken
);

  logic offered;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready_o <= 1'b0;
      count_o <= 0;
      offered <= 1'b0;
    end else begin
      ready_o <= !tb_pkg::chance(stall_i);
      offered <= valid_i && !ready_o;
      if (offered && !valid_i) $fatal(1, "%m: word %0d was withdrawn", count_o);
      if (valid_i && data_i !== Width'(tb_pkg::word(Source, count_o))) begin
        $fatal(1, "%m: word %0d is %h, not %h", count_o, data_i,
            Width'(tb_pkg::word(Source, count_o)));
      end
      if (valid_i && ready_o) count_o <= count_o + 1;
    end
  end

endmodule
