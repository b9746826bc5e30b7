// A memory in block RAM: one write port and one read port on the same clock.
//
// Contract: the word at `read_address_i` is on `read_data_o` one cycle after `read_i`, and stays
// until the next read. There is one read and one write a cycle. A read of the address that is
// written in the same cycle returns the OLD word. Contents: zero at power-up, which is the default
// of the target's block RAMs; in simulation the memory is loaded from a file of hexadecimal words
// (`$readmemh`) if the plusarg `+wl_image_<Image>=FILE` is given. There is no reset.
// Timing: the read data come from a register; only memories deeper than one block have a
// multiplexer after it.
module wl_ram_block #(
  parameter int unsigned Width = 32,                          // bits of a word
  parameter int unsigned Depth = 1024,                        // words
  parameter Image = "",                                       // name of the plusarg; "": none
  localparam int unsigned AddressBits = wl_pkg::bits(Depth)
) (
  input  logic                   clk_i,
  input  logic                   write_i,          // write this cycle
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_i,           // read this cycle
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o       // the word, from the next cycle on
);
  if (Width == 0 || Depth == 0) begin : g_illegal
    $fatal(1, "wl_ram_block: Width and Depth must be at least one");
  end

  (* ram_style = "block" *) logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_address_i] <= write_data_i;
    if (read_i) read_data_o <= memory[read_address_i];
  end

`ifndef SYNTHESIS
  string image_file;
  initial begin
    for (int unsigned k = 0; k < Depth; k++) memory[k] = '0;
    if (Image != "" && $value$plusargs({"wl_image_", Image, "=%s"}, image_file) != 0) begin
      $readmemh(image_file, memory);
    end
  end
`endif
endmodule
