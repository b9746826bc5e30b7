// Sends packets of `tb_pkg::bytes` and `octet` as beats, with idle cycles between them. Invalid
// bytes are not zero.
module tb_packet_source #(
    parameter int unsigned Bytes = 8,   // bytes of a beat
    parameter int unsigned Shape = 0,   // shape for tb_pkg::bytes
    parameter int unsigned Source = 0
) (
    input logic clk_i,
    input logic rst_i,
    input logic send_i,               // keep sending; a packet that has begun is sent to its end
    input int unsigned idle_i,        // cycles of 256 without a new beat
    output logic valid_o,
    input logic ready_i,
    output logic last_o,
    output logic [8*Bytes-1:0] data_o,
    output logic [Bytes-1:0] keep_o,
    output logic first_o,
    // Number of the packet, which is the number of packets sent before.
    output int unsigned number_o
);

  int unsigned beat, length;
  assign length = tb_pkg::bytes(Shape, Source, number_o);
  assign first_o = beat == 0;
  assign last_o = (beat + 1) * Bytes >= length;
  always_comb begin
    for (int unsigned i = 0; i < Bytes; i++) begin
      int unsigned place;
      place = beat * Bytes + i;
      keep_o[i] = place < length;
      data_o[8*i+:8] = keep_o[i] ? tb_pkg::octet(Source, number_o, place) : 8'hee;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_o <= 1'b0;
      number_o <= 0;
      beat <= 0;
    end else begin
      if (!valid_o || ready_i) begin
        valid_o <= (send_i || (valid_o ? !last_o : beat != 0)) && !tb_pkg::chance(idle_i);
      end
      if (valid_o && ready_i) begin
        beat <= last_o ? 0 : beat + 1;
        if (last_o) number_o <= number_o + 1;
      end
    end
  end

endmodule
