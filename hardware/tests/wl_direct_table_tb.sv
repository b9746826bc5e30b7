// Test bench of wl_direct_table with a memory channel and a QDR SRAM: order, latency, rate and
// whole elements, over elements of one and several bursts, idle cycles and control accesses.
module wl_direct_table_tb;
  localparam int unsigned Cases = 5;
  logic [Cases-1:0] done;
  direct_table_case #() i_full (.done_o(done[0]));
  direct_table_case #(.Idle(50), .Control(30), .Extra(9)) i_idle (.done_o(done[1]));
  // Two and three bursts, with which a partial element would be visible.
  direct_table_case #(.Width(72), .Size(3), .Control(60)) i_two (.done_o(done[2]));
  direct_table_case #(
      .Width(100), .Size(5), .Slots(6), .Control(60), .Hold(10)
  ) i_three (.done_o(done[3]));
  direct_table_case #(
      .Width(1), .Size(1), .Slots(1), .MemoryLatency(1), .Control(20), .IndexBits(1)
  ) i_one (.done_o(done[4]));

  initial begin
    for (int unsigned k = 0; k < 1000 && done !== '1; k++) #1000;
    if (done !== '1) $fatal(1, "not done: cases %b", done);
    $display("PASS");
    $finish;
  end
endmodule

module direct_table_case #(
    parameter int unsigned Width = 36,
    parameter int unsigned Size = 13,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned Slots = 3,
    parameter int unsigned MemoryLatency = 8,
    parameter int unsigned Extra = 0,
    parameter int unsigned Idle = 0,
    parameter int unsigned Control = 0,
    parameter int unsigned Hold = 0,  // percent of cycles in which the channel accepts no request
    parameter int unsigned Cycles = 3000
) (
    output logic done_o
);
  localparam int unsigned DataBits = 36;
  localparam int unsigned AddressBits = 7;
  localparam int unsigned TagBits = 4;
  localparam int unsigned CtlBits = 128;
  localparam int unsigned Bursts = (Width + DataBits - 1) / DataBits;
  localparam int unsigned ReadLatency = wl_pkg::adapter_latency(Slots, MemoryLatency) + Extra;
  localparam int unsigned Latency = ReadLatency + 2;
  localparam logic [7:0] Target = 8'd4;

  logic clk, clk_mem, rst;
  tb_clocks #(.Slots(Slots)) i_clocks (.clk_o(clk), .clk_mem_o(clk_mem), .rst_o(rst));

  logic request_valid, request_ready, reply_valid, ctl_valid, ctl_write, ctl_done, hold;
  logic [TagBits-1:0] request_tag, reply_tag;
  logic [IndexBits-1:0] request_data;
  logic [Width-1:0] reply_data;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_wdata, ctl_rdata;
  logic [Bursts-1:0] read_valid, write_valid;
  logic [Bursts*AddressBits-1:0] read_address, write_address;
  logic [Slots*DataBits-1:0] read_data;
  logic [Bursts*DataBits-1:0] write_data;
  wl_direct_table #(
      .Width(Width), .Size(Size), .IndexBits(IndexBits), .TagBits(TagBits), .DataBits(DataBits),
      .AddressBits(AddressBits),
      .Base(7'd20), .ReadLatency(ReadLatency), .CtlBits(CtlBits), .CtlTarget(Target), .Patience(5)
  ) i_dut (
      .clk_i(clk), .rst_i(rst),
      .request_valid_i(request_valid), .request_ready_o(request_ready), .request_tag_i(request_tag),
      .request_data_i(request_data), .reply_valid_o(reply_valid), .reply_tag_o(reply_tag),
      .reply_data_o(reply_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_wdata), .ctl_done_o(ctl_done), .ctl_data_o(ctl_rdata),
      .read_valid_o(read_valid), .read_address_o(read_address),
      .read_data_i(read_data[Bursts*DataBits-1:0]),
      .write_valid_o(write_valid), .write_address_o(write_address), .write_data_o(write_data),
      .hold_i(hold)
  );

  logic rd_cmd, wr_cmd, unused_hold, unused_done;
  logic [AddressBits-1:0] rd_addr, wr_addr;
  logic [DataBits-1:0] rd_data, wr_data;
  logic [CtlBits-1:0] unused_data;
  wl_memory_channel #(
      .Slots(Slots), .AddressBits(AddressBits), .DataBits(DataBits), .MemoryLatency(MemoryLatency),
      .ReadLatency(ReadLatency),
      .CtlBits(CtlBits)
  ) i_channel (
      .clk_i(clk), .rst_i(rst),
      .read_valid_i(Slots'(read_valid)), .read_address_i((Slots * AddressBits)'(read_address)),
      .read_data_o(read_data),
      .write_valid_i(Slots'(write_valid)), .write_address_i((Slots * AddressBits)'(write_address)),
      .write_data_i((Slots * DataBits)'(write_data)), .hold_o(unused_hold),
      .ctl_valid_i(1'b0), .ctl_write_i(1'b0), .ctl_target_i(8'd0), .ctl_address_i(32'd0),
      .ctl_data_i(CtlBits'(0)),
      .ctl_done_o(unused_done), .ctl_data_o(unused_data),
      .clk_mem_i(clk_mem), .rd_cmd_o(rd_cmd), .rd_addr_o(rd_addr), .rd_data_i(rd_data),
      .wr_cmd_o(wr_cmd), .wr_addr_o(wr_addr), .wr_data_o(wr_data)
  );
  wl_qdr_model #(
      .WordBits(18), .Words(1 << (AddressBits + 1)), .AddressBits(AddressBits),
      .Latency(MemoryLatency)
  ) i_qdr (
      .clk_mem_i(clk_mem), .rd_cmd_i(rd_cmd), .rd_addr_i(rd_addr), .rd_data_o(rd_data),
      .wr_cmd_i(wr_cmd), .wr_addr_i(wr_addr), .wr_data_i(wr_data)
  );

  function automatic logic percent(int unsigned p);
    return int'($urandom() % 100) < int'(p);
  endfunction

  typedef struct packed {
    logic valid;
    logic [TagBits-1:0] tag;
    logic [31:0] index;
  } request_t;
  request_t taken[Latency+1];  // the youngest first
  request_t entering, leaving;
  logic [Width-1:0] reference[Size];
  int unsigned cycle, requests, replies, refused, held, controls;
  logic done;
  assign done_o = !rst && done;

  always @(posedge clk) begin
    if (rst) begin
      {request_valid, ctl_valid, ctl_write, hold, done} <= '0;
      {cycle, requests, replies, refused, held, controls} <= '0;
      request_tag <= '0;
      request_data <= '0;
      ctl_target <= '0;
      ctl_address <= '0;
      ctl_wdata <= '0;
      for (int unsigned k = 0; k < Size; k++) reference[k] = '0;
      for (int unsigned k = 0; k <= Latency; k++) taken[k] = '0;
    end else if (!done) begin
      cycle <= cycle + 1;
      for (int unsigned k = Latency; k > 0; k--) taken[k] = taken[k-1];
      entering = {request_valid && request_ready, request_tag, 32'(request_data)};
      taken[0] = entering;
      leaving = taken[Latency];
      if (entering.valid) requests <= requests + 1;
      if (entering.valid && hold) $fatal(1, "%m: a request is taken while the channel holds");
      if (!request_ready && !hold) refused <= refused + 1;
      if (hold) held <= held + 1;
      if (reply_valid !== leaving.valid) $fatal(1, "%m: a reply is not at its time");
      if (reply_valid) begin
        replies <= replies + 1;
        if (reply_tag !== leaving.tag) $fatal(1, "%m: reply has another's tag");
        if (reply_data !== (leaving.index < Size ? reference[leaving.index%Size] : '0)) begin
          $fatal(1, "%m: element %0d reads %h", leaving.index, reply_data);
        end
      end
      if (ctl_done) begin
        controls <= controls + 1;
        if (reply_valid || !ctl_valid || ctl_target !== Target) begin
          $fatal(1, "%m: an access is done that is not due");
        end
        if (ctl_rdata !== (ctl_address < Size ? CtlBits'(reference[ctl_address%Size]) : '0)) begin
          $fatal(1, "%m: the control plane reads %h", ctl_rdata);
        end
        if (ctl_write && ctl_address < Size) reference[ctl_address] = ctl_wdata[Width-1:0];
      end else if (ctl_rdata !== '0) $fatal(1, "%m: control data without an access");

      hold <= percent(Hold);
      if (!request_valid || request_ready) begin
        request_valid <= cycle < Cycles && !percent(Idle);
        request_tag   <= TagBits'($urandom());
        request_data  <=
            IndexBits'(percent(90) ? $urandom() % Size : $urandom() >> ($urandom() % 32));
      end
      if (!ctl_valid || ctl_done || (ctl_target != Target && percent(20))) begin
        ctl_valid   <= cycle < Cycles && percent(Control);
        ctl_write   <= percent(70);
        ctl_target  <= percent(80) ? Target : Target + 1'b1;
        ctl_address <= percent(90) ? $urandom() % Size : $urandom();
        ctl_wdata   <= CtlBits'({$urandom(), $urandom(), $urandom(), $urandom()});
      end
      if (cycle > Cycles + 3 * Latency) begin
        if (requests !== replies) $fatal(1, "%m: %0d requests, %0d replies", requests, replies);
        if (refused > controls) begin
          $fatal(1, "%m: %0d cycles refused for %0d accesses", refused, controls);
        end
        if (Idle === 0 && requests + controls + held + 20 < Cycles) begin
          $fatal(1, "%m: only %0d requests", requests);
        end
        if (Control > 0 && controls < Cycles / 50) begin
          $fatal(1, "%m: only %0d control accesses", controls);
        end
        done <= 1'b1;
      end
    end
  end
endmodule
