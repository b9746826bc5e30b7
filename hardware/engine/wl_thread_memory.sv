// Stores one word of an engine for each thread, which is read when the thread's slot begins.
//
// Contract: `read_data_o` shows the word of `thread_i`, which must equal `next_thread_i` of the
// cycle before. A word that was written in an earlier cycle is seen. A word written in the cycle of
// `next_thread_i` is not seen from block RAM; the engine never reads that early. Contents are
// unknown until written.
// Timing: LUT RAM: an asynchronous read; block RAM: its output. Cost: Width * Threads / 48 LUTs,
// where fewer than 32 threads cost as much as 32.
module wl_thread_memory #(
    parameter int unsigned Width = 32,   // bits of a word
    parameter int unsigned Threads = 4,  // words; one word is a register
    parameter int unsigned Storage = 0,  // 0: LUT RAM, 1: block RAM
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads)
) (
    input logic clk_i,

    input logic                  write_i,
    input logic [ThreadBits-1:0] write_thread_i,
    input logic [     Width-1:0] write_data_i,

    input  logic [ThreadBits-1:0] next_thread_i,
    input  logic [ThreadBits-1:0] thread_i,
    output logic [     Width-1:0] read_data_o
);
  if (Threads == 1) begin : g_register
    always_ff @(posedge clk_i) begin
      if (write_i) read_data_o <= write_data_i;
    end
    logic unused;
    assign unused = &{write_thread_i, next_thread_i, thread_i};
  end else if (Storage == 0) begin : g_lut
    wl_ram_lut #(
        .Width(Width),
        .Depth(Threads)
    ) i_ram (
        .clk_i,
        .write_i,
        .write_address_i(write_thread_i),
        .write_data_i,
        .read_address_i(thread_i),
        .read_data_o
    );
    logic unused;
    assign unused = &next_thread_i;
  end else begin : g_block
    wl_ram_block #(
        .Width(Width),
        .Depth(Threads)
    ) i_ram (
        .clk_i,
        .write_i,
        .write_address_i(write_thread_i),
        .write_data_i,
        .read_i(1'b1),
        .read_address_i(next_thread_i),
        .read_data_o
    );
    logic unused;
    assign unused = &thread_i;
  end
endmodule
