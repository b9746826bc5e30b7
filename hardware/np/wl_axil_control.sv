// Control port of the network processor: an AXI4-Lite slave of 32 bits that reads and writes entries of tables and counters over the
// control bus. An entry may be wider than 32 bits: it is put together in the data registers and then moved in one access, so that no
// packet sees a torn entry.
//
// Memory map (byte addresses; all registers 32 bits wide)
//   0x000  VERSION    ro   Version
//   0x004  GEOMETRY   ro   {threads[31:24], engines[23:16], clusters[15:8], pipes[7:0]}
//   0x008  DATABITS   ro   CtlBits
//   0x00c  STATUS     ro   bit 0 busy; bit 1 failed: the last command got no answer (no such target) within Timeout cycles
//   0x010  TARGET     rw   bits 7:0: whom the next command is for
//   0x014  ADDRESS    rw   entry of that target
//   0x018  COMMAND    wo   1 read, 2 write; starts the command. Bit 8: add 1 to ADDRESS when it is done. While busy: waits.
//   0x01c  CONFIG     ro   Config: what the generator wants a driver to know (its hash of the program)
//   0x100  DATA[k]    rw   word k of the entry (k < ceil(CtlBits / 32)), word 0 least significant: to be written, or what was read
// A write of anything while a command is under way waits until it is done; so does a read of DATA. Other addresses read as zero, and
// writes to them, or with a `wstrb` that is not all ones, are answered with SLVERR and do nothing.
//
// Contract: one control access at a time; ctl_* stay until `ctl_done_i`. Replies on AXI come in order.
// Timing: one multiplexer for reads, registered.
//
// Parameters
//   CtlBits    bits of the control bus' data
//   Version    what VERSION reads as
//   Geometry   what GEOMETRY reads as
//   Config     what CONFIG reads as
//   Timeout    cycles until a command without answer fails
module wl_axil_control #(
    parameter int unsigned CtlBits = 64,
    parameter bit [31:0] Version = 32'd1,
    parameter bit [31:0] Geometry = 32'd0,
    parameter bit [31:0] Config = 32'd0,
    parameter int unsigned Timeout = 65536
) (
    input logic clk_i,
    input logic rst_i,

    // AXI4-Lite.
    input  logic        s_axil_awvalid_i,
    output logic        s_axil_awready_o,
    input  logic [15:0] s_axil_awaddr_i,
    input  logic        s_axil_wvalid_i,
    output logic        s_axil_wready_o,
    input  logic [31:0] s_axil_wdata_i,
    input  logic [ 3:0] s_axil_wstrb_i,
    output logic        s_axil_bvalid_o,
    input  logic        s_axil_bready_i,
    output logic [ 1:0] s_axil_bresp_o,
    input  logic        s_axil_arvalid_i,
    output logic        s_axil_arready_o,
    input  logic [15:0] s_axil_araddr_i,
    output logic        s_axil_rvalid_o,
    input  logic        s_axil_rready_i,
    output logic [31:0] s_axil_rdata_o,
    output logic [ 1:0] s_axil_rresp_o,

    // Control bus, as master.
    output logic               ctl_valid_o,
    output logic               ctl_write_o,
    output logic [        7:0] ctl_target_o,
    output logic [       31:0] ctl_address_o,
    output logic [CtlBits-1:0] ctl_data_o,
    input  logic               ctl_done_i,
    input  logic [CtlBits-1:0] ctl_data_i
);
endmodule
