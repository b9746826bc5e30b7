`include "wl_reset.svh"

// Control port of the network processor: an AXI4-Lite slave of 32 bits that reads and writes
// entries of tables and counters over the control bus. An entry may be wider than 32 bits: it is
// assembled in the data registers and then transferred in one access, so that no packet sees a
// partial entry.
//
// Memory map (byte addresses; all registers 32 bits wide)
//   0x000  VERSION    ro   Version
//   0x004  GEOMETRY   ro   {clusters[31:24], engines[23:16], threads[15:0]}
//   0x008  DATABITS   ro   CtlBits
//   0x00c  STATUS     ro   bit 0: busy; bit 1: the last command failed: there is no such target,
//                          or it did not reply within Timeout cycles
//   0x010  TARGET     rw   bits 7:0: target of the next command
//   0x014  ADDRESS    rw   entry of that target
//   0x018  COMMAND    wo   1 read, 2 write; starts the command. Bit 8: add 1 to ADDRESS when it
//                          is done. While busy: waits.
//   0x01c  CONFIG     ro   {targets of a pipe[31:8], pipes[7:0]}
//   0x100  DATA[k]    rw   word k of the entry (k < ceil(CtlBits / 32)), word 0 least
//                          significant: the entry to write, or the entry read; a write leaves
//                          it as it is
// Any write while a command is under way waits until the command is done, and so does a read of
// DATA. The response is SLVERR for an address that is not in this list, a write to a read-only
// register, a command other than read and write, and a write with a `wstrb` that is not all ones;
// such an access has no effect and reads as zero.
//
// Contract: one control access at a time; ctl_* stay stable until `ctl_done_i`. AXI responses are
// in order.
// Timing: one multiplexer for reads, with a register after it.
//
// Parameters
//   CtlBits    bits of the control bus' data, 1 to 2048
//   Version    value of VERSION
//   Geometry   value of GEOMETRY
//   Config     value of CONFIG
//   Targets    targets on the control bus: a command to another one fails at once
//   Timeout    cycles after which a command without reply fails; more than the longest time for
//              which a target makes a command wait
module wl_axil_control #(
    parameter int unsigned CtlBits = 64,
    parameter bit [31:0] Version = 32'd2,
    parameter bit [31:0] Geometry = 32'd0,
    parameter bit [31:0] Config = 32'd0,
    parameter int unsigned Targets = 256,
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

    // Control bus, as the master.
    output logic               ctl_valid_o,
    output logic               ctl_write_o,
    output logic [        7:0] ctl_target_o,
    output logic [       31:0] ctl_address_o,
    output logic [CtlBits-1:0] ctl_data_o,
    input  logic               ctl_done_i,
    input  logic [CtlBits-1:0] ctl_data_i
);

  if (CtlBits < 1 || CtlBits > 2048) begin : g_illegal_bits
    $fatal(1, "wl_axil_control: CtlBits must be 1 to 2048");
  end
  if (Targets < 1 || Targets > 256) begin : g_illegal_targets
    $fatal(1, "wl_axil_control: Targets must be 1 to 256");
  end
  if (Timeout < 1) begin : g_illegal_timeout
    $fatal(1, "wl_axil_control: Timeout must be 1 or more");
  end

  localparam int unsigned Words = (CtlBits + 31) / 32;
  localparam int unsigned WordBits = wl_pkg::bits(Words);
  localparam int unsigned TimerBits = wl_pkg::bits(Timeout + 1);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlaveError = 2'b10;
  localparam logic [15:0] DataBase = 16'h100;

  function automatic logic in_data(logic [15:0] address);
    return address >= DataBase && 32'(address) < 32'(DataBase) + 4 * Words;
  endfunction

  logic busy, failed, increment;
  logic [Words-1:0][31:0] data;
  logic [TimerBits-1:0] timer;
  logic ends, nobody;
  assign nobody = 32'(ctl_target_o) >= Targets;
  assign ends = busy && (ctl_done_i || nobody || timer == TimerBits'(Timeout));
  assign ctl_valid_o = busy && !nobody;
  logic [32*Words-1:0] flat;
  assign flat = data;
  assign ctl_data_o = flat[CtlBits-1:0];

  // Writes: address and data are accepted together.
  logic write, write_good;
  logic [15:0] write_address;
  logic unused;
  assign unused = &{s_axil_awaddr_i[1:0], s_axil_araddr_i[1:0], flat};
  assign write_address = {s_axil_awaddr_i[15:2], 2'b00};
  assign write = s_axil_awvalid_i && s_axil_wvalid_i && !busy
      && (!s_axil_bvalid_o || s_axil_bready_i);
  assign s_axil_awready_o = write;
  assign s_axil_wready_o = write;
  always_comb begin
    case (write_address)
      16'h010, 16'h014: write_good = 1'b1;
      16'h018: write_good = s_axil_wdata_i[1:0] == 2'd1 || s_axil_wdata_i[1:0] == 2'd2;
      default: write_good = in_data(write_address);
    endcase
    if (s_axil_wstrb_i != '1) write_good = 1'b0;
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      s_axil_bvalid_o <= 1'b0;
      busy <= 1'b0;
      failed <= 1'b0;
    end else begin
      if (write) s_axil_bvalid_o <= 1'b1;
      else if (s_axil_bready_i) s_axil_bvalid_o <= 1'b0;
      if (write && write_good && write_address == 16'h018) busy <= 1'b1;
      else if (ends) busy <= 1'b0;
      if (ends) failed <= !ctl_done_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (write) s_axil_bresp_o <= write_good ? Okay : SlaveError;
    timer <= busy ? timer + 1'b1 : '0;
    if (write && write_good) begin
      if (write_address == 16'h010) ctl_target_o <= s_axil_wdata_i[7:0];
      if (write_address == 16'h014) ctl_address_o <= s_axil_wdata_i;
      if (write_address == 16'h018) begin
        ctl_write_o <= s_axil_wdata_i[1];
        increment   <= s_axil_wdata_i[8];
      end
    end else if (ends && increment) begin
      ctl_address_o <= ctl_address_o + 1'b1;
    end
    for (int unsigned word = 0; word < Words; word++) begin
      if (write && write_good && write_address == DataBase + 16'(4 * word)) begin
        data[word] <= s_axil_wdata_i;
      end
    end
    if (ends && !ctl_write_o) data <= (32 * Words)'(ctl_done_i ? ctl_data_i : '0);
  end

  // Reads.
  logic read;
  logic [15:0] read_address;
  logic [31:0] value;
  assign read_address = {s_axil_araddr_i[15:2], 2'b00};
  assign read = s_axil_arvalid_i && (!s_axil_rvalid_o || s_axil_rready_i)
      && !(busy && in_data(read_address));
  assign s_axil_arready_o = read;
  always_comb begin
    case (read_address)
      16'h000: value = Version;
      16'h004: value = Geometry;
      16'h008: value = CtlBits;
      16'h00c: value = {30'd0, failed, busy};
      16'h010: value = {24'd0, ctl_target_o};
      16'h014: value = ctl_address_o;
      16'h01c: value = Config;
      default: value = in_data(read_address) ? data[read_address[2+:WordBits]] : '0;
    endcase
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) s_axil_rvalid_o <= 1'b0;
    else if (read) s_axil_rvalid_o <= 1'b1;
    else if (s_axil_rready_i) s_axil_rvalid_o <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (read) begin
      s_axil_rdata_o <= value;
      s_axil_rresp_o <= read_address <= 16'h014 || read_address == 16'h01c || in_data(read_address)
          ? Okay : SlaveError;
    end
  end

`ifdef FORMAL
  logic was_write, was_read, was_address, was_data, was_busy;  // what was offered and not accepted
  logic [1:0] was_bresp, was_rresp;
  logic [31:0] was_rdata, was_wdata;
  logic [15:0] was_awaddr, was_araddr;
  logic was_access;
  logic [40+CtlBits:0] was_ctl;
  always_ff @(posedge clk_i) begin
    was_write <= !rst_i && s_axil_bvalid_o && !s_axil_bready_i;
    was_bresp <= s_axil_bresp_o;
    was_read  <= !rst_i && s_axil_rvalid_o && !s_axil_rready_i;
    {was_rresp, was_rdata} <= {s_axil_rresp_o, s_axil_rdata_o};
    was_address <= !rst_i && s_axil_awvalid_i && !s_axil_awready_o;
    was_awaddr <= s_axil_awaddr_i;
    was_data <= !rst_i && s_axil_wvalid_i && !s_axil_wready_o;
    was_wdata <= s_axil_wdata_i;
    was_access <= !rst_i && s_axil_arvalid_i && !s_axil_arready_o;
    was_araddr <= s_axil_araddr_i;
    was_busy <= !rst_i && busy && !ends;
    was_ctl <= {ctl_write_o, ctl_target_o, ctl_address_o, ctl_data_o};
    if (!rst_i) begin
      WriteReply_A : assert (!was_write || (s_axil_bvalid_o && s_axil_bresp_o == was_bresp));
      ReadReply_A : assert (!was_read
          || (s_axil_rvalid_o && {s_axil_rresp_o, s_axil_rdata_o} == {was_rresp, was_rdata}));
      Access_A : assert (!was_busy
          || ((ctl_valid_o || nobody)
          && {ctl_write_o, ctl_target_o, ctl_address_o, ctl_data_o} == was_ctl));
      Timeout_A : assert (!busy || 32'(timer) <= Timeout);
      Address_M : assume (!was_address || (s_axil_awvalid_i && s_axil_awaddr_i == was_awaddr));
      Data_M : assume (!was_data || (s_axil_wvalid_i && s_axil_wdata_i == was_wdata));
      Read_M : assume (!was_access || (s_axil_arvalid_i && s_axil_araddr_i == was_araddr));
    end
  end
`endif

endmodule
