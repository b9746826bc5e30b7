`include "wl_reset.svh"

// Entrance of a pipelined engine: assembles beats of headers into packets, and admits as many
// packets as the pipeline has room for.
//
// Nothing inside a pipeline waits for a later stage: every queue there has room for all packets in
// the pipeline. This module is therefore the only place that holds packets back.
//
// Contract
//   Data and order: a packet leaves in the cycle after its last beat, in order. Byte p of
//   `window_o`, counted from the lowest, is physical byte WindowFront - Headroom + p; the header
//   begins at WindowFront. Bytes that no beat of the packet filled are arbitrary.
//   At most `Packets` packets are inside: those that left this module and that `left_i` has not
//   reported yet.
//   Throughput: one beat a cycle, so one packet a cycle if it has one beat.
// Timing: all outputs are registers, `header_ready_o` included.
module wl_pipeline_load #(
    parameter int unsigned Packets = 64,   // packets inside
    parameter int unsigned Headroom = 0,   // bytes before the header, a multiple of 16, at most 128
    parameter int unsigned DataBytes = 64, // bytes of a beat; a divisor of wl_pkg::WindowLoaded
    parameter int unsigned InfoBits = 32,  // what is constant for a packet (wl_pkg::Info*)
    localparam int unsigned Bytes = Headroom + wl_pkg::WindowLoaded,
    localparam int unsigned CountBits = wl_pkg::bits(Packets + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   header_valid_i,
    output logic                   header_ready_o,
    input  logic [8*DataBytes-1:0] header_data_i,   // byte 0 in the lowest bits
    input  logic                   header_first_i,
    input  logic                   header_last_i,
    input  logic [   InfoBits-1:0] header_info_i,   // on every beat

    input logic room_i,  // the queues of requests without reply have room for `Packets` more
    input logic left_i,  // a packet has left the pipeline

    output logic                 valid_o,
    output logic [  8*Bytes-1:0] window_o,
    output logic [ InfoBits-1:0] info_o,
    output logic [CountBits-1:0] free_o    // packets that have room
);
  if (Packets < 1) begin : g_illegal_count
    $fatal(1, "wl_pipeline_load: Packets must be at least one");
  end
  if (Headroom % wl_pkg::WordBytes != 0 || Headroom > wl_pkg::WindowFront) begin : g_illegal_room
    $fatal(1, "wl_pipeline_load: Headroom must be a multiple of 16 and at most 128");
  end
  if (DataBytes < 1 || wl_pkg::WindowLoaded % DataBytes != 0) begin : g_illegal_beat
    $fatal(1, "wl_pipeline_load: a header of 128 bytes must be a number of whole beats");
  end

  localparam int unsigned Beats = wl_pkg::WindowLoaded / DataBytes;
  localparam int unsigned BeatBits = wl_pkg::bits(Beats);

  logic accept, enters;
  logic [CountBits-1:0] next_free;
  assign accept = header_valid_i && header_ready_o;
  assign enters = accept && header_last_i;
  assign next_free = free_o - CountBits'(enters) + CountBits'(left_i);

  logic [BeatBits-1:0] beat;  // number of the beat in the current packet
  logic [BeatBits-1:0] place;
  assign place = header_first_i ? '0 : beat;

  logic [Beats-1:0][8*DataBytes-1:0] header;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      free_o <= CountBits'(Packets);
      header_ready_o <= 1'b0;
      valid_o <= 1'b0;
    end else begin
      free_o <= next_free;
      header_ready_o <= next_free != '0 && room_i;
      valid_o <= enters;
    end
  end
  always_ff @(posedge clk_i) begin
    if (accept) begin
      for (int unsigned b = 0; b < Beats; b++) begin
        if (place == BeatBits'(b)) header[b] <= header_data_i;
      end
      beat   <= place + 1'b1;
      info_o <= header_info_i;
    end
  end
  if (Headroom == 0) begin : g_window
    assign window_o = header;
  end else begin : g_headroom
    assign window_o = {header, {Headroom{8'b0}}};
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) Left_M : assert (!left_i || free_o != CountBits'(Packets));
  end
`endif
endmodule
