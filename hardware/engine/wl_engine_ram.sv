// What an engine keeps for each thread: one write port, one read port with a registered output, in LUT or block RAM.
//
// Contract: `read_data_o` shows the word at `read_address_i` one cycle later; a word that is written in the cycle of its address shows
// its old value. With one word this is a register. Contents are unknown until written.
// Timing: a register's output, or a block RAM's.
module wl_engine_ram #(
    parameter int unsigned Width = 32,   // bits of a word
    parameter int unsigned Depth = 4,    // words
    parameter int unsigned Storage = 0,  // 0: LUT RAM, 1: block RAM
    localparam int unsigned AddressBits = wl_pkg::bits(Depth)
) (
    input logic clk_i,

    input logic                   write_i,
    input logic [AddressBits-1:0] write_address_i,
    input logic [      Width-1:0] write_data_i,

    input  logic [AddressBits-1:0] read_address_i,
    output logic [      Width-1:0] read_data_o
);
  if (Depth == 1) begin : g_register
    logic [Width-1:0] word;
    always_ff @(posedge clk_i) begin
      if (write_i) word <= write_data_i;
      read_data_o <= word;
    end
    logic unused;
    assign unused = &{write_address_i, read_address_i};
  end else if (Storage == 0) begin : g_lut
    logic [Width-1:0] word;
    wl_ram_lut #(
        .Width(Width),
        .Depth(Depth)
    ) i_ram (
        .clk_i,
        .write_i,
        .write_address_i,
        .write_data_i,
        .read_address_i,
        .read_data_o(word)
    );
    always_ff @(posedge clk_i) read_data_o <= word;
  end else begin : g_block
    wl_ram_block #(
        .Width(Width),
        .Depth(Depth)
    ) i_ram (
        .clk_i,
        .write_i,
        .write_address_i,
        .write_data_i,
        .read_i(1'b1),
        .read_address_i,
        .read_data_o
    );
  end
endmodule
