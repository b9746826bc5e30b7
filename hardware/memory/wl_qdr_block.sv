// Block RAM with the user port and the timing of a QDR SRAM (`wl_qdr_model`), for FPGA boards
// without one. The paper's embedded test system (section 4.6) keeps its routes in such a memory.
//
// Contract: that of `wl_qdr_model`, cycle for cycle; `rd_data_o` is arbitrary in cycles without
// read data, and addresses wrap at the end of the memory.
// Timing: with a `Latency` of three or more there are registers on both sides of the block RAM, so
// that it meets a memory's clock.
//
// Parameters
//   WordBits      bits of a word; a burst has two
//   Words         words
//   AddressBits   bits of a burst's address
//   Latency       memory cycles from a command to its data; at least one
//   Image         name of the contents in simulation
module wl_qdr_block #(
    parameter int unsigned WordBits = 18,
    parameter int unsigned Words = 65536,
    parameter int unsigned AddressBits = wl_pkg::bits(Words / 2),
    parameter int unsigned Latency = 10,
    parameter Image = "",
    localparam int unsigned DataBits = 2 * WordBits
) (
    input logic clk_mem_i,

    input  logic                   rd_cmd_i,
    input  logic [AddressBits-1:0] rd_addr_i,
    output logic [   DataBits-1:0] rd_data_o,

    input logic                   wr_cmd_i,
    input logic [AddressBits-1:0] wr_addr_i,
    input logic [   DataBits-1:0] wr_data_i
);
  localparam int unsigned BurstBits = wl_pkg::bits(Words / 2);

  if (WordBits < 1 || Words < 2 || Words % 2 != 0 || AddressBits < BurstBits) begin : g_illegal
    $fatal(1,
        "wl_qdr_block: there must be a whole number of bursts, and an address hold one's number");
  end
  if (Latency < 1) begin : g_illegal_latency
    $fatal(1, "wl_qdr_block: data come at least one cycle after their command");
  end

  // Stages before the RAM; the read of the RAM is one stage, and the others follow it.
  localparam int unsigned Before = Latency > 2 ? 1 : 0;

  typedef struct packed {
    logic rd_cmd;
    logic [BurstBits-1:0] rd_addr;
    logic wr_cmd;
    logic [BurstBits-1:0] wr_addr;
    logic [DataBits-1:0] wr_data;
  } command_t;
  command_t pins, command;
  assign pins.rd_cmd  = rd_cmd_i;
  assign pins.rd_addr = rd_addr_i[BurstBits-1:0];
  assign pins.wr_cmd  = wr_cmd_i;
  assign pins.wr_addr = wr_addr_i[BurstBits-1:0];
  assign pins.wr_data = wr_data_i;
  logic [DataBits-1:0] rd_data;
  wl_delay #(
      .Width ($bits(command_t)),
      .Cycles(Before)
  ) i_before (
      .clk_i (clk_mem_i),
      .rst_i (1'b0),
      .data_i(pins),
      .data_o(command)
  );

  wl_ram_block #(
      .Width(DataBits),
      .Depth(Words / 2),
      .Image(Image)
  ) i_ram (
      .clk_i(clk_mem_i),
      .write_i(command.wr_cmd),
      .write_address_i(command.wr_addr),
      .write_data_i(command.wr_data),
      .read_i(command.rd_cmd),
      .read_address_i(command.rd_addr),
      .read_data_o(rd_data)
  );

  wl_delay #(
      .Width (DataBits),
      .Cycles(Latency - 1 - Before)
  ) i_after (
      .clk_i (clk_mem_i),
      .rst_i (1'b0),
      .data_i(rd_data),
      .data_o(rd_data_o)
  );

  logic unused;
  assign unused = &{1'b0, rd_addr_i, wr_addr_i};
endmodule
