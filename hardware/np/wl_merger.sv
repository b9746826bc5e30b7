// Merger: releases what the pipes send in the order of the packets' numbers: packet n, or the event in its place, does not start before
// packet n - 1 has started. In one cycle higher numbers may start on other lanes.
//
// Contract
//   Data and order: lane l sends what pipe l sends, unchanged. Copies (`more`) of a packet belong to it: the next packet starts when
//   the packet's last item has started.
//   Throughput: Lanes items a cycle, events included. Latency: none.
//   Events come out beside the lanes, for one cycle, and cannot be refused.
// Timing: data are wires. `m_tvalid_o` of a lane depends on `m_tready_i` of others, whose packets come before.
//
// Parameters
//   Lanes       pipes, and AXI4-Stream lanes out: 1 to 8
//   DataBytes   bytes of a beat
module wl_merger #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned DataBytes = 64
) (
    input logic clk_i,
    input logic rst_i,

    // From each pipe's wl_postprocessor.
    input  logic [                 Lanes-1:0] pipe_valid_i,
    output logic [                 Lanes-1:0] pipe_ready_o,
    input  logic [                 Lanes-1:0] pipe_event_i,
    input  logic [                 Lanes-1:0] pipe_more_i,
    input  logic [     Lanes*8*DataBytes-1:0] pipe_data_i,
    input  logic [       Lanes*DataBytes-1:0] pipe_keep_i,
    input  logic [                 Lanes-1:0] pipe_last_i,
    input  logic [Lanes*wl_pkg::SentBits-1:0] pipe_user_i,

    // AXI4-Stream lanes.
    output logic [                 Lanes-1:0] m_tvalid_o,
    input  logic [                 Lanes-1:0] m_tready_i,
    output logic [     Lanes*8*DataBytes-1:0] m_tdata_o,
    output logic [       Lanes*DataBytes-1:0] m_tkeep_o,
    output logic [                 Lanes-1:0] m_tlast_o,
    output logic [Lanes*wl_pkg::SentBits-1:0] m_tuser_o,   // wl_pkg::sent_t: {kind, reason, egress}

    // Events: packets that end without being sent.
    output logic [   Lanes-1:0] event_valid_o,
    output logic [ Lanes*3-1:0] event_kind_o,   // wl_pkg::EXIT_DROP or EXIT_DONE
    output logic [Lanes*24-1:0] event_reason_o  // set and reason, as result_t
);
endmodule
