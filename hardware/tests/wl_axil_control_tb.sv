// Test bench of wl_axil_control in front of wl_statistics and a memory of wide entries: registers
// read as documented, entries are transferred as a whole, a write leaves DATA as it is, unknown
// targets fail at once, and those that do not reply after the timeout, bad accesses get an error,
// and counters count every event. Over widths and numbers of counters.
module wl_axil_control_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  control_case #(.CtlBits(64), .Counters(2)) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  control_case #(
      .CtlBits(216), .Counters(20), .AddBits(7)
  ) i_20 (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  control_case #(.CtlBits(65), .Counters(64)) i_64 (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  control_case #(
      .CtlBits(128), .Counters(33), .AddBits(2), .Stall(128)
  ) i_33 (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
endmodule

module control_case #(
    parameter int unsigned CtlBits = 64,
    parameter int unsigned Counters = 2,
    parameter int unsigned AddBits = 1,
    parameter int unsigned Stall = 0  // cycles of 256 in which the master does not take a response
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Words = (CtlBits + 31) / 32;
  localparam int unsigned Entries = 8;

  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [15:0] awaddr, araddr;
  logic [31:0] wdata, rdata;
  logic [3:0] wstrb;
  logic [1:0] bresp, rresp;
  logic valid, write, ram_done, statistics_done;
  logic [7:0] target;
  logic [31:0] address;
  logic [CtlBits-1:0] data, ram_data, statistics_data;
  wl_axil_control #(
      .CtlBits(CtlBits), .Version(32'h12345678), .Geometry(32'h9abc), .Config(32'hdef0),
      .Targets(12), .Timeout(300)
  ) i_dut (
      .clk_i, .rst_i,
      .s_axil_awvalid_i(awvalid), .s_axil_awready_o(awready), .s_axil_awaddr_i(awaddr),
      .s_axil_wvalid_i(wvalid), .s_axil_wready_o(wready), .s_axil_wdata_i(wdata),
      .s_axil_wstrb_i(wstrb),
      .s_axil_bvalid_o(bvalid), .s_axil_bready_i(bready), .s_axil_bresp_o(bresp),
      .s_axil_arvalid_i(arvalid), .s_axil_arready_o(arready), .s_axil_araddr_i(araddr),
      .s_axil_rvalid_o(rvalid), .s_axil_rready_i(rready), .s_axil_rdata_o(rdata),
      .s_axil_rresp_o(rresp),
      .ctl_valid_o(valid), .ctl_write_o(write), .ctl_target_o(target), .ctl_address_o(address),
      .ctl_data_o(data),
      .ctl_done_i(ram_done || statistics_done), .ctl_data_i(ram_data | statistics_data)
  );

  // The events of each counter, until `quiet`.
  logic [Counters*AddBits-1:0] add;
  logic quiet;
  longint unsigned counted[Counters];
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Counters; i++) begin
      // At the maximum rate for a while: no counter may overflow between two visits of the scanner.
      add[i*AddBits+:AddBits] <= quiet || rst_i ? '0 : i % 2 == 0 ? '1 : AddBits'($urandom());
      if (rst_i) counted[i] <= 0;
      else counted[i] <= counted[i] + 64'(add[i*AddBits+:AddBits]);
    end
  end
  wl_statistics #(
      .Counters(Counters), .AddBits(AddBits), .CtlTarget(8'd7), .CtlBits(CtlBits)
  ) i_statistics (
      .clk_i, .rst_i, .add_i(add),
      .ctl_valid_i(valid), .ctl_write_i(write), .ctl_target_i(target), .ctl_address_i(address),
      .ctl_data_i(data),
      .ctl_done_o(statistics_done), .ctl_data_o(statistics_data)
  );

  // A target with entries as wide as the bus, which replies after a delay; it must never see a
  // partial entry.
  logic [CtlBits-1:0] memory[Entries];
  int unsigned wait_left;
  always_ff @(posedge clk_i) begin
    ram_done <= 1'b0;
    ram_data <= '0;
    if (rst_i || !valid || target != 8'd3 || ram_done) begin
      wait_left <= $urandom() % 20;
    end else if (wait_left != 0) begin
      wait_left <= wait_left - 1;
    end else begin
      ram_done <= 1'b1;
      wait_left <= $urandom() % 20;
      // What the bus has at the end of a write is nobody's data.
      ram_data <= write ? CtlBits'({$urandom(), $urandom(), $urandom()}) : memory[address%Entries];
      if (write) memory[address%Entries] <= data;
    end
  end

  // The master changes its signals at falling edges, and samples at rising ones.
  task automatic put(input logic [15:0] at, input logic [31:0] what, input logic [3:0] strobe,
      output logic [1:0] response);
    @(negedge clk_i);
    awaddr = at;
    wdata = what;
    wstrb = strobe;
    awvalid = 1'b1;
    wvalid = 1'b1;
    do @(posedge clk_i); while (!(awready && wready));
    @(negedge clk_i);
    awvalid = 1'b0;
    wvalid = 1'b0;
    bready = !tb_pkg::chance(Stall);
    do begin
      @(posedge clk_i);
      if (bvalid && bready) break;
      @(negedge clk_i);
      bready = !tb_pkg::chance(Stall);
    end while (1);
    response = bresp;
    @(negedge clk_i);
    bready = 1'b0;
  endtask
  task automatic take(input logic [15:0] at, output logic [31:0] what, output logic [1:0] response);
    @(negedge clk_i);
    araddr = at;
    arvalid = 1'b1;
    do @(posedge clk_i); while (!arready);
    @(negedge clk_i);
    arvalid = 1'b0;
    rready = !tb_pkg::chance(Stall);
    do begin
      @(posedge clk_i);
      if (rvalid && rready) break;
      @(negedge clk_i);
      rready = !tb_pkg::chance(Stall);
    end while (1);
    what = rdata;
    response = rresp;
    @(negedge clk_i);
    rready = 1'b0;
  endtask
  task automatic set(input logic [15:0] at, input logic [31:0] what);
    logic [1:0] response;
    put(at, what, 4'hf, response);
    if (response !== 2'b00) $fatal(1, "%m: a write to %h is refused", at);
  endtask
  task automatic expect_word(input logic [15:0] at, input logic [31:0] what);
    logic [31:0] word;
    logic [1:0] response;
    take(at, word, response);
    if (word !== what || response !== 2'b00) begin
      $fatal(1, "%m: %h reads as %h, not %h", at, word, what);
    end
  endtask
  // DATA has an entry. Bits above CtlBits read as zero if it `was_read`.
  task automatic expect_data(input logic [32*Words-1:0] entry, input logic was_read);
    logic [32*Words-1:0] expected;
    expected = was_read ? (32 * Words)'(CtlBits'(entry)) : entry;
    for (int unsigned i = 0; i < Words; i++) expect_word(16'h100 + 16'(4 * i), expected[32*i+:32]);
  endtask

  logic [31:0] word;
  logic [1:0] response;
  logic [32*Words-1:0] entries[Entries];
  longint unsigned low;
  initial begin
    done_o = 1'b0;
    quiet = 1'b0;
    {awvalid, wvalid, bready, arvalid, rready} = '0;
    @(negedge rst_i);
    @(posedge clk_i);
    expect_word(16'h000, 32'h12345678);
    expect_word(16'h004, 32'h9abc);
    expect_word(16'h008, CtlBits);
    expect_word(16'h01c, 32'hdef0);
    // Entries are written with an incrementing address, and read back in another order.
    set(16'h010, 3);
    set(16'h014, 0);
    for (int unsigned k = 0; k < Entries; k++) begin
      for (int unsigned i = 0; i < Words; i++) begin
        entries[k][32*i+:32] = $urandom();
        set(16'h100 + 16'(4 * i), entries[k][32*i+:32]);
      end
      set(16'h018, 32'h102);
      // A write leaves the data as they are.
      if (k % 2 == 0) expect_data(entries[k], 1'b0);
    end
    expect_word(16'h010, 3);
    for (int unsigned k = Entries; k > 0; k--) begin
      set(16'h014, k - 1);
      set(16'h018, 32'h1);
      expect_data(entries[k-1], 1'b1);
      expect_word(16'h014, k - 1);
    end
    // An access that gets an error has no effect.
    put(16'h014, 32'hffff, 4'h3, response);
    if (response !== 2'b10) $fatal(1, "%m: half a word is taken");
    put(16'h000, 32'hffff, 4'hf, response);
    if (response !== 2'b10) $fatal(1, "%m: VERSION is written");
    put(16'h018, 32'h3, 4'hf, response);
    if (response !== 2'b10) $fatal(1, "%m: command 3 is taken");
    take(16'h020, word, response);
    if (response !== 2'b10 || word !== 0) $fatal(1, "%m: what is not there is read");
    put(16'h100 + 16'(4 * Words), 32'h1, 4'hf, response);
    if (response !== 2'b10) $fatal(1, "%m: a word behind the entry is written");
    expect_word(16'h014, 0);
    // The same data are written to two entries, also after a write to no target, which fails.
    for (int unsigned i = 0; i < Words; i++) begin
      entries[2][32*i+:32] = $urandom();
      set(16'h100 + 16'(4 * i), entries[2][32*i+:32]);
    end
    entries[5] = entries[2];
    set(16'h014, 2);
    set(16'h018, 32'h2);
    set(16'h010, 12);
    set(16'h018, 32'h2);
    expect_word(16'h00c, 2);
    set(16'h010, 3);
    set(16'h014, 5);
    set(16'h018, 32'h2);
    expect_data(entries[5], 1'b0);
    for (int unsigned k = 2; k < 6; k++) begin
      set(16'h014, k);
      set(16'h018, 32'h1);
      expect_data(entries[k], 1'b1);
    end
    set(16'h014, 0);
    // A target that does not reply, and one that does not exist: STATUS is read while the former
    // would still be busy.
    set(16'h010, 12);
    set(16'h018, 32'h1);
    expect_word(16'h00c, 2);
    expect_word(16'h100, 0);
    set(16'h010, 9);
    set(16'h018, 32'h1);
    expect_word(16'h100, 0);
    expect_word(16'h00c, 2);
    set(16'h010, 3);
    set(16'h018, 32'h1);
    expect_word(16'h100, 32'(CtlBits'(entries[0])));
    expect_word(16'h00c, 0);
    // Counters, read while they count, and when everything has been added.
    set(16'h010, 7);
    for (int unsigned k = 0; k < 40; k++) begin
      longint unsigned before_;
      int unsigned at;
      at = k % Counters;
      before_ = counted[at];
      set(16'h014, at);
      set(16'h018, 32'h1);
      take(16'h100, word, response);
      low = 64'(word);
      if (low > counted[at]
          || low + longint'((2 * Counters + 4) * (2 ** AddBits - 1)) < before_) begin
        $fatal(1, "%m: counter %0d is %0d, and has counted %0d to %0d", at, low, before_,
            counted[at]);
      end
    end
    quiet = 1'b1;
    repeat (4 * Counters + 10) @(posedge clk_i);
    set(16'h014, 0);
    for (int unsigned at = 0; at < Counters; at++) begin
      set(16'h018, 32'h101);
      expect_word(16'h100, counted[at][31:0]);
      expect_word(16'h104, counted[at][63:32]);
    end
    // A counter that does not exist.
    set(16'h018, 32'h1);
    expect_word(16'h100, 0);
    expect_word(16'h00c, 0);
    done_o = 1'b1;
  end
endmodule
