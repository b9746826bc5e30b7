`include "wl_reset.svh"

// Exit of a pipelined engine: splits windows into beats.
//
// Contract
//   Data and order: packets leave in order, in beats like those of wl_header_deserializer: byte i
//   of a window is at position (start + i) mod DataBytes of its beat, byte 0 in the lowest bits. A
//   packet that is dropped, is done or has an empty window leaves as one beat of arbitrary content.
//   The result is valid on every beat.
//   There is room for `Packets` packets.
//   Throughput: one beat a cycle. Latency: three cycles.
// Timing: a multiplexer of rows between block RAM and the output registers.
module wl_pipeline_unload #(
    parameter int unsigned Packets = 64,
    parameter int unsigned Headroom = 0,    // as in wl_pipeline_load
    parameter int unsigned DataBytes = 64,  // bytes of a beat: a multiple of 16
    localparam int unsigned Bytes = Headroom + wl_pkg::WindowLoaded
) (
    input logic clk_i,
    input logic rst_i,

    input logic               valid_i,
    input logic [8*Bytes-1:0] window_i,
    input logic [        7:0] front_i,   // physical byte at which the window begins
    input logic [        8:0] length_i,  // bytes of the window
    input logic [       15:0] packet_i,  // bytes of the packet
    input logic [       15:0] egress_i,
    input logic [        2:0] exit_i,    // wl_pkg::EXIT_*
    input logic [       23:0] reason_i,

    output logic left_o,  // a packet has left

    output logic                              beat_valid_o,
    input  logic                              beat_ready_i,
    output logic            [8*DataBytes-1:0] beat_data_o,
    output logic                              beat_last_o,
    output wl_pkg::result_t                   beat_result_o
);
  if (Packets < 1) begin : g_illegal_count
    $fatal(1, "wl_pipeline_unload: Packets must be at least one");
  end
  if (DataBytes < 16 || DataBytes % 16 != 0) begin : g_illegal_beat
    $fatal(1, "wl_pipeline_unload: DataBytes must be a multiple of 16");
  end

  localparam int unsigned Rows = DataBytes / 16;   // rows of a beat
  localparam int unsigned Stored = Bytes / 16;     // rows of a window's memory
  localparam int unsigned FirstRow = (wl_pkg::WindowFront - Headroom) / 16;

  // A packet that waits.
  typedef struct packed {
    logic [8*Bytes-1:0] window;
    logic [3:0] first_row;  // row of the window's memory in which the window begins
    wl_pkg::result_t result;
  } packet_t;
  packet_t entering, waiting;
  always_comb begin
    entering.window = window_i;
    entering.first_row = front_i[7:4] - 4'(FirstRow);
    entering.result.kind = exit_i;
    entering.result.reason = reason_i;
    entering.result.egress = egress_i;
    entering.result.start = front_i[3:0];
    entering.result.window = length_i;
    entering.result.length = packet_i;
    entering.result.more = 1'b0;
  end

  logic stored_ready, there, take;
  logic [wl_pkg::bits(Packets + 2)-1:0] fill;
  wl_fifo_block #(
      .Width($bits(packet_t)),
      .Depth(Packets)
  ) i_packets (
      .clk_i,
      .rst_i,
      .in_valid_i(valid_i),
      .in_ready_o(stored_ready),
      .in_data_i(entering),
      .out_valid_o(there),
      .out_ready_i(take),
      .out_data_o(waiting),
      .fill_o(fill)
  );
  wl_pkg::result_t head;
  assign head = waiting.result;

  // Rows after the current beat, if it is not the last.
  logic last, move;
  logic [4:0] done;  // rows that have left
  logic no_data;
  assign no_data = head.kind == wl_pkg::EXIT_DROP || head.kind == wl_pkg::EXIT_DONE
      || head.window == '0;
  assign last = no_data || {6'(done) + 6'(Rows), 4'b0} >= 10'(head.window);
  assign move = there && (!beat_valid_o || beat_ready_i);
  assign take = move && last;
  assign left_o = take;

  logic [5:0] row;
  logic [8*Bytes-1:0] shifted;
  logic [8*(Bytes+16)-1:0] longer;  // with a row after the window's memory
  logic [8*DataBytes-1:0] beat;
  assign row = 6'(waiting.first_row) + 6'(done);
  assign longer = {128'b0, shifted};
  // The bytes of the first row before `start` are those of the row after the beat.
  always_comb begin
    beat = longer[8*DataBytes-1:0];
    for (int unsigned i = 0; i < 16; i++) begin
      if (i < 32'(head.start)) beat[8*i+:8] = longer[8*(DataBytes+i)+:8];
    end
  end
  assign shifted = row >= 6'(Stored) ? '0 : waiting.window >> {row, 7'b0};

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      beat_valid_o <= 1'b0;
      done  <= '0;
    end else begin
      if (move) begin
        beat_valid_o <= 1'b1;
        done  <= last ? '0 : done + 5'(Rows);
      end else if (beat_ready_i) beat_valid_o <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (move) begin
      beat_data_o   <= beat;
      beat_last_o   <= last;
      beat_result_o <= head;
    end
  end
  logic unused;
  assign unused = &{stored_ready, fill, longer, head};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Room_M : assert (!valid_i || stored_ready);
      Ended_M : assert (!valid_i || exit_i != wl_pkg::EXIT_NEXT);
    end
  end
`endif
endmodule
