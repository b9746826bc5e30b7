// Test bench of wl_pipeline_load: each packet leaves once, in order, in the cycle after its last
// beat, with its bytes in their places and its information; packets are held back if and only if
// the pipeline is full or queues of requests have no room. Over room, headroom and bytes of a
// beat, with idle cycles and with a pipeline that is slow to empty.
module wl_pipeline_load_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Packets = {32'd64, 32'd5, 32'd1, 32'd64, 32'd2};
  localparam bit [Cases*32-1:0] Headrooms = {32'd48, 32'd128, 32'd16, 32'd0, 32'd32};
  localparam bit [Cases*32-1:0] Beats = {32'd64, 32'd32, 32'd64, 32'd128, 32'd16};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    load_case #(
        .Packets(Packets[32*i+:32]), .Headroom(Headrooms[32*i+:32]), .DataBytes(Beats[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module load_case #(
    parameter int unsigned Packets = 4,
    parameter int unsigned Headroom = 16,
    parameter int unsigned DataBytes = 64
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = Headroom + 128;
  localparam int unsigned Most = 128 / DataBytes;  // beats of a packet
  localparam int unsigned InfoBits = 40;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  // Packet n has 1 to Most beats; at full speed one.
  logic valid, ready, first, last, room, left;
  logic [8*DataBytes-1:0] data;
  logic [InfoBits-1:0] info;
  int unsigned number, beat, beats;
  always_comb begin
    for (int unsigned b = 0; b < DataBytes; b++) begin
      data[8*b+:8] = tb_pkg::octet(1, number, beat * DataBytes + b);
    end
  end
  assign first = beat == 0;
  assign last = beat + 1 == beats;
  // Information is the same on every beat.
  assign info = InfoBits'(tb_pkg::word(2, number));
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid  <= 1'b0;
      number <= 0;
      beat <= 0;
      beats <= 1;
    end else begin
      if (!valid || ready) valid <= (send || (valid && !last)) && !tb_pkg::chance(idle);
      if (valid && ready) begin
        beat <= last ? 0 : beat + 1;
        if (last) begin
          number <= number + 1;
          beats  <= idle == 0 && stall == 0 ? 1 : 1 + $urandom() % Most;
        end
      end
    end
  end

  logic out_valid;
  logic [8*Bytes-1:0] out;
  logic [InfoBits-1:0] out_info;
  logic [wl_pkg::bits(Packets+1)-1:0] free;
  wl_pipeline_load #(
      .Packets(Packets), .Headroom(Headroom), .DataBytes(DataBytes), .InfoBits(InfoBits)
  ) i_dut (
      .clk_i, .rst_i,
      .header_valid_i(valid), .header_ready_o(ready), .header_data_i(data), .header_first_i(first),
      .header_last_i(last), .header_info_i(info), .room_i(room), .left_i(left),
      .valid_o(out_valid), .window_o(out), .info_o(out_info), .free_o(free)
  );

  int unsigned held;         // packets that entered and did not leave
  int unsigned full, narrow; // cycles without room for a packet, or for requests
  int unsigned in_window;    // packets in the middle of the full-speed phase
  logic entered, had_room;   // in the cycle before: a last beat was taken; requests had room
  int unsigned count, filled;  // the packet that entered then, and its bytes
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held <= 0;
      full <= 0;
      narrow <= 0;
      in_window <= 0;
      entered <= 1'b0;
      had_room <= 1'b0;
      room <= 1'b0;
      left <= 1'b0;
    end else begin
      held <= held + 32'(valid && ready && last) - 32'(left);
      // A packet stays for two cycles at least.
      left <= (done_o || !tb_pkg::chance(stall)) && held - 32'(left) > 0;
      room <= !tb_pkg::chance(stall / 4);
      had_room <= room;
      entered <= valid && ready && last;
      count <= number;
      filled <= (beat + 1) * DataBytes;
      if (held == Packets) full <= full + 1;
      if (!had_room) narrow <= narrow + 1;
      if (window && entered) in_window <= in_window + 1;

      if (32'(free) !== Packets - held) begin
        $fatal(1, "%m: %0d packets have room, with %0d inside", free, held);
      end
      if (ready !== (held < Packets && had_room)) begin
        $fatal(1, "%m: ready is %b with %0d packets inside, room for requests %b", ready, held,
            had_room);
      end
      if (out_valid !== entered) $fatal(1, "%m: valid is %b, not %b", out_valid, entered);
      if (entered) begin
        for (int unsigned b = 0; b < filled; b++) begin
          if (out[8*(Headroom+b)+:8] !== tb_pkg::octet(1, count, b)) begin
            $fatal(1, "%m: byte %0d of packet %0d is %h", b, count, out[8*(Headroom+b)+:8]);
          end
        end
        if (out_info !== InfoBits'(tb_pkg::word(2, count))) begin
          $fatal(1, "%m: packet %0d has other information", count);
        end
      end
      if (done_o) begin
        if (number < 300 || narrow < 50 || (Packets < 64 && full < 100) || valid) begin
          $fatal(1, "%m: %0d packets, %0d cycles full, %0d without room", number, full, narrow);
        end
        // The packets that leave in turn are two cycles inside.
        if (Packets > 2 && in_window !== 300) begin
          $fatal(1, "%m: %0d packets in 300 cycles", in_window);
        end
      end
    end
  end
endmodule
