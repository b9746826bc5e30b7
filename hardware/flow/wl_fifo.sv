`include "wl_reset.svh"

// Small FIFO in LUT RAM: a word is at the output as soon as it is stored.
//
// Contract
//   Data and order: each word that enters leaves once, in order; an output that is not taken stays
//   stable.
//   Throughput: one word a cycle for a depth of two or more; a depth of one accepts a word every
//   second cycle, because `in_ready_o` never depends on `out_ready_i`.
//   Latency: one cycle. Room: Depth words. After reset it is empty.
// Timing: `in_ready_o` and `out_valid_o` are registers; `out_data_o` is an asynchronous read of LUT
// RAM.
// Cost: Width LUTs for every 32 or 64 words (two words a LUT on devices with dual-output LUT RAM),
// and two counters.
//
// Parameters
//   Width   bits of a word
//   Depth   capacity in words: 1 or more; above about 64 `wl_fifo_block` is smaller
module wl_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 2,
    localparam int unsigned FillBits = wl_pkg::bits(Depth + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic [Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o,

    output logic [FillBits-1:0] fill_o  // words stored
);

  if (Width < 1) begin : g_illegal_width
    $fatal(1, "wl_fifo: Width must be 1 or more");
  end
  if (Depth < 1) begin : g_illegal_depth
    $fatal(1, "wl_fifo: Depth must be 1 or more");
  end

  localparam int unsigned AddressBits = wl_pkg::bits(Depth);

  logic push, pop;
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      fill_o <= '0;
      in_ready_o <= 1'b1;
      out_valid_o <= 1'b0;
    end else if (push != pop) begin
      fill_o <= push ? fill_o + 1'b1 : fill_o - 1'b1;
      in_ready_o <= pop || fill_o != FillBits'(Depth - 1);
      out_valid_o <= push || fill_o != FillBits'(1);
    end
  end

  if (Depth == 1) begin : g_register
    always_ff @(posedge clk_i) if (push) out_data_o <= in_data_i;
  end else begin : g_ram
    logic [AddressBits-1:0] head, tail;

    function automatic logic [AddressBits-1:0] after(logic [AddressBits-1:0] address);
      return address == AddressBits'(Depth - 1) ? '0 : address + 1'b1;
    endfunction

    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) begin
        head <= '0;
        tail <= '0;
      end else begin
        if (pop) head <= after(head);
        if (push) tail <= after(tail);
      end
    end

    wl_ram_lut #(
        .Width(Width),
        .Depth(Depth)
    ) i_ram (
        .clk_i,
        .write_i(push),
        .write_address_i(tail),
        .write_data_i(in_data_i),
        .read_address_i(head),
        .read_data_o(out_data_o)
    );
  end

`ifdef FORMAL
  logic was_stalled;
  logic [Width-1:0] was_data;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was_data <= out_data_o;
    if (!rst_i) begin
      Room_A : assert (32'(fill_o) <= Depth);
      Ready_A : assert (in_ready_o == (fill_o != FillBits'(Depth)));
      Valid_A : assert (out_valid_o == (fill_o != '0));
      Stable_A : assert (!was_stalled || (out_valid_o && out_data_o == was_data));
    end
  end
`endif

endmodule
