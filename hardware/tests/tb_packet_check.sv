// Observes a stream and stops the simulation unless its packets are the next ones that a
// tb_packet_source sends to this goal, and an offer stays until it is taken. With Dense a packet
// must have no gap between its beats.
module tb_packet_check #(
    parameter int unsigned Bytes = 8,
    parameter int unsigned Shape = 0,
    parameter int unsigned Source = 0,
    parameter int unsigned Goals = 1,   // the source's packets are for this number of goals
    parameter int unsigned Goal = 0,    // the goal of this stream
    parameter bit Dense = 1'b0
) (
    input logic clk_i,
    input logic rst_i,
    input logic valid_i,
    input logic ready_i,
    input logic last_i,
    input logic [8*Bytes-1:0] data_i,
    input logic [Bytes-1:0] keep_i,
    output logic first_o,
    output int unsigned number_o,     // number of the current packet
    output int unsigned count_o       // packets received
);

  function automatic int unsigned following(int unsigned number);
    following = number;
    while (tb_pkg::goal(Goals, Source, following) != Goal) following++;
  endfunction

  int unsigned beat, length;
  logic offered;
  assign length = tb_pkg::bytes(Shape, Source, number_o);
  assign first_o = beat == 0;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      number_o <= following(0);
      count_o <= 0;
      beat <= 0;
      offered <= 1'b0;
    end else begin
      offered <= valid_i && !ready_i;
      if (offered && !valid_i) $fatal(1, "%m: a beat of packet %0d was withdrawn", number_o);
      if (Dense && !valid_i && beat !== 0) $fatal(1, "%m: a gap in packet %0d", number_o);
      if (valid_i) begin
        if (last_i !== ((beat + 1) * Bytes >= length)) begin
          $fatal(1, "%m: packet %0d, beat %0d: last %b", number_o, beat, last_i);
        end
        for (int unsigned i = 0; i < Bytes; i++) begin
          int unsigned place;
          place = beat * Bytes + i;
          if (keep_i[i] !== (place < length)) begin
            $fatal(1, "%m: packet %0d of %0d bytes: keep %b", number_o, length, keep_i);
          end
          if (keep_i[i] && data_i[8*i+:8] !== tb_pkg::octet(Source, number_o, place)) begin
            $fatal(1, "%m: packet %0d of %0d bytes: byte %0d is %h", number_o, length, place,
                data_i[8*i+:8]);
          end
        end
      end
      if (valid_i && ready_i) begin
        beat <= last_i ? 0 : beat + 1;
        if (last_i) begin
          count_o  <= count_o + 1;
          number_o <= following(number_o + 1);
        end
      end
    end
  end

endmodule
