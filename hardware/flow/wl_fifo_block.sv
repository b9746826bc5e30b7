`include "wl_reset.svh"

// Large FIFO in block RAM. The read register of the RAM is the output register, so that no logic
// lies between it and the reader.
//
// Contract
//   Data and order: each word that enters leaves once, in order; an output that is not taken stays
//   stable.
//   Throughput: one word a cycle for a depth of two or more, every second cycle for a depth of one.
//   Latency: two cycles. Room: Depth words in the RAM and one in the output register. After reset
//   it is empty.
// Timing: `in_ready_o` and `out_valid_o` are registers; `out_data_o` is the block RAM's register.
//
// Parameters
//   Width   bits of a word
//   Depth   capacity of the RAM in words: 1 or more
module wl_fifo_block #(
    parameter int unsigned Width = 72,
    parameter int unsigned Depth = 512,
    localparam int unsigned FillBits = wl_pkg::bits(Depth + 2)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic [Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o,

    output logic [FillBits-1:0] fill_o  // words stored, including the output register
);

  if (Width < 1) begin : g_illegal_width
    $fatal(1, "wl_fifo_block: Width must be 1 or more");
  end
  if (Depth < 1) begin : g_illegal_depth
    $fatal(1, "wl_fifo_block: Depth must be 1 or more");
  end

  localparam int unsigned AddressBits = wl_pkg::bits(Depth);
  localparam int unsigned StoredBits = wl_pkg::bits(Depth + 1);

  // `stored` counts the words in the RAM that have not been read from it. It is below Depth
  // whenever a word is written, so that a word is never read in the cycle that writes to its place.
  logic [StoredBits-1:0] stored;
  logic some;  // stored != 0
  logic [AddressBits-1:0] head, tail;
  logic push, fetch;
  assign push   = in_valid_i && in_ready_o;
  assign fetch  = some && (!out_valid_o || out_ready_i);
  assign fill_o = FillBits'(stored) + FillBits'(out_valid_o);

  function automatic logic [AddressBits-1:0] after(logic [AddressBits-1:0] address);
    return address == AddressBits'(Depth - 1) ? '0 : address + 1'b1;
  endfunction

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      stored <= '0;
      some <= 1'b0;
      in_ready_o <= 1'b1;
      out_valid_o <= 1'b0;
      head <= '0;
      tail <= '0;
    end else begin
      if (push != fetch) begin
        stored <= push ? stored + 1'b1 : stored - 1'b1;
        some <= push || stored != StoredBits'(1);
        in_ready_o <= fetch || stored != StoredBits'(Depth - 1);
      end
      if (fetch) out_valid_o <= 1'b1;
      else if (out_ready_i) out_valid_o <= 1'b0;
      if (fetch) head <= after(head);
      if (push) tail <= after(tail);
    end
  end

  wl_ram_block #(
      .Width(Width),
      .Depth(Depth)
  ) i_ram (
      .clk_i,
      .write_i(push),
      .write_address_i(tail),
      .write_data_i(in_data_i),
      .read_i(fetch),
      .read_address_i(head),
      .read_data_o(out_data_o)
  );

`ifdef FORMAL
  logic was_stalled;
  logic [Width-1:0] was_data;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was_data <= out_data_o;
    if (!rst_i) begin
      Room_A : assert (32'(stored) <= Depth);
      Ready_A : assert (in_ready_o == (stored != StoredBits'(Depth)));
      Some_A : assert (some == (stored != '0));
      Stable_A : assert (!was_stalled || (out_valid_o && out_data_o === was_data));
    end
  end
`endif

endmodule
