// A small memory in LUT RAM: one write port, one read port.
//
// Contract: `read_data_o` shows the word at `read_address_i` in the same cycle; a word that is
// being written shows its old value until the clock edge. There is one read and one write a
// cycle. Contents are unknown until written: there is no reset.
// Timing: a read takes two LUT levels for up to 256 words. Cost: Width * Depth / 64 LUTs, rounded
// up to pairs (simple dual port).
module wl_ram_lut #(
  parameter int unsigned Width = 32,                          // bits of a word
  parameter int unsigned Depth = 16,                          // words
  localparam int unsigned AddressBits = wl_pkg::bits(Depth)
) (
  input  logic                   clk_i,
  input  logic                   write_i,          // write this cycle
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o       // the word, in the same cycle
);
  if (Width == 0 || Depth == 0) begin : g_illegal
    $fatal(1, "wl_ram_lut: Width and Depth must be at least one");
  end

  (* ram_style = "distributed" *) logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_address_i] <= write_data_i;
  end

  assign read_data_o = memory[read_address_i];
endmodule
