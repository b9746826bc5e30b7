`include "wl_reset.svh"

// Connects one AXI4-Lite port to several slaves, each with a block of 64 KiB: the address bits
// above it are the number of the slave.
//
// Contract
//   A write goes to one slave, and so does a read. One write and one read are under way at a time,
//   and their responses are in order. An access to a slave that does not exist gets DECERR and
//   zero.
//   Slaves must accept address and data of a write in the same cycle, as wl_axil_control does.
// Timing: valid and ready pass through a comparison of the number, responses through a
// multiplexer. Latency: none.
//
// Parameters
//   Slaves   slaves, 1 to 256
module wl_axil_split #(
    parameter int unsigned Slaves = 2
) (
    input logic clk_i,
    input logic rst_i,

    // AXI4-Lite.
    input  logic        s_axil_awvalid_i,
    output logic        s_axil_awready_o,
    input  logic [23:0] s_axil_awaddr_i,
    input  logic        s_axil_wvalid_i,
    output logic        s_axil_wready_o,
    input  logic [31:0] s_axil_wdata_i,
    input  logic [ 3:0] s_axil_wstrb_i,
    output logic        s_axil_bvalid_o,
    input  logic        s_axil_bready_i,
    output logic [ 1:0] s_axil_bresp_o,
    input  logic        s_axil_arvalid_i,
    output logic        s_axil_arready_o,
    input  logic [23:0] s_axil_araddr_i,
    output logic        s_axil_rvalid_o,
    input  logic        s_axil_rready_i,
    output logic [31:0] s_axil_rdata_o,
    output logic [ 1:0] s_axil_rresp_o,

    // To the slaves; address and data are common to all.
    output logic [   Slaves-1:0] m_axil_awvalid_o,
    input  logic [   Slaves-1:0] m_axil_awready_i,
    output logic [         15:0] m_axil_awaddr_o,
    output logic [   Slaves-1:0] m_axil_wvalid_o,
    input  logic [   Slaves-1:0] m_axil_wready_i,
    output logic [         31:0] m_axil_wdata_o,
    output logic [          3:0] m_axil_wstrb_o,
    input  logic [   Slaves-1:0] m_axil_bvalid_i,
    output logic [   Slaves-1:0] m_axil_bready_o,
    input  logic [Slaves-1:0][1:0] m_axil_bresp_i,
    output logic [   Slaves-1:0] m_axil_arvalid_o,
    input  logic [   Slaves-1:0] m_axil_arready_i,
    output logic [         15:0] m_axil_araddr_o,
    input  logic [   Slaves-1:0] m_axil_rvalid_i,
    output logic [   Slaves-1:0] m_axil_rready_o,
    input  logic [Slaves-1:0][31:0] m_axil_rdata_i,
    input  logic [Slaves-1:0][1:0] m_axil_rresp_i
);

  if (Slaves < 1 || Slaves > 256) begin : g_illegal
    $fatal(1, "wl_axil_split: Slaves must be 1 to 256");
  end

  localparam logic [1:0] DecodeError = 2'b11;

  logic [Slaves-1:0] write_meant, read_meant;
  for (genvar i = 0; i < Slaves; i++) begin : g_slave
    assign write_meant[i] = s_axil_awaddr_i[23:16] == 8'(i);
    assign read_meant[i]  = s_axil_araddr_i[23:16] == 8'(i);
  end
  assign m_axil_awaddr_o = s_axil_awaddr_i[15:0];
  assign m_axil_wdata_o  = s_axil_wdata_i;
  assign m_axil_wstrb_o  = s_axil_wstrb_i;
  assign m_axil_araddr_o = s_axil_araddr_i[15:0];

  // Writes: the slave that has one, if any, until its response is taken.
  logic writing, write_taken;
  logic [Slaves-1:0] writer, written;
  assign written = {Slaves{!writing && s_axil_awvalid_i && s_axil_wvalid_i}} & write_meant;
  assign m_axil_awvalid_o = written;
  assign m_axil_wvalid_o = written;
  assign write_taken = !writing && s_axil_awvalid_i && s_axil_wvalid_i
      && (write_meant & ~m_axil_awready_i) == '0;
  assign s_axil_awready_o = write_taken;
  assign s_axil_wready_o = write_taken;
  assign s_axil_bvalid_o = writing && (writer == '0 || (writer & m_axil_bvalid_i) != '0);
  assign m_axil_bready_o = writer & {Slaves{writing && s_axil_bready_i}};
  always_comb begin
    s_axil_bresp_o = writer == '0 ? DecodeError : 2'b00;
    for (int unsigned i = 0; i < Slaves; i++) begin
      if (writer[i]) s_axil_bresp_o |= m_axil_bresp_i[i];
    end
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) writing <= 1'b0;
    else if (write_taken) writing <= 1'b1;
    else if (s_axil_bvalid_o && s_axil_bready_i) writing <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (write_taken) writer <= write_meant;
  end

  // Reads.
  logic reading, read_taken;
  logic [Slaves-1:0] reader;
  assign m_axil_arvalid_o = {Slaves{!reading && s_axil_arvalid_i}} & read_meant;
  assign read_taken = !reading && s_axil_arvalid_i && (read_meant & ~m_axil_arready_i) == '0;
  assign s_axil_arready_o = read_taken;
  assign s_axil_rvalid_o = reading && (reader == '0 || (reader & m_axil_rvalid_i) != '0);
  assign m_axil_rready_o = reader & {Slaves{reading && s_axil_rready_i}};
  always_comb begin
    s_axil_rresp_o = reader == '0 ? DecodeError : 2'b00;
    s_axil_rdata_o = '0;
    for (int unsigned i = 0; i < Slaves; i++) begin
      if (reader[i]) begin
        s_axil_rresp_o |= m_axil_rresp_i[i];
        s_axil_rdata_o |= m_axil_rdata_i[i];
      end
    end
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) reading <= 1'b0;
    else if (read_taken) reading <= 1'b1;
    else if (s_axil_rvalid_o && s_axil_rready_i) reading <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (read_taken) reader <= read_meant;
  end

  logic unused;
  assign unused = &m_axil_wready_i;

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Together_M : assume (((m_axil_awready_i ^ m_axil_wready_i) & written) == '0);
      One_A : assert ($onehot0(written) && $onehot0(m_axil_arvalid_o));
    end
  end
`endif
endmodule
