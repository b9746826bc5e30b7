// Test bench of wl_flow_counter with a memory channel and a QDR SRAM: exact sums for any distance
// between hits of a flow, over numbers of counters, memory clocks and latencies, idle cycles and
// control accesses, while another master reads the memory through the channel's control port.
module wl_flow_counter_tb;
  localparam int unsigned Cases = 7;
  logic [Cases-1:0] done;

  // The `counter` kind at 300 MHz: full rate; with gaps; with control accesses; with everything,
  // and a rare second hit.
  flow_counter_case #() i_full (.done_o(done[0]));
  flow_counter_case #(.Size(3), .Idle(50), .Again(10)) i_gaps (.done_o(done[1]));
  flow_counter_case #(.Size(2), .Control(40), .Raw(30)) i_control (.done_o(done[2]));
  flow_counter_case #(
      .Size(40), .Idle(30), .Control(40), .Again(0), .Raw(30), .Extra(7)
  ) i_all (.done_o(done[3]));
  // All 216 bits, at 600 MHz.
  flow_counter_case #(
      .Size(5), .Slots(6), .Counters(3), .CounterBits(72), .Arguments(2), .ArgumentBits(40),
      .Adds(6'b10_00_01), .IndexBits(3),
      .Control(20), .Raw(20), .MemoryLatency(20)
  ) i_wide (.done_o(done[4]));
  // One flow with one counter of two bits, in a memory on the core's clock with the least latency.
  flow_counter_case #(
      .Size(1), .Slots(1), .Counters(1), .CounterBits(2), .Arguments(0), .Adds(2'b00), .Control(20),
      .MemoryLatency(1)
  ) i_one (.done_o(done[5]));
  // A latency that is longer than any table of sums of another power of two.
  flow_counter_case #(.Size(7), .Extra(24), .Again(3), .Control(10)) i_long (.done_o(done[6]));

  initial begin
    for (int unsigned wait_ = 0; wait_ < 2000 && done !== '1; wait_++) #1000;
    if (done !== '1) $fatal(1, "not done: cases %b", done);
    $display("PASS");
    $finish;
  end
endmodule

module flow_counter_case #(
    parameter int unsigned Size = 4,
    parameter int unsigned Slots = 3,
    parameter int unsigned Counters = 2,
    parameter int unsigned CounterBits = 64,
    parameter int unsigned Arguments = 1,
    parameter int unsigned ArgumentBits = 32,
    parameter logic [2*Counters-1:0] Adds = 4'b0001,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned MemoryLatency = 8,
    parameter int unsigned Extra = 0,  // cycles of latency above the minimum
    parameter int unsigned Idle = 0,
    parameter int unsigned Control = 0,
    parameter int unsigned Again = 50,
    // Percent of cycles in which the memory's own control master begins an access.
    parameter int unsigned Raw = 0
) (
    output logic done_o
);
  localparam int unsigned CtlBits = 220;
  localparam int unsigned DataBits = 72;
  localparam int unsigned AddressBits = 9;
  localparam int unsigned ReadLatency = wl_pkg::adapter_latency(Slots, MemoryLatency) + Extra;

  logic clk, clk_mem, rst;
  tb_clocks #(.Slots(Slots)) i_clocks (.clk_o(clk), .clk_mem_o(clk_mem), .rst_o(rst));

  logic request_valid, request_ready, ctl_valid, ctl_write, ctl_done, hold;
  logic [IndexBits+Arguments*ArgumentBits-1:0] request_data;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_wdata, ctl_rdata;
  logic counted;
  assign done_o = !rst && counted;
  tb_counter #(
      .Size(Size), .Counters(Counters), .CounterBits(CounterBits), .Arguments(Arguments),
      .ArgumentBits(ArgumentBits),
      .Adds(Adds), .IndexBits(IndexBits), .CtlBits(CtlBits), .Latency(ReadLatency + 2), .Idle(Idle),
      .Control(Control),
      .Again(Again)
  ) i_driver (
      .clk_i(clk), .rst_i(rst),
      .request_valid_o(request_valid), .request_ready_i(request_ready),
      .request_data_o(request_data),
      .ctl_valid_o(ctl_valid), .ctl_write_o(ctl_write), .ctl_target_o(ctl_target),
      .ctl_address_o(ctl_address),
      .ctl_data_o(ctl_wdata), .ctl_done_i(ctl_done), .ctl_data_i(ctl_rdata), .hold_i(hold),
      .done_o(counted)
  );

  logic [Counters-1:0] read_valid, write_valid;
  logic [Counters*AddressBits-1:0] read_address, write_address;
  logic [Slots*DataBits-1:0] read_data;
  logic [Counters*DataBits-1:0] write_data;
  wl_flow_counter #(
      .Size(Size), .Counters(Counters), .CounterBits(CounterBits), .Arguments(Arguments),
      .ArgumentBits(ArgumentBits),
      .Adds(Adds), .IndexBits(IndexBits), .DataBits(DataBits), .AddressBits(AddressBits),
      .Base(9'h100),
      .ReadLatency(ReadLatency), .CtlBits(CtlBits), .CtlTarget(8'd3), .Patience(5)
  ) i_dut (
      .clk_i(clk), .rst_i(rst),
      .request_valid_i(request_valid), .request_ready_o(request_ready),
      .request_data_i(request_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_wdata), .ctl_done_o(ctl_done), .ctl_data_o(ctl_rdata),
      .read_valid_o(read_valid), .read_address_o(read_address),
      .read_data_i(read_data[Counters*DataBits-1:0]),
      .write_valid_o(write_valid), .write_address_o(write_address), .write_data_o(write_data),
      .hold_i(hold)
  );

  // Another master reads and writes other addresses of the memory, in a slot of the counters.
  logic raw_valid, raw_write, raw_done;
  logic [CtlBits-1:0] raw_rdata;
  logic [DataBits-1:0] raw_written;
  int unsigned raw_count, held;
  always @(posedge clk) begin
    if (rst) begin
      raw_valid <= 1'b0;
      raw_write <= 1'b1;
      raw_written <= '0;
      raw_count <= 0;
    end else if (raw_done) begin
      if (!raw_valid) $fatal(1, "%m: the channel is done with nothing");
      if (!raw_write && raw_rdata[DataBits-1:0] !== raw_written) begin
        $fatal(1, "%m: the channel reads %h", raw_rdata);
      end
      if (raw_rdata !== '0 && raw_write) $fatal(1, "%m: data of an access that writes");
      raw_count <= raw_count + 1;
      raw_valid <= 1'b0;
      raw_write <= !raw_write;
      if (!raw_write) raw_written <= DataBits'({$urandom(), $urandom(), $urandom()});
    end else if (!raw_valid) raw_valid <= $urandom() % 100 < Raw;
    // The channel asks for one gap, and for another only if that was not enough in Patience + 1
    // cycles.
    held <= rst ? 0 : hold ? 0 : held + 1;
    if (!rst && hold && held < 3) $fatal(1, "%m: requests are held all the time");
    if (!rst && counted && Raw > 0 && raw_count < 50) begin
      $fatal(1, "%m: only %0d accesses to the memory", raw_count);
    end
  end

  logic rd_cmd, wr_cmd;
  logic [AddressBits-1:0] rd_addr, wr_addr;
  logic [DataBits-1:0] rd_data, wr_data;
  wl_memory_channel #(
      .Slots(Slots), .AddressBits(AddressBits), .DataBits(DataBits), .MemoryLatency(MemoryLatency),
      .ReadLatency(ReadLatency),
      .CtlSlot(0), .CtlBits(CtlBits), .CtlTarget(8'd7), .Patience(3)
  ) i_channel (
      .clk_i(clk), .rst_i(rst),
      .read_valid_i(Slots'(read_valid)), .read_address_i((Slots * AddressBits)'(read_address)),
      .read_data_o(read_data),
      .write_valid_i(Slots'(write_valid)), .write_address_i((Slots * AddressBits)'(write_address)),
      .write_data_i((Slots * DataBits)'(write_data)), .hold_o(hold),
      .ctl_valid_i(raw_valid), .ctl_write_i(raw_write), .ctl_target_i(8'd7),
      .ctl_address_i(32'h0ff),
      .ctl_data_i(CtlBits'(raw_written)), .ctl_done_o(raw_done), .ctl_data_o(raw_rdata),
      .clk_mem_i(clk_mem), .rd_cmd_o(rd_cmd), .rd_addr_o(rd_addr), .rd_data_i(rd_data),
      .wr_cmd_o(wr_cmd), .wr_addr_o(wr_addr), .wr_data_o(wr_data)
  );
  wl_qdr_model #(
      .WordBits(36), .Words(1 << (AddressBits + 1)), .AddressBits(AddressBits),
      .Latency(MemoryLatency)
  ) i_qdr (
      .clk_mem_i(clk_mem), .rd_cmd_i(rd_cmd), .rd_addr_i(rd_addr), .rd_data_o(rd_data),
      .wr_cmd_i(wr_cmd), .wr_addr_i(wr_addr), .wr_data_i(wr_data)
  );
endmodule
