// Test bench of wl_counter_table: exact sums under back-to-back hits, over numbers of counters,
// idle cycles and control accesses.
module wl_counter_table_tb;
  localparam int unsigned Crosses = 3;
  localparam int unsigned Cases = 3 * Crosses;
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));

  for (genvar k = 0; k < Crosses; k++) begin : g_cross
    localparam int unsigned Idle = k == 1 ? 50 : 0;
    localparam int unsigned Control = k == 0 ? 0 : 40;
    // The `counter` kind; three counters of 72 bits that add arguments in another order; one
    // counter of three bits that counts.
    counter_table_case #(
        .Idle(Idle), .Control(Control)
    ) i_kind (.clk_i(clk), .rst_i(rst), .done_o(done[3*k]));
    counter_table_case #(
        .Size(5), .Counters(3), .CounterBits(72), .Arguments(2), .ArgumentBits(20),
        .Adds(6'b10_00_01), .IndexBits(3),
        .Idle(Idle), .Control(Control)
    ) i_wide (.clk_i(clk), .rst_i(rst), .done_o(done[3*k+1]));
    counter_table_case #(
        .Size(1), .Counters(1), .CounterBits(3), .Arguments(0), .Adds(2'b00), .Idle(Idle),
        .Control(Control)
    ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[3*k+2]));
  end
endmodule

module counter_table_case #(
    parameter int unsigned Size = 4,
    parameter int unsigned Counters = 2,
    parameter int unsigned CounterBits = 64,
    parameter int unsigned Arguments = 1,
    parameter int unsigned ArgumentBits = 32,
    parameter logic [2*Counters-1:0] Adds = 4'b0001,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned Idle = 0,
    parameter int unsigned Control = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned CtlBits = 220;
  logic request_valid, request_ready, ctl_valid, ctl_write, ctl_done;
  logic [IndexBits+Arguments*ArgumentBits-1:0] request_data;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_wdata, ctl_rdata;

  tb_counter #(
      .Size(Size), .Counters(Counters), .CounterBits(CounterBits), .Arguments(Arguments),
      .ArgumentBits(ArgumentBits),
      .Adds(Adds), .IndexBits(IndexBits), .CtlBits(CtlBits), .Latency(3), .Idle(Idle),
      .Control(Control)
  ) i_driver (
      .clk_i, .rst_i, .request_valid_o(request_valid), .request_ready_i(request_ready),
      .request_data_o(request_data),
      .ctl_valid_o(ctl_valid), .ctl_write_o(ctl_write), .ctl_target_o(ctl_target),
      .ctl_address_o(ctl_address),
      .ctl_data_o(ctl_wdata), .ctl_done_i(ctl_done), .ctl_data_i(ctl_rdata), .hold_i(1'b0), .done_o
  );
  wl_counter_table #(
      .Size(Size), .Counters(Counters), .CounterBits(CounterBits), .Arguments(Arguments),
      .ArgumentBits(ArgumentBits),
      .Adds(Adds), .IndexBits(IndexBits), .CtlBits(CtlBits), .CtlTarget(8'd3), .Patience(5)
  ) i_dut (
      .clk_i, .rst_i, .request_valid_i(request_valid), .request_ready_o(request_ready),
      .request_data_i(request_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_wdata), .ctl_done_o(ctl_done), .ctl_data_o(ctl_rdata)
  );
endmodule
