// One byte-wide lane of the header windows: a memory with ReadPorts read ports (A) and one port
// that reads or writes (B).
//
// Contract: `a_data_o` shows the byte at `a_address_i` in the next cycle; a byte that is written in
// the cycle of the address is unknown.
// Port B: writes, or reads. LUT RAM: `b_data_o` shows the byte at `b_address_i` in the same cycle.
// In block RAM it shows the byte in the next cycle, and is unknown in a cycle after a write. The
// shared port B keeps lanes small: a LUT RAM with one more read port costs half as much again.
// Timing: `a_data_o` is a register. LUT RAM of up to 128 bytes: one LUT level and a multiplexer of
// the slice in front of it.
module wl_scratchpad_lane #(
    parameter int unsigned Depth = 64,     // bytes
    parameter int unsigned ReadPorts = 1,  // ports A
    parameter int unsigned Storage = 0,    // 0: LUT RAM, 1: block RAM
    localparam int unsigned AddressBits = wl_pkg::bits(Depth)
) (
    input logic clk_i,

    input  logic [ReadPorts-1:0][AddressBits-1:0] a_address_i,
    output logic [ReadPorts-1:0][            7:0] a_data_o,

    input  logic                   b_write_i,
    input  logic [AddressBits-1:0] b_address_i,
    input  logic [            7:0] b_data_i,
    output logic [            7:0] b_data_o
);
  // Each port A has its own copy, and all copies are written together: a block RAM has two ports,
  // and copies of LUT RAM are smaller than the multiplexers of RAMs with more read ports.
  if (Storage == 0) begin : g_lut
    for (genvar p = 0; p < ReadPorts; p++) begin : g_port
      (* ram_style = "distributed" *) logic [7:0] memory[Depth];
      always_ff @(posedge clk_i) begin
        if (b_write_i) memory[b_address_i] <= b_data_i;
      end
      always_ff @(posedge clk_i) a_data_o[p] <= memory[a_address_i[p]];
      if (p == 0) begin : g_first
        assign b_data_o = memory[b_address_i];
      end
    end
  end else begin : g_block
    for (genvar p = 0; p < ReadPorts; p++) begin : g_port
      (* ram_style = "block" *) logic [7:0] memory[Depth];
      always_ff @(posedge clk_i) begin
        if (b_write_i) memory[b_address_i] <= b_data_i;
        a_data_o[p] <= memory[a_address_i[p]];
      end
      if (p == 0) begin : g_first
        always_ff @(posedge clk_i) b_data_o <= memory[b_address_i];
      end
    end
  end
endmodule
