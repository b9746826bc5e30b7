`include "wl_reset.svh"

// Table in block RAM that a pipeline reads in every cycle; it never stalls the pipeline.
//
// Contract
//   Data: the word at `read_address_i` is on `read_data_o` exactly `ReadLatency` cycles after
//   `read_valid_i`; a read sees each write that was done before. The control plane writes a whole
//   word in one cycle, independently of reads, so that no reader sees a partial write. It reads in
//   a cycle in which the pipeline does not; if there is no such cycle for `Patience` cycles,
//   `hold_o` asks the users to start nothing new until there has been one.
//   Throughput: one read a cycle.
//   Contents: zero at power-up; in simulation from +wl_image_<Image>=FILE.
// Timing: with a `ReadLatency` of 2 or more, a block RAM between registers.
//
// Parameters
//   Width         bits of a word
//   Size          words
//   ReadLatency   cycles from a read to its data; at least one
//   CtlBits       bits of the control bus' data
//   CtlTarget     number of this table on the control bus; its addresses are the words' indices
//   Patience      cycles that a control read waits before it asks for an idle cycle
//   Image         name of the contents in simulation
module wl_read_table #(
    parameter int unsigned Width = 32,
    parameter int unsigned Size = 1024,
    parameter int unsigned ReadLatency = 2,
    parameter int unsigned CtlBits = 64,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16,
    parameter Image = "",
    localparam int unsigned AddressBits = wl_pkg::bits(Size)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   read_valid_i,
    input  logic [AddressBits-1:0] read_address_i,
    output logic [      Width-1:0] read_data_o,
    output logic                   hold_o,          // start nothing new

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // index
    input  logic [CtlBits-1:0] ctl_data_i,     // the word, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the word read, zero unless done
);
  if (Width < 1 || Size < 1 || Patience < 1 || CtlBits < Width) begin : g_illegal
    $fatal(1,
        "wl_read_table: Width, Size and Patience must be at least one, and CtlBits hold a word");
  end
  if (ReadLatency < 1) begin : g_illegal_latency
    $fatal(1, "wl_read_table: data come at least one cycle after their read");
  end

  localparam int unsigned WaitBits = wl_pkg::bits(Patience + 1);

  logic entered, wanted, exists, take_read, take_write, read_done;
  logic [WaitBits-1:0] waited;
  assign wanted = ctl_valid_i && ctl_target_i == CtlTarget && !entered;
  assign exists = {1'b0, ctl_address_i} < 33'(Size);
  assign take_read = wanted && !ctl_write_i && !read_valid_i;
  assign take_write = wanted && ctl_write_i;
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
      if (!wanted || take_read || take_write) waited <= '0;
      else if (!hold_o) waited <= waited + 1'b1;
      ctl_done_o <= read_done || take_write;
      ctl_data_o <= read_done && exists ? CtlBits'(read_data_o) : '0;
    end
  end

  logic [Width-1:0] data;
  wl_ram_block #(
      .Width(Width),
      .Depth(Size),
      .Image(Image)
  ) i_ram (
      .clk_i,
      .write_i(take_write && exists),
      .write_address_i(ctl_address_i[AddressBits-1:0]),
      .write_data_i(ctl_data_i[Width-1:0]),
      .read_i(read_valid_i || take_read),
      .read_address_i(read_valid_i ? read_address_i : ctl_address_i[AddressBits-1:0]),
      .read_data_o(data)
  );

  wl_delay #(
      .Width (Width),
      .Cycles(ReadLatency - 1)
  ) i_after (
      .clk_i,
      .rst_i,
      .data_i(data),
      .data_o(read_data_o)
  );

  logic unused;
  assign unused = &{1'b0, ctl_data_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Alone_A : assert (!(take_read && read_valid_i));
      Once_A : assert (!(entered && (take_read || take_write)));
      CtlHeld_M : assume (!entered || (ctl_valid_i && ctl_target_i == CtlTarget));
    end
  end
`endif
endmodule
