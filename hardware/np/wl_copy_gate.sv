`include "wl_reset.svh"

// Lets a cluster's threads continue after a copy only when the pipe has read the copy's body to its
// end, for engines that change the bodies of packets of which they have sent copies.
//
// Contract
//   `drained_o` is `drained_i` of wl_reorder, but stays 0 until the copy has left the body buffer:
//   a copy that wl_reorder has given out goes to wl_gatherer, and from there to wl_postprocessor,
//   which goes back to the body's first beat (`left_i`) when it has read what the copy has of it.
//   A cluster may have one copy under way. Between the copy's last beat and `left_i` the gatherer
//   takes nothing of other clusters, so that `left_i` means this copy; before that beat it means
//   one of another cluster.
//   Latency: two cycles from `left_i` to `drained_o`.
// Timing: `left_i` goes to a register. Cost: three flip-flops.
module wl_copy_gate (
    input logic clk_i,
    input logic rst_i,

    input  logic drained_i,  // from wl_reorder: `order_drained_o`
    output logic drained_o,  // to the engines

    // Rows from wl_reorder to wl_header_deserializer, and beats from there to wl_gatherer.
    input logic            row_valid_i,
    input logic            row_ready_i,
    input wl_pkg::result_t row_result_i,
    input logic            beat_valid_i,
    input logic            beat_ready_i,
    input logic            beat_last_i,
    input wl_pkg::result_t beat_result_i,

    input logic left_i  // from wl_postprocessor: `body_rewind_o`
);
  logic waits;     // a row is the next one that leaves the queue, and belongs to a copy
  logic under_way;  // rows of a copy have left the queue
  logic taken;     // its last beat too
  logic left;
  assign waits = row_valid_i && row_result_i.more;
  assign drained_o = drained_i && !waits && !under_way;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      under_way <= 1'b0;
      taken <= 1'b0;
      left <= 1'b0;
    end else begin
      left <= left_i && taken;
      if (waits && row_ready_i) under_way <= 1'b1;
      else if (left) under_way <= 1'b0;
      if (beat_valid_i && beat_ready_i && beat_last_i && beat_result_i.more) taken <= 1'b1;
      else if (left) taken <= 1'b0;
    end
  end
  logic unused;
  assign unused = &{row_result_i, beat_result_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      One_M : assume (!(waits && taken));
      Taken_A : assert (!taken || under_way);
    end
  end
`endif

endmodule
