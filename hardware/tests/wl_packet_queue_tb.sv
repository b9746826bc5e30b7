// Test bench of wl_packet_queue: packets leave as they entered, and begin when they are complete or
// the queue is full; one that was complete has no gaps. Throughput of one beat a cycle. Over
// depths, including the minimum and one that packets exceed.
module wl_packet_queue_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  queue_case #(.Width(8), .Beats(2)) i_least (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  queue_case #(.Width(40), .Beats(5)) i_small (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  queue_case #(.Width(1), .Beats(64)) i_bits (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  queue_case #(.Width(512), .Beats(100)) i_large (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module queue_case #(
    parameter int unsigned Width = 8,
    parameter int unsigned Beats = 4
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  logic send, window;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic in_valid, in_ready, in_last, out_valid, out_ready, out_last;
  logic [Width-1:0] in_data, out_data;
  int unsigned in_count, out_count;
  tb_source #(.Width(Width), .Source(1)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle), .valid_o(in_valid), .ready_i(in_ready),
      .last_o(in_last), .data_o(in_data),
      .count_o(in_count)
  );
  wl_packet_queue #(.Width(Width), .Beats(Beats)) i_dut (
      .clk_i, .rst_i, .in_valid_i(in_valid), .in_ready_o(in_ready), .in_last_i(in_last),
      .in_data_i(in_data), .out_valid_o(out_valid),
      .out_ready_i(out_ready), .out_last_o(out_last), .out_data_o(out_data)
  );
  tb_sink #(.Width(Width), .Source(1)) i_sink (
      .clk_i, .rst_i, .stall_i(stall), .valid_i(out_valid), .ready_o(out_ready), .data_i(out_data),
      .count_o(out_count)
  );

  int unsigned whole;  // complete packets inside
  logic midway, was_whole;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      whole = 0;
      midway <= 1'b0;
      was_whole <= 1'b0;
    end else begin
      if (out_valid) begin
        if (out_last !== tb_pkg::last(1, out_count)) begin
          $fatal(1, "%m: beat %0d: last %b", out_count, out_last);
        end
        if (!midway && whole === 0 && in_count - out_count < Beats) begin
          $fatal(1, "%m: a packet begins at beat %0d with %0d beats of it here", out_count,
              in_count - out_count);
        end
      end
      if (midway && was_whole && !out_valid) $fatal(1, "%m: a gap before beat %0d", out_count);
      // Full speed requires packets that fit: otherwise the next packet begins only when it is
      // complete or the queue is full again.
      if (window && Beats > 32 && !in_ready) $fatal(1, "%m: a beat had to wait at full speed");
      if (out_valid && out_ready) begin
        if (!midway) was_whole <= whole != 0;
        midway <= !out_last;
      end
      whole = whole + 32'(in_valid && in_ready && in_last)
          - 32'(out_valid && out_ready && out_last);
      if (done_o && (in_count !== out_count || in_count < 500)) begin
        $fatal(1, "%m: %0d beats of %0d", out_count, in_count);
      end
    end
  end
endmodule
