// Test bench of wl_axil_split in front of several wl_axil_control: data written to a slave are read
// back from it and from no other, with writes and reads at the same time; addresses without a slave
// get DECERR. Over numbers of slaves, also with a master that takes responses slowly.
module wl_axil_split_tb;
  localparam int unsigned Cases = 3;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  split_case #(.Slaves(1)) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  split_case #(.Slaves(3), .Stall(128)) i_three (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  split_case #(.Slaves(11), .Stall(30)) i_eleven (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
endmodule

module split_case #(
    parameter int unsigned Slaves = 2,
    parameter int unsigned Stall = 0  // cycles of 256 in which the master does not take a response
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Rounds = 400;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [23:0] awaddr, araddr;
  logic [31:0] wdata, rdata;
  logic [1:0] bresp, rresp;
  logic [Slaves-1:0] s_awvalid, s_awready, s_wvalid, s_wready, s_bvalid, s_bready, s_arvalid,
      s_arready, s_rvalid, s_rready;
  logic [15:0] s_awaddr, s_araddr;
  logic [31:0] s_wdata;
  logic [3:0] s_wstrb;
  logic [2*Slaves-1:0] s_bresp, s_rresp;
  logic [32*Slaves-1:0] s_rdata;
  wl_axil_split #(.Slaves(Slaves)) i_dut (
      .clk_i, .rst_i,
      .s_axil_awvalid_i(awvalid), .s_axil_awready_o(awready), .s_axil_awaddr_i(awaddr),
      .s_axil_wvalid_i(wvalid), .s_axil_wready_o(wready), .s_axil_wdata_i(wdata),
      .s_axil_wstrb_i(4'hf),
      .s_axil_bvalid_o(bvalid), .s_axil_bready_i(bready), .s_axil_bresp_o(bresp),
      .s_axil_arvalid_i(arvalid), .s_axil_arready_o(arready), .s_axil_araddr_i(araddr),
      .s_axil_rvalid_o(rvalid), .s_axil_rready_i(rready), .s_axil_rdata_o(rdata),
      .s_axil_rresp_o(rresp),
      .m_axil_awvalid_o(s_awvalid), .m_axil_awready_i(s_awready), .m_axil_awaddr_o(s_awaddr),
      .m_axil_wvalid_o(s_wvalid), .m_axil_wready_i(s_wready), .m_axil_wdata_o(s_wdata),
      .m_axil_wstrb_o(s_wstrb),
      .m_axil_bvalid_i(s_bvalid), .m_axil_bready_o(s_bready), .m_axil_bresp_i(s_bresp),
      .m_axil_arvalid_o(s_arvalid), .m_axil_arready_i(s_arready), .m_axil_araddr_o(s_araddr),
      .m_axil_rvalid_i(s_rvalid), .m_axil_rready_o(s_rready), .m_axil_rdata_i(s_rdata),
      .m_axil_rresp_i(s_rresp)
  );
  for (genvar i = 0; i < Slaves; i++) begin : g_slave
    wl_axil_control #(.Version(32'd1000 + i)) i_control (
        .clk_i, .rst_i,
        .s_axil_awvalid_i(s_awvalid[i]), .s_axil_awready_o(s_awready[i]),
        .s_axil_awaddr_i(s_awaddr),
        .s_axil_wvalid_i(s_wvalid[i]), .s_axil_wready_o(s_wready[i]), .s_axil_wdata_i(s_wdata),
        .s_axil_wstrb_i(s_wstrb),
        .s_axil_bvalid_o(s_bvalid[i]), .s_axil_bready_i(s_bready[i]),
        .s_axil_bresp_o(s_bresp[2*i+:2]),
        .s_axil_arvalid_i(s_arvalid[i]), .s_axil_arready_o(s_arready[i]),
        .s_axil_araddr_i(s_araddr),
        .s_axil_rvalid_o(s_rvalid[i]), .s_axil_rready_i(s_rready[i]),
        .s_axil_rdata_o(s_rdata[32*i+:32]), .s_axil_rresp_o(s_rresp[2*i+:2]),
        .ctl_valid_o(), .ctl_write_o(), .ctl_target_o(), .ctl_address_o(), .ctl_data_o(),
        .ctl_done_i(1'b1), .ctl_data_i('0)
    );
  end

  // Register 0x014 holds the last value written; register 0 identifies the slave; 0x000 cannot be
  // written.
  logic [31:0] held[Slaves];
  logic [Slaves-1:0] known;
  int unsigned writes, reads, strangers, write_to, read_from, read_what;
  logic writing, reading, illegal;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      awvalid <= 1'b0;
      wvalid <= 1'b0;
      arvalid <= 1'b0;
      bready <= 1'b0;
      rready <= 1'b0;
      done_o <= 1'b0;
      writes = 0;
      reads = 0;
      strangers = 0;
      writing = 1'b0;
      reading = 1'b0;
      known = '0;
    end else begin
      bready <= !tb_pkg::chance(Stall);
      rready <= !tb_pkg::chance(Stall);
      if (awvalid && awready) awvalid <= 1'b0;
      if (wvalid && wready) wvalid <= 1'b0;
      if (arvalid && arready) arvalid <= 1'b0;
      if (bvalid && bready) begin
        if (bresp !== (write_to >= Slaves ? 2'b11 : illegal ? 2'b10 : 2'b00)) begin
          $fatal(1, "%m: write to %0d answered with %b", write_to, bresp);
        end
        writing = 1'b0;
        writes = writes + 1;
      end
      if (rvalid && rready) begin
        if (rresp !== (read_from >= Slaves ? 2'b11 : 2'b00)) begin
          $fatal(1, "%m: read of %0d answered with %b", read_from, rresp);
        end
        if (read_from >= Slaves) strangers = strangers + 1;
        if (read_from >= Slaves && rdata !== '0) $fatal(1, "%m: nobody tells %h", rdata);
        if (read_from < Slaves && read_what === 0 && rdata !== 1000 + read_from) begin
          $fatal(1, "%m: slave %0d says it is %0d", read_from, rdata);
        end
        if (read_from < Slaves && read_what !== 0 && rdata !== held[read_from]) begin
          $fatal(1, "%m: slave %0d holds %h", read_from, rdata);
        end
        reading = 1'b0;
        reads = reads + 1;
      end
      // A read of the register that is being written would be undetermined.
      if (!writing && !(reading && read_what != 0) && tb_pkg::chance(100)) begin
        write_to = $urandom() % (Slaves + 2);
        illegal = tb_pkg::chance(30);
        writing = 1'b1;
        awvalid <= 1'b1;
        wvalid <= 1'b1;
        awaddr <= {8'(write_to), illegal ? 16'h000 : 16'h014};
        wdata <= $urandom();
      end else if (!reading && tb_pkg::chance(100)) begin
        read_from = $urandom() % (Slaves + 2);
        read_what = !writing && read_from < Slaves && known[read_from] && tb_pkg::chance(128)
            ? 16'h014 : 0;
        reading = 1'b1;
        arvalid <= 1'b1;
        araddr <= {8'(read_from), 16'(read_what)};
      end
      if (awvalid && awready && write_to < Slaves && !illegal) begin
        held[write_to] = wdata;
        known[write_to] = 1'b1;
      end
      if (reads > Rounds && writes > Rounds) begin
        if (strangers < 20) $fatal(1, "%m: %0d reads of no slave", strangers);
        done_o <= 1'b1;
      end
    end
  end
endmodule
