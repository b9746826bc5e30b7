`include "wl_reset.svh"

// Merger: releases the items of the pipes in the order of the packets' numbers: packet n, or the
// event in its place, is not offered before packet n - 1 has been offered. In the same cycle later
// packets may be offered on other lanes.
//
// Contract
//   Data and order: lane l sends what pipe l sends, unchanged. A record of `wl_sequencer` names the
//   lanes of the next packets, the lowest first. Copies (`more`) of a packet belong to it: the next
//   packet is offered when the last item of the packet has been.
//   Throughput: one record a cycle, with an item on each of its lanes, events included: as many as
//   the sequencer makes. Latency: none; a record that enters is in use after two cycles.
//   No lane waits for the receiver of another: `m_tvalid_o` depends on no `m_tready_i`, and an
//   offer is never withdrawn.
//   Events appear on separate ports, for one cycle, and cannot be stalled.
//   With one lane the module is only wires.
// Timing: data are wires; `m_tvalid_o` is a chain over the lanes after `pipe_valid_i`.
//
// Parameters
//   Lanes        pipes, and AXI4-Stream output lanes: 1 to 8
//   DataBytes    bytes of a beat
//   OrderDepth   most records between sequencer and merger (block RAM)
module wl_merger #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned OrderDepth = 2048
) (
    input logic clk_i,
    input logic rst_i,

    // From wl_sequencer.
    input  logic             order_valid_i,
    output logic             order_ready_o,
    input  logic [Lanes-1:0] order_lanes_i,

    // From each pipe's wl_postprocessor.
    input  logic          [Lanes-1:0]                  pipe_valid_i,
    output logic          [Lanes-1:0]                  pipe_ready_o,
    input  logic          [Lanes-1:0]                  pipe_event_i,
    input  logic          [Lanes-1:0]                  pipe_more_i,
    input  logic          [Lanes-1:0][8*DataBytes-1:0] pipe_data_i,
    input  logic          [Lanes-1:0][  DataBytes-1:0] pipe_keep_i,
    input  logic          [Lanes-1:0]                  pipe_last_i,
    input  wl_pkg::sent_t [Lanes-1:0]                  pipe_user_i,

    // AXI4-Stream lanes.
    output logic          [Lanes-1:0]                  m_tvalid_o,
    input  logic          [Lanes-1:0]                  m_tready_i,
    output logic          [Lanes-1:0][8*DataBytes-1:0] m_tdata_o,
    output logic          [Lanes-1:0][  DataBytes-1:0] m_tkeep_o,
    output logic          [Lanes-1:0]                  m_tlast_o,
    output wl_pkg::sent_t [Lanes-1:0]                  m_tuser_o,

    // Events: packets that end without being sent.
    output logic [Lanes-1:0]       event_valid_o,
    output logic [Lanes-1:0][ 2:0] event_kind_o,   // wl_pkg::EXIT_DROP or EXIT_DONE
    output logic [Lanes-1:0][23:0] event_reason_o  // reason set and reason, as in result_t
);

  if (Lanes < 1 || Lanes > 8) begin : g_illegal_lanes
    $fatal(1, "wl_merger: Lanes must be 1 to 8");
  end
  if (DataBytes < 1 || OrderDepth < 1) begin : g_illegal
    $fatal(1, "wl_merger: DataBytes and OrderDepth must be 1 or more");
  end

  logic [Lanes-1:0] allowed, taken;
  if (Lanes == 1) begin : g_one
    assign allowed = 1'b1;
    assign order_ready_o = 1'b1;
    logic unused;
    assign unused = &{order_valid_i, order_lanes_i, pipe_more_i, taken, rst_i, clk_i};
  end else begin : g_order
    logic record, record_done;
    logic [Lanes-1:0] lanes;  // of the oldest record
    logic [wl_pkg::bits(OrderDepth + 2)-1:0] unused;
    wl_fifo_block #(
        .Width(Lanes),
        .Depth(OrderDepth)
    ) i_order (
        .clk_i,
        .rst_i,
        .in_valid_i (order_valid_i),
        .in_ready_o (order_ready_o),
        .in_data_i  (order_lanes_i),
        .out_valid_o(record),
        .out_ready_i(record_done),
        .out_data_o (lanes),
        .fill_o     (unused)
    );

    // the item at the end of the pipe has been offered, or an earlier beat of it
    logic [Lanes-1:0] shown;
    logic [Lanes-1:0] passed;  // of the record: the packet's last item has been offered
    logic [Lanes-1:0] due, starts, ends;
    assign due = record ? lanes & ~passed : '0;
    always_comb begin
      logic reached;
      reached = 1'b1;
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        starts[lane] = reached && due[lane] && !shown[lane] && pipe_valid_i[lane];
        reached = reached
            && (!due[lane] || (!shown[lane] && pipe_valid_i[lane] && !pipe_more_i[lane]));
      end
      record_done = record && reached;
    end
    assign ends = starts & ~pipe_more_i;
    assign allowed = shown | starts;

    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) begin
        shown  <= '0;
        passed <= '0;
      end else begin
        shown  <= (shown | starts) & ~(taken & pipe_last_i);
        passed <= record_done ? '0 : passed | ends;
      end
    end

`ifdef FORMAL
    logic [Lanes-1:0] was_stalled;
    always_ff @(posedge clk_i) begin
      was_stalled <= rst_i ? '0 : m_tvalid_o & ~m_tready_i;
      if (!rst_i) begin
        Event_M : assume ((pipe_event_i & ~pipe_last_i & pipe_valid_i) == '0);
        Held_M : assume ((was_stalled & ~pipe_valid_i) == '0);
        Record_M : assume (!order_valid_i || order_lanes_i != '0);
        // An offer is not withdrawn.
        Stable_A : assert ((was_stalled & ~m_tvalid_o) == '0);
        Passed_A : assert ((passed & ~lanes) == '0 || !record);
      end
    end
`endif
  end

  assign m_tvalid_o = pipe_valid_i & allowed & ~pipe_event_i;
  assign pipe_ready_o = allowed & (m_tready_i | pipe_event_i);
  assign taken = pipe_valid_i & pipe_ready_o;
  assign event_valid_o = taken & pipe_event_i;

  assign m_tdata_o = pipe_data_i;
  assign m_tkeep_o = pipe_keep_i;
  assign m_tlast_o = pipe_last_i;
  assign m_tuser_o = pipe_user_i;
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_event
    wl_pkg::sent_t user;
    assign user = pipe_user_i[lane];
    assign event_kind_o[lane] = user.kind;
    assign event_reason_o[lane] = user.reason;
    logic unused;
    assign unused = &user.egress;
  end

endmodule
