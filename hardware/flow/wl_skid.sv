`include "wl_reset.svh"

// Skid buffer: a register stage for a valid/ready stream that cuts every path, `ready` included.
//
// Contract
//   Data and order: each word that enters leaves once, in order; an output that is not taken stays
//   stable.
//   Throughput: one word a cycle. Latency: one cycle. Room: two words.
//   After reset it is empty.
// Timing: `in_ready_o` and all outputs are registers; the output register has a two-way multiplexer
// in front of it.
//
// Parameters
//   Width   bits of a word
module wl_skid #(
    parameter int unsigned Width = 8
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic [Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o
);

  if (Width < 1) begin : g_illegal
    $fatal(1, "wl_skid: Width must be 1 or more");
  end

  // A word that arrived while the output stalled; while it waits no further word is accepted.
  logic spare_valid;
  logic [Width-1:0] spare_data;
  logic free;

  assign in_ready_o = !spare_valid;
  assign free = !out_valid_o || out_ready_i;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      out_valid_o <= 1'b0;
      spare_valid <= 1'b0;
    end else begin
      if (free) out_valid_o <= in_valid_i || spare_valid;
      spare_valid <= !free && (in_valid_i || spare_valid);
    end
  end
  always_ff @(posedge clk_i) begin
    if (free) out_data_o <= spare_valid ? spare_data : in_data_i;
    if (!spare_valid) spare_data <= in_data_i;
  end

`ifdef FORMAL
  logic was_stalled;
  logic [Width-1:0] was_data;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was_data <= out_data_o;
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (out_valid_o && out_data_o == was_data));
      SpareBehindOutput_A : assert (!spare_valid || out_valid_o);
    end
  end
`endif

endmodule
