`include "wl_reset.svh"

// A channel to a QDR SRAM: `Slots` reads and `Slots` writes in each core cycle, and the control
// plane's access to the memory.
//
// Each slot belongs to one user on the core side: a stage of a lookup pipeline, a table, or a
// counter. The memory's clock has `Slots` times the frequency of the core's; slot k of a core cycle
// is performed in the k-th memory cycle of that core cycle (`wl_rate_adapter`).
//
// Contract
//   Data: `read_data_o` of a slot holds the burst exactly `ReadLatency` core cycles after
//   `read_valid_i`. A read sees all writes of earlier core cycles. Of the writes of its own core
//   cycle it sees those of lower slots, but not that of its own slot: if an element of several
//   bursts is read in the same slots in which it is written, a reader never sees a partial write.
//   Throughput: every slot in every core cycle. Nothing stalls.
//   Reset: of the writes of a core cycle all are performed or none, whenever the reset comes.
//   Control plane: an access is one burst at its address in the memory. It takes slot `CtlSlot` in
//   a cycle in which the user of the slot leaves it idle. If there is no such cycle for `Patience`
//   cycles, `hold_o` asks the users for one cycle to accept no new request, and again after as many
//   cycles; the gap reaches the slot later. The users thus lose at most one request in `Patience` +
//   1 while the control plane accesses the memory. A write access is done when each later read sees
//   it.
// Clocks: those of `wl_rate_adapter`.
// Timing: one multiplexer between the users and a register.
//
// Parameters
//   Slots           memory cycles in a core cycle: 3 for a 300 MHz QDRII and a 100 MHz core, 6 for
//                   QDRII+
//   AddressBits     bits of a burst's address
//   DataBits        bits of a burst: two words
//   MemoryLatency   memory cycles from a command on `rd_cmd_o` to its data on `rd_data_i`
//   ReadLatency     core cycles from `read_valid_i` to `read_data_o`; the minimum, and default, is
//                   wl_pkg::adapter_latency
//   CtlSlot         the slot that the control plane shares with its user
//   CtlBits         bits of the control bus' data
//   CtlTarget       number of this memory on the control bus
//   Patience        cycles that a control access waits before it asks for an idle cycle
module wl_memory_channel #(
    parameter int unsigned Slots = 3,
    parameter int unsigned AddressBits = 21,
    parameter int unsigned DataBits = 36,
    parameter int unsigned MemoryLatency = 10,
    parameter int unsigned ReadLatency = wl_pkg::adapter_latency(Slots, MemoryLatency),
    parameter int unsigned CtlSlot = Slots - 1,
    parameter int unsigned CtlBits = 64,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16
) (
    input logic clk_i,
    // verilator lint_off SYNCASYNCNET
    input logic rst_i,  // wl_rate_adapter takes it at the clock's edge
    // verilator lint_on SYNCASYNCNET

    // Users, one for each slot.
    input  logic [Slots-1:0]                  read_valid_i,
    input  logic [Slots-1:0][AddressBits-1:0] read_address_i,
    output logic [Slots-1:0][   DataBits-1:0] read_data_o,
    input  logic [Slots-1:0]                  write_valid_i,
    input  logic [Slots-1:0][AddressBits-1:0] write_address_i,
    input  logic [Slots-1:0][   DataBits-1:0] write_data_i,
    output logic                              hold_o,           // accept no request

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // of a burst
    input  logic [CtlBits-1:0] ctl_data_i,     // the burst, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o,     // the burst read, zero unless done

    // The user port of the memory.
    input  logic                   clk_mem_i,
    output logic                   rd_cmd_o,
    output logic [AddressBits-1:0] rd_addr_o,
    input  logic [   DataBits-1:0] rd_data_i,
    output logic                   wr_cmd_o,
    output logic [AddressBits-1:0] wr_addr_o,
    output logic [   DataBits-1:0] wr_data_o
);
  localparam int unsigned Least = wl_pkg::adapter_latency(Slots, MemoryLatency);
  localparam int unsigned WaitBits = wl_pkg::bits(Patience + 1);

  if (Slots < 1 || CtlSlot >= Slots) begin : g_illegal_slot
    $fatal(1, "wl_memory_channel: there must be a slot, and CtlSlot be one");
  end
  if (ReadLatency < Least) begin : g_illegal_latency
    $fatal(1, "wl_memory_channel: ReadLatency is less than the rate adapter and the memory take");
  end
  if (AddressBits < 1 || AddressBits > 32 || DataBits < 1 || CtlBits < DataBits
      || Patience < 1) begin : g_illegal
    $fatal(1,
        "wl_memory_channel: AddressBits must be 1 to 32, CtlBits hold a burst, Patience 1 or more");
  end

  // The access of the control plane.
  logic entered, wanted, take_read, take_write, read_done;
  logic [WaitBits-1:0] waited;
  assign wanted = ctl_valid_i && ctl_target_i == CtlTarget && !entered;
  assign take_read = wanted && !ctl_write_i && !read_valid_i[CtlSlot];
  assign take_write = wanted && ctl_write_i && !write_valid_i[CtlSlot];
  assign hold_o = waited == WaitBits'(Patience);

  wl_delay #(
      .Width (1),
      .Cycles(ReadLatency),
      .Reset (1'b1)
  ) i_read_done (
      .clk_i,
      .rst_i,
      .data_i(take_read),
      .data_o(read_done)
  );

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      entered <= 1'b0;
      waited <= '0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
    end else begin
      if (take_read || take_write) entered <= 1'b1;
      else if (ctl_done_o) entered <= 1'b0;
      waited <= !wanted || take_read || take_write || hold_o ? '0 : waited + 1'b1;
      ctl_done_o <= read_done || take_write;
      ctl_data_o <= read_done ? CtlBits'(read_data_o[CtlSlot]) : '0;
    end
  end

  // The path to the memory.
  typedef struct packed {
    logic reads;
    logic writes;
    logic [AddressBits-1:0] read_address;
    logic [AddressBits-1:0] write_address;
    logic [DataBits-1:0] write_data;
  } command_t;
  command_t [Slots-1:0] down;
  command_t command;  // of the memory cycle
  for (genvar k = 0; k < Slots; k++) begin : g_slot
    command_t slot;
    assign down[k] = slot;
    if (k == CtlSlot) begin : g_shared
      assign slot.reads = read_valid_i[k] || take_read;
      assign slot.writes = write_valid_i[k] || take_write;
      assign slot.read_address = read_valid_i[k] ? read_address_i[k]
          : ctl_address_i[AddressBits-1:0];
      assign slot.write_address = write_valid_i[k] ? write_address_i[k]
          : ctl_address_i[AddressBits-1:0];
      assign slot.write_data = write_valid_i[k] ? write_data_i[k] : ctl_data_i[DataBits-1:0];
    end else begin : g_own
      assign slot.reads = read_valid_i[k];
      assign slot.writes = write_valid_i[k];
      assign slot.read_address = read_address_i[k];
      assign slot.write_address = write_address_i[k];
      assign slot.write_data = write_data_i[k];
    end
  end

  logic [Slots-1:0][DataBits-1:0] up;
  wl_rate_adapter #(
      .Slots(Slots),
      .DownWidth($bits(command_t)),
      .UpWidth(DataBits),
      .MemoryLatency(MemoryLatency)
  ) i_adapter (
      .clk_i,
      .rst_i,
      .down_i(down),
      .up_o(up),
      .clk_mem_i,
      .down_o(command),
      .up_i(rd_data_i)
  );
  assign rd_cmd_o = command.reads;
  assign rd_addr_o = command.read_address;
  assign wr_cmd_o = command.writes;
  assign wr_addr_o = command.write_address;
  assign wr_data_o = command.write_data;

  wl_delay #(
      .Width (Slots * DataBits),
      .Cycles(ReadLatency - Least)
  ) i_wait (
      .clk_i,
      .rst_i,
      .data_i(up),
      .data_o(read_data_o)
  );

  logic unused;
  assign unused = &{1'b0, ctl_address_i, ctl_data_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Alone_A : assert (!(take_read && read_valid_i[CtlSlot])
          && !(take_write && write_valid_i[CtlSlot]));
      Once_A : assert (!(entered && (take_read || take_write)));
      CtlHeld_M : assume (!entered || (ctl_valid_i && ctl_target_i == CtlTarget));
    end
  end
`endif
endmodule
