// Test bench of wl_request_queue: order, threads, and room for one request of each thread, over
// threads and depths.
module wl_request_queue_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Threads = {32'd1, 32'd2, 32'd8, 32'd8, 32'd5};
  localparam bit [Cases*32-1:0] Depths = {32'd1, 32'd2, 32'd8, 32'd2, 32'd7};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    request_queue_case #(
        .Threads(Threads[32*i+:32]), .Depth(Depths[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module request_queue_case #(
    parameter int unsigned Threads = 4,
    parameter int unsigned Depth = 4
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned ThreadBits = wl_pkg::bits(Threads);
  // Bits of the words in the test: thread and data.
  localparam int unsigned Width = 20 + ThreadBits;
  logic send, window, push, ready, valid, take, unused_last;
  int unsigned idle, stall, sent, received;
  logic [Width-1:0] in, out;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );
  tb_source #(.Width(Width)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle), .valid_o(push), .ready_i(ready),
      .last_o(unused_last), .data_o(in),
      .count_o(sent)
  );
  wl_request_queue #(.Width(20), .Threads(Threads), .Depth(Depth)) i_dut (
      .clk_i, .rst_i, .push_valid_i(push && ready), .push_ready_o(ready),
      .push_thread_i(in[Width-1:20]), .push_data_i(in[19:0]),
      .request_valid_o(valid), .request_ready_i(take), .request_thread_o(out[Width-1:20]),
      .request_data_o(out[19:0])
  );
  tb_sink #(.Width(Width)) i_sink (
      .clk_i, .rst_i, .stall_i(stall), .valid_i(valid), .ready_o(take), .data_i(out),
      .count_o(received)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      if (!ready && sent - received < Depth) begin
        $fatal(1, "%m: no room with %0d of %0d requests", sent - received, Depth);
      end
      if (window && Depth > 1 && !(valid && take)) $fatal(1, "%m: less than a request a cycle");
      if (done_o && !(sent === received && sent > 500)) begin
        $fatal(1, "%m: sent %0d, received %0d", sent, received);
      end
    end
  end
endmodule
