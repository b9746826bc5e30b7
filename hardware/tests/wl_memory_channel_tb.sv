// Test bench of wl_memory_channel: every slot reads and writes in every core cycle, and the control
// plane in between; over numbers of slots, latencies and both memories. The order of slots and core
// cycles determines what each read sees.
module wl_memory_channel_tb;
  localparam int unsigned Cases = 6;
  logic [Cases-1:0] done;
  memory_channel_case #() i_qdr (.done_o(done[0]));
  memory_channel_case #(
      .Slots(6), .MemoryLatency(17), .Busy(100), .CtlSlot(2)
  ) i_qdr_plus (.done_o(done[1]));
  memory_channel_case #(.Slots(1), .MemoryLatency(1), .Busy(70)) i_one (.done_o(done[2]));
  memory_channel_case #(.Extra(5), .Busy(100), .Block(1'b1)) i_block (.done_o(done[3]));
  memory_channel_case #(
      .Slots(2), .MemoryLatency(2), .Busy(40), .Block(1'b1), .CtlSlot(0)
  ) i_two (.done_o(done[4]));
  memory_channel_case #(.MemoryLatency(9), .Busy(0)) i_idle (.done_o(done[5]));

  initial begin
    for (int unsigned k = 0; k < 1000 && done !== '1; k++) #1000;
    if (done !== '1) $fatal(1, "not done: cases %b", done);
    $display("PASS");
    $finish;
  end
endmodule

module memory_channel_case #(
    parameter int unsigned Slots = 3,
    parameter int unsigned MemoryLatency = 8,
    parameter int unsigned Extra = 0,          // cycles of latency above the minimum
    parameter int unsigned CtlSlot = Slots - 1,
    parameter int unsigned Busy = 90,          // percent of slots that read, and that write
    parameter bit Block = 1'b0,                // block RAM in place of the SRAM
    parameter int unsigned Cycles = 2500
) (
    output logic done_o
);
  localparam int unsigned AddressBits = 4;
  localparam int unsigned DataBits = 36;
  localparam int unsigned CtlBits = 40;
  localparam int unsigned Patience = 6;
  localparam int unsigned ReadLatency = wl_pkg::adapter_latency(Slots, MemoryLatency) + Extra;

  logic clk, clk_mem, rst;
  tb_clocks #(.Slots(Slots)) i_clocks (.clk_o(clk), .clk_mem_o(clk_mem), .rst_o(rst));

  logic [Slots-1:0] read_valid, write_valid;
  logic [Slots*AddressBits-1:0] read_address, write_address;
  logic [Slots*DataBits-1:0] read_data, write_data;
  logic hold, ctl_valid, ctl_write, ctl_done;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_wdata, ctl_rdata;
  logic rd_cmd, wr_cmd;
  logic [AddressBits-1:0] rd_addr, wr_addr;
  logic [DataBits-1:0] rd_data, wr_data;
  wl_memory_channel #(
      .Slots(Slots), .AddressBits(AddressBits), .DataBits(DataBits), .MemoryLatency(MemoryLatency),
      .ReadLatency(ReadLatency),
      .CtlSlot(CtlSlot), .CtlBits(CtlBits), .CtlTarget(8'd7), .Patience(Patience)
  ) i_dut (
      .clk_i(clk), .rst_i(rst),
      .read_valid_i(read_valid), .read_address_i(read_address), .read_data_o(read_data),
      .write_valid_i(write_valid), .write_address_i(write_address), .write_data_i(write_data),
      .hold_o(hold),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_wdata), .ctl_done_o(ctl_done), .ctl_data_o(ctl_rdata),
      .clk_mem_i(clk_mem), .rd_cmd_o(rd_cmd), .rd_addr_o(rd_addr), .rd_data_i(rd_data),
      .wr_cmd_o(wr_cmd), .wr_addr_o(wr_addr), .wr_data_o(wr_data)
  );
  if (Block) begin : g_block
    wl_qdr_block #(.WordBits(18), .Words(32), .Latency(MemoryLatency)) i_memory (
        .clk_mem_i(clk_mem), .rd_cmd_i(rd_cmd), .rd_addr_i(rd_addr), .rd_data_o(rd_data),
        .wr_cmd_i(wr_cmd), .wr_addr_i(wr_addr), .wr_data_i(wr_data)
    );
  end else begin : g_qdr
    wl_qdr_model #(.WordBits(18), .Words(32), .Latency(MemoryLatency)) i_memory (
        .clk_mem_i(clk_mem), .rd_cmd_i(rd_cmd), .rd_addr_i(rd_addr), .rd_data_o(rd_data),
        .wr_cmd_i(wr_cmd), .wr_addr_i(wr_addr), .wr_data_i(wr_data)
    );
  end

  // The expected data of a slot's read, if the address was ever written.
  typedef struct packed {
    logic due;
    logic [DataBits-1:0] data;
  } answer_t;
  logic [DataBits-1:0] reference[1<<AddressBits];
  logic [(1<<AddressBits)-1:0] written;
  answer_t answers[Slots*(ReadLatency+2)];  // those of slot k in each cycle at [Slots*cycle+k]
  answer_t ctl_answers[ReadLatency+2];  // expected data of a control read in each cycle
  answer_t answer;

  // A cycle is checked one cycle later, when it is known whether the control plane wrote in it.
  logic [Slots-1:0] was_write;
  logic [Slots*AddressBits-1:0] was_write_address, was_read_address;
  logic [Slots*DataBits-1:0] was_write_data;
  logic [Slots-1:0] was_read;
  int unsigned cycle, reads, controls, since_hold;
  logic done;
  assign done_o = !rst && done;

  function automatic void store(logic [AddressBits-1:0] address, logic [DataBits-1:0] data);
    reference[address] = data;
    written[address] = 1'b1;
  endfunction

  always @(posedge clk) begin
    if (rst) begin
      {read_valid, write_valid, ctl_valid, done} <= '0;
      {cycle, controls, since_hold} <= '0;
      reads = 0;
      {was_write, was_read, written} = '0;
      for (int unsigned k = 0; k <= ReadLatency + 1; k++) begin
        for (int unsigned slot = 0; slot < Slots; slot++) answers[Slots*k+slot] = '0;
        ctl_answers[k] = '0;
      end
      ctl_write <= 1'b0;
      ctl_target <= '0;
      ctl_address <= '0;
      ctl_wdata <= '0;
    end else if (!done) begin
      cycle <= cycle + 1;
      for (int unsigned k = ReadLatency + 1; k > 0; k--) begin
        for (int unsigned slot = 0; slot < Slots; slot++) begin
          answers[Slots*k+slot] = answers[Slots*(k-1)+slot];
        end
        ctl_answers[k] = ctl_answers[k-1];
      end
      // The cycle before this one, slot by slot: each slot reads, then writes.
      for (int unsigned k = 0; k < Slots; k++) begin
        answer.due = was_read[k] && written[was_read_address[k*AddressBits+:AddressBits]];
        answer.data = reference[was_read_address[k*AddressBits+:AddressBits]];
        answers[Slots+k] = answer;
        if (k == CtlSlot) begin
          answer.due = written[ctl_address[AddressBits-1:0]];
          answer.data = reference[ctl_address[AddressBits-1:0]];
          ctl_answers[1] = answer;
          if (ctl_done && ctl_write) begin
            if (was_write[k]) $fatal(1, "%m: the control plane writes in a slot that is in use");
            store(ctl_address[AddressBits-1:0], ctl_wdata[DataBits-1:0]);
          end
        end
        if (was_write[k]) begin
          store(was_write_address[k*AddressBits+:AddressBits],
              was_write_data[k*DataBits+:DataBits]);
        end
      end
      for (int unsigned k = 0; k < Slots; k++) begin
        answer = answers[Slots*ReadLatency+k];
        if (answer.due) begin
          reads = reads + 1;
          if (read_data[k*DataBits+:DataBits] !== answer.data) begin
            $fatal(1, "%m: slot %0d reads what is not there", k);
          end
        end
      end
      was_read = read_valid;
      was_read_address = read_address;
      was_write = write_valid;
      was_write_address = write_address;
      was_write_data = write_data;

      since_hold <= hold ? 0 : since_hold + 1;
      if (hold && since_hold < Patience) $fatal(1, "%m: users are held all the time");
      if (ctl_done) begin
        controls <= controls + 1;
        if (!ctl_valid || ctl_target !== 8'd7) begin
          $fatal(1, "%m: an access is done that was not asked for");
        end
        answer = ctl_answers[ReadLatency+1];
        if (ctl_write ? ctl_rdata !== '0
            : answer.due && ctl_rdata !== CtlBits'(answer.data)) begin
          $fatal(1, "%m: the control plane reads %h", ctl_rdata);
        end
      end else if (ctl_rdata !== '0) $fatal(1, "%m: control data without an access");
      if (!ctl_valid || ctl_done || ctl_target != 8'd7) begin
        ctl_valid   <= cycle < Cycles && $urandom() % 3 == 0;
        ctl_write   <= $urandom() % 2 == 0;
        ctl_target  <= $urandom() % 8 == 0 ? 8'd8 : 8'd7;
        ctl_address <= $urandom() % (1 << AddressBits);
        ctl_wdata   <= CtlBits'({$urandom(), $urandom()});
      end

      for (int unsigned k = 0; k < Slots; k++) begin
        // A user leaves its slot idle once when asked for a gap.
        read_valid[k] <= cycle < Cycles && $urandom() % 100 < Busy && !(hold && k == CtlSlot);
        write_valid[k] <= cycle < Cycles && $urandom() % 100 < Busy && !(hold && k == CtlSlot);
        read_address[k*AddressBits+:AddressBits] <= AddressBits'($urandom());
        write_address[k*AddressBits+:AddressBits] <= AddressBits'($urandom());
        write_data[k*DataBits+:DataBits] <= DataBits'({$urandom(), $urandom()});
      end
      if (cycle == Cycles + 50) begin
        if (reads < Cycles * Slots * Busy / 110) $fatal(1, "%m: only %0d reads", reads);
        if (controls < 100) $fatal(1, "%m: only %0d control accesses", controls);
        done <= 1'b1;
      end
    end
  end
endmodule
