// Test bench of wl_engine_time: packets of one to four beats, some of them of timers, with arrival
// times that also run backwards and a pipe that is not always ready. On the first beat, from the
// cycle in which it is offered until it is taken, each packet has the latest arrival time so far
// and its port and, with timers apart, its number among packets or timers, and its ticket.
module wl_engine_time_tb;
  logic clk, rst;
  logic [1:0] done;
  tb_end #(.Cases(2)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  engine_time_case #(.Apart(1'b0)) i_together (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  engine_time_case #(.Apart(1'b1)) i_apart (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
endmodule

module engine_time_case #(
    parameter bit Apart = 1'b0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned SequenceBits = Apart ? 64 : 20;
  localparam int unsigned NumberBits = Apart ? 80 : SequenceBits;
  localparam int unsigned Packets = 3000;

  logic valid, ready, last;
  logic [79:0] user, user_out;
  logic [SequenceBits-1:0] number;
  logic [NumberBits-1:0] number_out;
  wl_engine_time #(.SequenceBits(SequenceBits), .Apart(Apart)) i_dut (
      .clk_i, .rst_i,
      .valid_i(valid), .ready_i(ready), .last_i(last), .user_i(user), .sequence_i(number),
      .user_o(user_out), .sequence_o(number_out)
  );

  longint unsigned latest, clock, packets, timers;
  int unsigned beats;  // of the packet that were taken
  logic [79:0] expected;
  assign done_o = packets + timers == 64'(Packets);
  assign expected = {user[79:16] > latest ? user[79:16] : latest, user[15:0]};

  task automatic begin_packet();
    clock += 64'($urandom() % 100);
    valid <= tb_pkg::chance(200);
    last <= tb_pkg::chance(100);
    user <= {clock - 64'(tb_pkg::chance(60) && clock > 500 ? $urandom() % 500 : 0),
        tb_pkg::chance(80) ? 16'hffff : 16'($urandom() % 4)};
  endtask

  always_ff @(posedge clk_i) begin
    ready <= tb_pkg::chance(150);
    if (rst_i) begin
      {valid, last} <= '0;
      number <= '0;
      user <= '0;
      {latest, clock, packets, timers} = '0;
      beats = 0;
    end else if (!done_o) begin
      if (valid && beats == 0) begin
        logic [63:0] sequence_number;
        sequence_number = user[15:0] == '1 ? {1'b1, 63'(timers)} : packets;
        if (user_out !== expected) $fatal(1, "%m: %h, not %h", user_out, expected);
        if (number_out !== (Apart ? NumberBits'({sequence_number, number[15:0]})
            : NumberBits'(number))) begin
          $fatal(1, "%m: packet %0d has number %h", packets + timers, number_out);
        end
      end
      if (valid && ready) begin
        if (beats == 0) begin
          latest = expected[79:16];
          if (user[15:0] == '1) timers++;
          else packets++;
        end
        beats++;
        if (last) begin
          beats = 0;
          number <= number + 1'b1;
          begin_packet();
        end else begin
          last <= beats == 3 || tb_pkg::chance(100);
          // What comes with later beats does not matter.
          user <= {$urandom(), $urandom(), 16'($urandom())};
        end
      end else if (!valid) begin
        if (beats == 0) begin_packet();
        else valid <= tb_pkg::chance(200);
      end
    end
  end
endmodule
