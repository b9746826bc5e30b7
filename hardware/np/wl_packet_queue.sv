`include "wl_reset.svh"

// Store-and-forward queue: a packet leaves when it is complete, so that its receiver does not wait
// for the sender.
//
// Contract
//   Data and order: each beat that enters leaves once, in order; an output that is not taken stays
//   stable.
//   A packet is offered when its last beat is stored, or, if it is longer than the queue, when the
//   queue is full; then its beats leave as they arrive. A packet of at most Beats beats thus leaves
//   without gaps, and no packet is too long.
//   Throughput: one beat a cycle. Latency: two cycles after the packet's last beat. Room: Beats
//   beats, and one at the output.
// Timing: `in_ready_o` is a register; the data are the registers of block RAM; `out_valid_o` is two
// LUT levels after registers.
//
// Parameters
//   Width   bits of a beat, without `last`
//   Beats   capacity in beats, 2 or more
module wl_packet_queue #(
    parameter int unsigned Width = 592,
    parameter int unsigned Beats = 512
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic             in_last_i,
    input  logic [Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic             out_last_o,
    output logic [Width-1:0] out_data_o
);

  if (Width < 1) begin : g_illegal_width
    $fatal(1, "wl_packet_queue: Width must be 1 or more");
  end
  if (Beats < 2) begin : g_illegal_beats
    $fatal(1, "wl_packet_queue: Beats must be 2 or more");
  end

  localparam int unsigned FillBits = wl_pkg::bits(Beats + 2);

  logic [FillBits-1:0] fill, whole;  // beats in the queue; packets whose last beat is in it
  logic some, midway;  // a whole packet is stored; the packet at the output has begun to leave
  logic valid, open, push, pop;

  typedef struct packed {
    logic last;
    logic [Width-1:0] data;
  } beat_t;
  beat_t in, out;
  assign in.last = in_last_i;
  assign in.data = in_data_i;
  assign out_last_o = out.last;
  assign out_data_o = out.data;
  wl_fifo_block #(
      .Width($bits(beat_t)),
      .Depth(Beats)
  ) i_beats (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i(in),
      .out_valid_o(valid),
      .out_ready_i(out_ready_i && open),
      .out_data_o(out),
      .fill_o(fill)
  );

  // `in_ready_o` is low only if the queue is full. It stays low while the queue is full and the
  // output is stalled.
  assign open = some || midway || !in_ready_o;
  assign out_valid_o = valid && open;
  assign push = in_valid_i && in_ready_o && in_last_i;
  assign pop = out_valid_o && out_ready_i && out_last_o;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      whole  <= '0;
      some   <= 1'b0;
      midway <= 1'b0;
    end else begin
      if (push != pop) begin
        whole <= push ? whole + 1'b1 : whole - 1'b1;
        some  <= push || whole != FillBits'(1);
      end
      if (out_valid_o && out_ready_i) midway <= !out_last_o;
    end
  end

  logic unused;
  assign unused = &{1'b0, fill};

`ifdef FORMAL
  logic was_stalled;
  beat_t was;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was <= out;
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (out_valid_o && out == was));
      Some_A : assert (some == (whole != '0));
      Whole_A : assert (whole <= fill);
    end
  end
`endif

endmodule
