// Sends the words of `tb_pkg::word` in order, with idle cycles between them.
module tb_source #(
    parameter int unsigned Width = 8,
    parameter int unsigned Source = 0
) (
    input logic clk_i,
    input logic rst_i,
    input logic send_i,               // keep sending; a packet that has begun is sent to its end
    input int unsigned idle_i,        // cycles of 256 without a new word
    output logic valid_o,
    input logic ready_i,
    output logic last_o,
    output logic [Width-1:0] data_o,
    output int unsigned count_o       // words accepted
);

  assign data_o = Width'(tb_pkg::word(Source, count_o));
  assign last_o = tb_pkg::last(Source, count_o);

  logic midway;  // in the middle of a packet
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_o <= 1'b0;
      midway <= 1'b0;
      count_o <= 0;
    end else begin
      if (!valid_o || ready_i) begin
        valid_o <= (send_i || (valid_o ? !last_o : midway)) && !tb_pkg::chance(idle_i);
      end
      if (valid_o && ready_i) begin
        midway <= !last_o;
        count_o <= count_o + 1;
      end
    end
  end

endmodule
