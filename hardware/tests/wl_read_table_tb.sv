// Test bench of wl_read_table: contents, latency and rate while the control plane writes and reads,
// over widths, sizes, latencies and idle cycles.
module wl_read_table_tb;
  localparam int unsigned Cases = 5;
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));

  read_table_case #() i_usual (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  read_table_case #(
      .Size(13), .ReadLatency(1), .Idle(50), .Least(30)
  ) i_quick (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  read_table_case #(
      .Width(264), .Size(512), .ReadLatency(4), .Idle(10)
  ) i_wide (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  read_table_case #(
      .Width(1), .Size(1), .ReadLatency(1), .Patience(1)
  ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  // Users that start nothing new take some time to become idle.
  read_table_case #(
      .Size(5), .Lag(20), .Patience(3), .Least(40)
  ) i_lag (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
endmodule

module read_table_case #(
    parameter int unsigned Width = 27,
    parameter int unsigned Size = 64,
    parameter int unsigned ReadLatency = 2,
    parameter int unsigned Patience = 6,
    parameter int unsigned Idle = 0,  // percent of cycles
    parameter int unsigned Lag = 0,   // cycles until `hold_o` takes effect
    parameter int unsigned Least = 60,  // least reads in 100 cycles, with all control accesses
    parameter int unsigned Cycles = 3000
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned CtlBits = 288;
  localparam int unsigned AddressBits = wl_pkg::bits(Size);
  localparam logic [7:0] Target = 8'd9;

  logic read_valid, hold, ctl_valid, ctl_write, ctl_done;
  logic [AddressBits-1:0] read_address;
  logic [Width-1:0] read_data;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_wdata, ctl_rdata;
  wl_read_table #(
      .Width(Width), .Size(Size), .ReadLatency(ReadLatency), .CtlBits(CtlBits), .CtlTarget(Target),
      .Patience(Patience)
  ) i_dut (
      .clk_i, .rst_i,
      .read_valid_i(read_valid), .read_address_i(read_address), .read_data_o(read_data),
      .hold_o(hold),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_wdata), .ctl_done_o(ctl_done), .ctl_data_o(ctl_rdata)
  );

  function automatic logic percent(int unsigned p);
    return int'($urandom() % 100) < int'(p);
  endfunction

  function automatic logic [CtlBits-1:0] word();
    for (int unsigned k = 0; k < CtlBits; k += 32) word[k+:32] = $urandom();
  endfunction

  // The words after each finished access of the control plane. A read sees the writes that were
  // done before it; it may or may not see a write that is done in the cycle of the read.
  logic [Width-1:0] reference[Size];
  logic [Width-1:0] old_word[ReadLatency+1], new_word[ReadLatency+1];
  logic [ReadLatency:0] due;
  logic [Lag:0] held;
  int unsigned cycle, reads, writes, controls, waited;
  logic done;
  assign done_o = !rst_i && done;

  always @(posedge clk_i) begin
    if (rst_i) begin
      {read_valid, ctl_valid, ctl_write, done} <= '0;
      {cycle, reads, writes, controls, waited} <= '0;
      {read_address, ctl_target, ctl_address, ctl_wdata} <= '0;
      {due, held} = '0;
      for (int unsigned k = 0; k < Size; k++) reference[k] = '0;
    end else if (!done) begin
      logic writing;
      writing = ctl_valid && ctl_write && ctl_target == Target && ctl_address < Size;
      cycle <= cycle + 1;
      held = (Lag + 1)'({held, hold});
      // The read `ReadLatency` cycles ago.
      for (int unsigned k = ReadLatency; k > 0; k--) begin
        old_word[k] = old_word[k-1];
        new_word[k] = new_word[k-1];
      end
      due = (ReadLatency + 1)'({due, read_valid});
      old_word[0] = reference[32'(read_address)%Size];
      new_word[0] = writing && ctl_address == 32'(read_address) ? ctl_wdata[Width-1:0]
          : old_word[0];
      if (due[ReadLatency] && read_data !== old_word[ReadLatency]
          && read_data !== new_word[ReadLatency]) begin
        $fatal(1, "%m: a read gives %h, not %h or %h", read_data, old_word[ReadLatency],
            new_word[ReadLatency]);
      end
      if (due[ReadLatency]) reads <= reads + 1;
      if (ctl_done) begin
        if (!ctl_valid || ctl_target !== Target) $fatal(1, "%m: an access is done that is not due");
        if (!ctl_write
            && ctl_rdata
            !== (ctl_address < Size ? CtlBits'(reference[ctl_address%Size]) : '0)) begin
          $fatal(1, "%m: the control plane reads %h at %0d", ctl_rdata, ctl_address);
        end
        if (ctl_write && ctl_rdata !== '0) $fatal(1, "%m: a write answers");
        if (writing) reference[ctl_address] = ctl_wdata[Width-1:0];
        controls <= controls + 1;
        if (ctl_write) writes <= writes + 1;
        waited <= 0;
      end else begin
        if (ctl_rdata !== '0) $fatal(1, "%m: control data without an access");
        if (ctl_valid && ctl_target == Target) waited <= waited + 1;
        if (waited > Patience + Lag + ReadLatency + 8) $fatal(1, "%m: an access waits in vain");
        if (hold && waited < Patience) $fatal(1, "%m: impatient");
      end

      read_valid   <= cycle < Cycles && !held[Lag] && !percent(Idle);
      read_address <= AddressBits'($urandom() % Size);
      if (!ctl_valid || ctl_done || (ctl_target != Target && percent(20))) begin
        ctl_valid   <= cycle < Cycles && percent(60);
        ctl_write   <= percent(50);
        ctl_target  <= percent(80) ? Target : Target ^ 8'd1;
        ctl_address <= percent(90) ? $urandom() % Size : $urandom() >> ($urandom() % 32);
        ctl_wdata   <= word();
      end
      if (cycle == Cycles + 100) begin
        if (reads < Cycles * Least / 100 || writes < Cycles / 40
            || controls < writes + Cycles / 40) begin
          $fatal(1, "%m: only %0d reads, %0d writes, %0d control accesses", reads, writes,
              controls);
        end
        done <= 1'b1;
      end
    end
  end
endmodule
