// Test bench of wl_skid: data, order, throughput and latency as promised, over widths.
module wl_skid_tb;
  localparam int unsigned Cases = 3;
  localparam bit [Cases*32-1:0] Widths = {32'd200, 32'd8, 32'd1};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    skid_case #(.Width(Widths[32*i+:32])) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module skid_case #(
    parameter int unsigned Width = 8
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  logic send, window, in_valid, in_ready, out_valid, out_ready, unused_last;
  int unsigned idle, stall, sent, received;
  logic [Width-1:0] in_data, out_data;

  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );
  tb_source #(.Width(Width)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle),
      .valid_o(in_valid), .ready_i(in_ready), .last_o(unused_last), .data_o(in_data), .count_o(sent)
  );
  wl_skid #(.Width(Width)) i_dut (
      .clk_i, .rst_i,
      .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );
  tb_sink #(.Width(Width)) i_sink (
      .clk_i, .rst_i, .stall_i(stall), .valid_i(out_valid), .ready_o(out_ready), .data_i(out_data),
      .count_o(received)
  );

  logic accepted, held_two;
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      accepted <= in_valid && in_ready;
      if (accepted && !out_valid) $fatal(1, "%m: latency above one cycle");
      if (window && !(out_valid && out_ready)) $fatal(1, "%m: less than a word a cycle");
      if (sent - received > 2) $fatal(1, "%m: holds more than two words");
      if (sent - received == 2) held_two <= 1'b1;
      if (done_o && !(sent === received && sent > 500 && held_two)) begin
        $fatal(1, "%m: sent %0d, received %0d", sent, received);
      end
    end else begin
      accepted <= 1'b0;
      held_two <= 1'b0;
    end
  end
endmodule
