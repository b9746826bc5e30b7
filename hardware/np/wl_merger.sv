// Merger: releases the items of the pipes in the order of the packets' numbers: packet n, or the
// event in its place, does not start before packet n - 1 has started. In the same cycle later
// packets may start on other lanes.
//
// Contract
//   Data and order: lane l sends what pipe l sends, unchanged. Copies (`more`) of a packet belong
//   to it: the next packet starts when the last item of the packet has started.
//   Throughput: Lanes items a cycle, including events. Latency: none.
//   Events appear on separate ports, for one cycle, and cannot be stalled.
// Timing: data are wires. `m_tvalid_o` of a lane depends on `m_tready_i` of other lanes, whose
// packets come before.
//
// Parameters
//   Lanes       pipes, and AXI4-Stream output lanes: 1 to 8
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
    output logic [Lanes*24-1:0] event_reason_o  // reason set and reason, as in result_t
);

  if (Lanes < 1 || Lanes > 8) begin : g_illegal_lanes
    $fatal(1, "wl_merger: Lanes must be 1 to 8");
  end

  localparam int unsigned LaneBits = wl_pkg::bits(Lanes);

  logic [Lanes-1:0] midst;  // the first beat of a packet has left on this lane
  logic [LaneBits-1:0] turn, turn_after;  // the lane of the next packet that may start

  // Lanes are visited in the order of the packets' numbers; an item starts if all items before it
  // have started, in this cycle or earlier.
  logic [Lanes-1:0] allowed, taken;
  if (Lanes == 1) begin : g_one
    // A single lane has no others to wait for: there is no path from `m_tready_i` to `m_tvalid_o`.
    assign allowed = '1;
    assign turn_after = '0;
    logic unused;
    assign unused = &{turn, pipe_more_i};
  end else begin : g_order
    always_comb begin
      logic reached;
      reached = 1'b1;
      allowed = midst;
      turn_after = turn;
      for (int unsigned i = 0; i < Lanes; i++) begin
        logic [LaneBits-1:0] lane;
        lane = LaneBits'((32'(turn) + i) % Lanes);
        reached = reached && !midst[lane];
        allowed[lane] = allowed[lane] || reached;
        reached = reached && pipe_valid_i[lane] && (pipe_event_i[lane] || m_tready_i[lane]) && !pipe_more_i[lane];
        if (reached) turn_after = lane == LaneBits'(Lanes - 1) ? '0 : lane + 1'b1;
      end
    end
  end

  assign m_tvalid_o = pipe_valid_i & allowed & ~pipe_event_i;
  assign pipe_ready_o = allowed & (m_tready_i | pipe_event_i);
  assign taken = pipe_valid_i & pipe_ready_o;
  assign event_valid_o = taken & pipe_event_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      midst <= '0;
      turn   <= '0;
    end else begin
      midst <= (midst | taken) & ~(taken & pipe_last_i);
      turn   <= turn_after;
    end
  end

  assign m_tdata_o = pipe_data_i;
  assign m_tkeep_o = pipe_keep_i;
  assign m_tlast_o = pipe_last_i;
  assign m_tuser_o = pipe_user_i;
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_event
    wl_pkg::sent_t user;
    assign user = pipe_user_i[lane*wl_pkg::SentBits+:wl_pkg::SentBits];
    assign event_kind_o[lane*3+:3] = user.kind;
    assign event_reason_o[lane*24+:24] = user.reason;
    logic unused;
    assign unused = &user.egress;
  end

`ifdef FORMAL
  logic [Lanes-1:0] was_stalled;
  always_ff @(posedge clk_i) begin
    was_stalled <= rst_i ? '0 : m_tvalid_o & ~m_tready_i;
    if (!rst_i) begin
      // An offer is not withdrawn.
      Stable_A : assert ((was_stalled & pipe_valid_i & ~m_tvalid_o) == '0);
      // The packet that has the turn waits only for its own lane.
      NoDeadlock_A : assert (midst[turn] || allowed[turn]);
      Event_M : assume ((pipe_event_i & ~pipe_last_i & pipe_valid_i) == '0);
    end
  end
`endif

endmodule
