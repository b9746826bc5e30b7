// Test bench of wl_fifo_block: data, order, room, throughput and latency as promised, over depths
// and widths.
module wl_fifo_block_tb;
  localparam int unsigned Cases = 9;
  localparam bit [Cases*32-1:0] Widths =
      {32'd1, 32'd8, 32'd8, 32'd8, 32'd40, 32'd8, 32'd8, 32'd130, 32'd8};
  localparam bit [Cases*32-1:0] Depths =
      {32'd1, 32'd1, 32'd2, 32'd3, 32'd4, 32'd5, 32'd16, 32'd100, 32'd300};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    fifo_block_case #(
        .Width(Widths[32*i+:32]), .Depth(Depths[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module fifo_block_case #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 2
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  logic send, window, in_valid, in_ready, out_valid, out_ready, unused_last;
  int unsigned idle, stall, sent, received;
  logic [Width-1:0] in_data, out_data;
  logic [wl_pkg::bits(Depth + 2)-1:0] fill;

  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );
  tb_source #(.Width(Width)) i_source (
      .clk_i, .rst_i, .send_i(send), .idle_i(idle),
      .valid_o(in_valid), .ready_i(in_ready), .last_o(unused_last), .data_o(in_data), .count_o(sent)
  );
  wl_fifo_block #(.Width(Width), .Depth(Depth)) i_dut (
      .clk_i, .rst_i,
      .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data), .fill_o(fill)
  );
  tb_sink #(.Width(Width)) i_sink (
      .clk_i, .rst_i, .stall_i(stall), .valid_i(out_valid), .ready_o(out_ready), .data_i(out_data),
      .count_o(received)
  );

  localparam int unsigned Every = Depth == 1 ? 2 : 1;  // cycles a word
  int unsigned since, most;
  logic accepted, accepted_before;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      since <= 0;
      most <= 0;
      accepted <= 1'b0;
      accepted_before <= 1'b0;
    end else begin
      accepted <= in_valid && in_ready;
      accepted_before <= accepted;
      since <= out_valid && out_ready ? 1 : since + 1;
      if (accepted_before && !out_valid) $fatal(1, "%m: latency above two cycles");
      if (window && since > Every) $fatal(1, "%m: less than a word every %0d cycles", Every);
      if (32'(fill) !== sent - received) begin
        $fatal(1, "%m: fill is %0d, not %0d", fill, sent - received);
      end
      if (!in_ready && sent - received < Depth) begin
        $fatal(1, "%m: not ready with %0d words", sent - received);
      end
      if (sent - received > most) most <= sent - received;
      if (done_o && !(sent === received && sent > 500 && most === Depth + 1)) begin
        $fatal(1, "%m: sent %0d, received %0d, at most %0d at once", sent, received, most);
      end
    end
  end
endmodule
