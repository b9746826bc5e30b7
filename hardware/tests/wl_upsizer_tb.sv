// Test bench of wl_upsizer followed by a small queue and wl_downsizer: packets become wide and
// narrow again, as a whole and in order, with their sideband bits; throughput of one narrow beat a
// cycle. Over widths and shapes of packets.
module wl_upsizer_tb;
  localparam int unsigned Cases = 5;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  width_case #(.Narrow(8), .Wide(64), .Shape(0)) i_64 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  width_case #(.Narrow(8), .Wide(64), .Shape(2)) i_any (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  width_case #(
      .Narrow(16), .Wide(64), .Shape(3)
  ) i_long (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  width_case #(.Narrow(1), .Wide(3), .Shape(1)) i_odd (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  width_case #(
      .Narrow(32), .Wide(32), .Shape(2)
  ) i_same (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
endmodule

module width_case #(
    parameter int unsigned Narrow = 8,
    parameter int unsigned Wide = 64,
    parameter int unsigned Shape = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned UserBits = 20;

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1000)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic valid, ready, last, first, wide_valid, wide_ready, wide_last, wide_first, out_valid,
      out_ready, out_last, out_first;
  logic [8*Narrow-1:0] data, out_data;
  logic [Narrow-1:0] keep, out_keep;
  logic [8*Wide-1:0] wide_data;
  logic [Wide-1:0] wide_keep;
  logic [UserBits-1:0] wide_user, out_user;
  int unsigned number, wide_number, wide_count, out_number, out_count;
  tb_packet_source #(.Bytes(Narrow), .Shape(Shape), .Source(1)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle), .valid_o(valid), .ready_i(ready), .last_o(last),
      .data_o(data), .keep_o(keep),
      .first_o(first), .number_o(number)
  );
  wl_upsizer #(.InBytes(Narrow), .OutBytes(Wide), .UserBits(UserBits)) i_up (
      .clk_i, .rst_i, .in_valid_i(valid), .in_ready_o(ready), .in_data_i(data), .in_keep_i(keep),
      .in_last_i(last),
      .in_user_i(first ? UserBits'(tb_pkg::word(2, number)) : '1), .out_valid_o(wide_valid),
      .out_ready_i(wide_ready),
      .out_data_o(wide_data), .out_keep_o(wide_keep), .out_last_o(wide_last), .out_user_o(wide_user)
  );
  tb_packet_check #(.Bytes(Wide), .Shape(Shape), .Source(1)) i_wide (
      .clk_i, .rst_i, .valid_i(wide_valid), .ready_i(wide_ready), .last_i(wide_last),
      .data_i(wide_data), .keep_i(wide_keep),
      .first_o(wide_first), .number_o(wide_number), .count_o(wide_count)
  );
  // Short packets are complete at once, and wait until the long one before them has left.
  localparam int unsigned Beat = UserBits + 1 + Wide + 8 * Wide;
  logic queue_valid, queue_ready, queue_last;
  logic [8*Wide-1:0] queue_data;
  logic [Wide-1:0] queue_keep;
  logic [UserBits-1:0] queue_user;
  wl_fifo #(.Width(Beat), .Depth(16)) i_queue (
      .clk_i, .rst_i, .in_valid_i(wide_valid), .in_ready_o(wide_ready),
      .in_data_i({wide_user, wide_last, wide_keep, wide_data}),
      .out_valid_o(queue_valid), .out_ready_i(queue_ready),
      .out_data_o({queue_user, queue_last, queue_keep, queue_data}), .fill_o()
  );
  wl_downsizer #(.InBytes(Wide), .OutBytes(Narrow), .UserBits(UserBits)) i_down (
      .clk_i, .rst_i, .in_valid_i(queue_valid), .in_ready_o(queue_ready), .in_data_i(queue_data),
      .in_keep_i(queue_keep),
      .in_last_i(queue_last), .in_user_i(queue_user), .out_valid_o(out_valid),
      .out_ready_i(out_ready), .out_data_o(out_data),
      .out_keep_o(out_keep), .out_last_o(out_last), .out_user_o(out_user)
  );
  tb_packet_check #(.Bytes(Narrow), .Shape(Shape), .Source(1)) i_out (
      .clk_i, .rst_i, .valid_i(out_valid), .ready_i(out_ready), .last_i(out_last),
      .data_i(out_data), .keep_i(out_keep),
      .first_o(out_first), .number_o(out_number), .count_o(out_count)
  );

  always_ff @(posedge clk_i) begin
    out_ready <= !rst_i && !tb_pkg::chance(stall);
    if (!rst_i) begin
      if (wide_valid && wide_user !== UserBits'(tb_pkg::word(2, wide_number))) begin
        $fatal(1, "%m: packet %0d: user %h", wide_number, wide_user);
      end
      if (out_valid && out_user !== UserBits'(tb_pkg::word(2, out_number))) begin
        $fatal(1, "%m: packet %0d: user %h", out_number, out_user);
      end
      if (window && !ready) $fatal(1, "%m: a beat had to wait at full speed");
      if (done_o && (out_count !== number || number < 30)) begin
        $fatal(1, "%m: %0d packets of %0d", out_count, number);
      end
    end
  end
endmodule
