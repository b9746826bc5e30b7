// Behavioural model of a QDRII / QDRII+ SRAM, burst of two, with the user port of its controller.
// For test benches only.
//
// It accepts one read command and one write command in each memory cycle, to any addresses: the
// part takes the read address on the rising edge and the write address on the falling edge of the
// clock, and has one data bus for each direction, two words a cycle. A read thus sees all writes of
// earlier cycles and none of its own cycle (QDRII: "forwards data"). A 300 MHz QDRII performs 300
// million reads and as many writes a second; a QDRII+ of the paper's section 4.4 performs 600
// million: only the clock that drives this module differs.
//
// Contract: `rd_data_o` holds the burst exactly `Latency` cycles after its command, for one cycle;
// in cycles without read data it deliberately holds a wrong value. A command outside the part stops
// the simulation. Commands in the first eight cycles of a simulation are ignored (a part must lock
// its clock first), so the reset of its users must last longer. Contents: zero, or
// +wl_image_<Image>=FILE of bursts in hexadecimal (`$readmemh`), the first word of a burst in the
// lowest bits.
//
// Parameters
//   WordBits      18 or 36
//   Words         words of the part; the paper's has 4,194,304 of 18 bits
//   AddressBits   bits of a burst's address
//   Latency       memory cycles from a command to its data, controller included; at least one
//   Image         name of the contents
module wl_qdr_model #(
    parameter int unsigned WordBits = 18,
    parameter int unsigned Words = 4194304,
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
  if (WordBits < 1 || Words < 2 || Words % 2 != 0
      || AddressBits < wl_pkg::bits(Words / 2)) begin : g_illegal
    $fatal(1,
        "wl_qdr_model: there must be a whole number of bursts, and an address hold one's number");
  end
  if (Latency < 1) begin : g_illegal_latency
    $fatal(1, "wl_qdr_model: data come at least one cycle after their command");
  end

  localparam int unsigned Bursts = Words / 2;
  localparam int unsigned BurstBits = wl_pkg::bits(Bursts);

  logic [DataBits-1:0] memory[Bursts];
  logic [Latency-1:0][DataBits-1:0] line;  // data under way, the youngest first
  logic [Latency:0][DataBits-1:0] line_next;
  logic locked, reads, writes;
  assign reads = rd_cmd_i && locked;
  assign writes = wr_cmd_i && locked;
  assign line_next =
      {line, reads ? memory[rd_addr_i[BurstBits-1:0]] : line[0] + {WordBits{2'b01}}};
  assign rd_data_o = line[Latency-1];

  always_ff @(posedge clk_mem_i) begin
    line <= line_next[Latency-1:0];
    if (writes) memory[wr_addr_i[BurstBits-1:0]] <= wr_data_i;
  end

  logic unused;
  assign unused = &{1'b0, line_next[Latency], rd_addr_i, wr_addr_i};

`ifdef SYNTHESIS
  assign locked = 1'b1;
`else
  localparam int unsigned LockCycles = 8;
  int unsigned cycle;
  assign locked = cycle == LockCycles;
  always_ff @(posedge clk_mem_i) begin
    if (!locked) cycle <= cycle + 1;
    if (reads && 64'(rd_addr_i) >= 64'(Bursts)) begin
      $fatal(1, "wl_qdr_model %s: read of burst %h", Image, rd_addr_i);
    end
    if (writes && 64'(wr_addr_i) >= 64'(Bursts)) begin
      $fatal(1, "wl_qdr_model %s: write of burst %h", Image, wr_addr_i);
    end
  end

  string image_file;
  initial begin
    // verilator lint_off PROCASSINIT
    cycle = 0;
    // verilator lint_on PROCASSINIT
    for (int unsigned k = 0; k < Bursts; k++) memory[k] = '0;
    if (Image != "" && $value$plusargs({"wl_image_", Image, "=%s"}, image_file) != 0) begin
      $readmemh(image_file, memory);
    end
  end
`endif
endmodule
