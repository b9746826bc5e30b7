// Test bench of wl_qdr_block and wl_qdr_model: the same data at the same time as those of an array,
// over latencies and sizes.
module wl_qdr_block_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Latencies = {32'd2, 32'd20, 32'd3, 32'd2, 32'd1};
  localparam bit [Cases*32-1:0] Words = {32'd2, 32'd64, 32'd16, 32'd16, 32'd16};
  localparam bit [Cases*32-1:0] WordBits = {32'd1, 32'd36, 32'd36, 32'd18, 32'd18};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    qdr_case #(
        .Latency(Latencies[32*i+:32]), .Words(Words[32*i+:32]), .WordBits(WordBits[32*i+:32])
    ) i_case (
        .clk_i(clk), .rst_i(rst), .done_o(done[i])
    );
  end
endmodule

module qdr_case #(
    parameter int unsigned Latency = 3,
    parameter int unsigned Words = 16,
    parameter int unsigned WordBits = 18
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned AddressBits = 8;
  localparam int unsigned DataBits = 2 * WordBits;
  logic rd_cmd, wr_cmd;
  logic [AddressBits-1:0] rd_addr, wr_addr;
  logic [DataBits-1:0] wr_data, block_data, model_data;
  wl_qdr_block #(
      .WordBits(WordBits), .Words(Words), .AddressBits(AddressBits), .Latency(Latency)
  ) i_block (
      .clk_mem_i(clk_i), .rd_cmd_i(rd_cmd), .rd_addr_i(rd_addr), .rd_data_o(block_data),
      .wr_cmd_i(wr_cmd), .wr_addr_i(wr_addr), .wr_data_i(wr_data)
  );
  wl_qdr_model #(
      .WordBits(WordBits), .Words(Words), .AddressBits(AddressBits), .Latency(Latency)
  ) i_model (
      .clk_mem_i(clk_i), .rd_cmd_i(rd_cmd), .rd_addr_i(rd_addr), .rd_data_o(model_data),
      .wr_cmd_i(wr_cmd), .wr_addr_i(wr_addr), .wr_data_i(wr_data)
  );

  logic [DataBits-1:0] reference[Words/2];
  // The contents of registers before the reset may have been a command.
  logic [Words/2-1:0] written;
  logic [Latency:1] due, known;
  logic [DataBits-1:0] answer[Latency+1];
  int unsigned cycle, poison;
  // The model ignores commands in its first cycles.
  logic starting = 1'b1;
  initial begin
    repeat (10) @(negedge clk_i);
    starting = 1'b0;
  end
  always @(posedge clk_i) begin
    if (rst_i || starting) begin
      cycle <= 0;
      poison <= 0;
      done_o <= 1'b0;
      {rd_cmd, wr_cmd, due, known, written} = '0;
      rd_addr <= '0;
      wr_addr <= '0;
      wr_data <= '0;
    end else begin
      cycle <= cycle + 1;
      done_o <= cycle > 2000;
      if (due[Latency] && known[Latency]) begin
        if (block_data !== answer[Latency]) begin
          $fatal(1, "%m: block RAM answers %h, not %h", block_data, answer[Latency]);
        end
        if (model_data !== answer[Latency]) begin
          $fatal(1, "%m: the model answers %h, not %h", model_data, answer[Latency]);
        end
      end
      // The model shows wrong data in cycles without read data.
      if (due[Latency]) poison <= 0;
      else if (cycle > 2 * Latency && Latency < 8 && DataBits > 8) begin
        poison <= poison + 1;
        if (poison < 100 && model_data === answer[Latency]) begin
          $fatal(1, "%m: the model answers for longer than a cycle");
        end
      end
      for (int unsigned k = Latency; k > 1; k--) begin
        due[k] = due[k-1];
        known[k] = known[k-1];
        answer[k] = answer[k-1];
      end
      due[1] = rd_cmd;
      known[1] = written[32'(rd_addr)%(Words/2)];
      if (rd_cmd) answer[1] = reference[32'(rd_addr)%(Words/2)];
      if (wr_cmd) begin
        reference[32'(wr_addr)%(Words/2)] = wr_data;
        written[32'(wr_addr)%(Words/2)] = 1'b1;
      end
      rd_cmd  <= $urandom() % 4 != 0;
      wr_cmd  <= $urandom() % 3 != 0;
      rd_addr <= AddressBits'($urandom() % (Words / 2));
      wr_addr <= AddressBits'($urandom() % (Words / 2));
      wr_data <= DataBits'({$urandom(), $urandom(), $urandom()});
    end
  end
endmodule
