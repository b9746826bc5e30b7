`include "wl_reset.svh"

// Sequencer: numbers the packets of the input lanes and records their order. Lane l feeds pipe l.
//
// A packet gets its number in the cycle in which its first beat is first offered, accepted or not;
// of several in a cycle the one on the lower lane comes first. These numbers define the packet
// order in all of Wireloom (what leaves when, which packet sees which state).
//
// Contract
//   Data and order: what a lane offers goes to its pipe unchanged. For each cycle in which packets
//   get numbers, one record tells `wl_merger` on which lanes.
//   Throughput: a beat a cycle and lane, whatever the packets' lengths: a lane never waits for
//   another one. While there is no room for a record, no packet gets a number, and none starts.
//   Latency: none.
//   `tuser` is valid on the first beat. Beats pass unchanged: `wl_preprocessor` defines the meaning
//   of any `tkeep` and length.
//   Reset: `s_tready_o` is low. Of a packet that reset cuts, the beats that come after reset are
//   taken and discarded up to `s_tlast_i`, so that they are never taken for a packet; a sender that
//   begins anew instead loses its first packet. A sender inside the same reset begins anew
//   (`CutsLast` is zero), and loses none.
//   With one lane no records are made.
// Timing: data are wires. `s_tready_o` depends on `pipe_ready_i` and registers, never on
// `s_tvalid_i`.
//
// Parameters
//   Lanes          AXI4-Stream input lanes, and pipes: 1 to 8
//   DataBytes      bytes of a beat
//   UserBits       bits of tuser
//   SequenceBits   bits of the packets' numbers, 0 if no program uses them (`pipe_sequence_o` is
//                  then one zero bit a pipe)
//   CutsLast       packets last over a reset: their senders go on after it
module wl_sequencer #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned UserBits = 16,
    parameter int unsigned SequenceBits = 0,
    parameter bit CutsLast = 1'b1,
    localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits
) (
    input logic clk_i,
    // verilator lint_off SYNCASYNCNET
    input logic rst_i,  // registers that record what it cuts take it at the clock's edge
    // verilator lint_on SYNCASYNCNET

    // AXI4-Stream lanes: byte 0 of a beat in bits 7:0.
    input  logic [Lanes-1:0]                  s_tvalid_i,
    output logic [Lanes-1:0]                  s_tready_o,
    input  logic [Lanes-1:0][8*DataBytes-1:0] s_tdata_i,
    input  logic [Lanes-1:0][  DataBytes-1:0] s_tkeep_i,
    input  logic [Lanes-1:0]                  s_tlast_i,
    input  logic [Lanes-1:0][   UserBits-1:0] s_tuser_i,

    // Pipes.
    output logic [Lanes-1:0]                  pipe_valid_o,
    input  logic [Lanes-1:0]                  pipe_ready_i,
    output logic [Lanes-1:0][8*DataBytes-1:0] pipe_data_o,
    output logic [Lanes-1:0][  DataBytes-1:0] pipe_keep_o,
    output logic [Lanes-1:0]                  pipe_last_o,
    output logic [Lanes-1:0][   UserBits-1:0] pipe_user_o,
    output logic [Lanes-1:0][ NumberBits-1:0] pipe_sequence_o,  // number, on its first beat

    // To wl_merger: the lanes whose packets got numbers in this cycle.
    output logic             order_valid_o,
    input  logic             order_ready_i,
    output logic [Lanes-1:0] order_lanes_o,

    // Statistics.
    output logic [Lanes-1:0] stall_o  // the lane has a beat that is not accepted in this cycle
);

  if (Lanes < 1 || Lanes > 8) begin : g_illegal_lanes
    $fatal(1, "wl_sequencer: Lanes must be 1 to 8");
  end
  if (DataBytes < 1 || UserBits < 1) begin : g_illegal
    $fatal(1, "wl_sequencer: DataBytes and UserBits must be 1 or more");
  end

  assign stall_o = s_tvalid_i & ~s_tready_o;

  // Beats in the middle of a packet, and packets that a reset has cut: this must survive a reset.
  logic [Lanes-1:0] midst, cut;
  logic [Lanes-1:0] open;  // beats of the lane may pass
  initial midst = '0;
  always_ff @(posedge clk_i) begin
    if (rst_i) cut <= CutsLast ? midst : '0;
    else cut <= cut & ~(s_tvalid_i & s_tlast_i);
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      if (s_tvalid_i[lane] && s_tready_o[lane]) midst[lane] <= !s_tlast_i[lane];
    end
  end
  assign pipe_valid_o = s_tvalid_i & open;
  assign s_tready_o = rst_i ? '0 : cut | (pipe_ready_i & open);
  assign pipe_data_o = s_tdata_i;
  assign pipe_keep_o = s_tkeep_i;
  assign pipe_last_o = s_tlast_i;
  assign pipe_user_o = s_tuser_i;

  logic [NumberBits-1:0] number;  // number of the next packet

  if (Lanes == 1) begin : g_wires
    assign open = ~cut;
    assign pipe_sequence_o = number;
    assign order_valid_o = 1'b0;
    assign order_lanes_o = 1'b0;

    // The number advances at the end of a packet, so that it is stable from the first beat on.
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) number <= '0;
      else if (SequenceBits == 0) number <= '0;
      else if (pipe_valid_o[0] && pipe_ready_i[0] && pipe_last_o[0]) number <= number + 1'b1;
    end
    logic unused;
    assign unused = order_ready_i;
  end else begin : g_number
    logic [Lanes-1:0] numbered;  // the lane's packet has its number
    logic [Lanes-1:0][NumberBits-1:0] own;  // that number
    logic [Lanes-1:0] fresh;  // packets that get their numbers now
    assign open = (numbered | {Lanes{order_ready_i}}) & ~cut;
    assign fresh = s_tvalid_i & open & ~numbered;
    assign order_valid_o = fresh != '0;
    assign order_lanes_o = fresh;

    logic [Lanes-1:0][NumberBits-1:0] number_of;
    logic [NumberBits-1:0] number_after;
    always_comb begin
      number_of = own;
      number_after = number;
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        if (!numbered[lane]) number_of[lane] = number_after;
        if (fresh[lane] && SequenceBits != 0) number_after = number_after + 1'b1;
      end
    end
    assign pipe_sequence_o = number_of;

    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) begin
        numbered <= '0;
        number <= '0;
      end else begin
        numbered <= (numbered | fresh) & ~(pipe_valid_o & pipe_ready_i & s_tlast_i);
        number <= number_after;
      end
    end
    always_ff @(posedge clk_i) begin
      own <= number_of;
    end

`ifdef FORMAL
    logic [Lanes-1:0] was_stalled;
    always_ff @(posedge clk_i) begin
      was_stalled <= rst_i ? '0 : pipe_valid_o & ~pipe_ready_i;
      if (!rst_i) begin
        Held_M : assume ((was_stalled & ~s_tvalid_i) == '0);
        Stable_A : assert ((was_stalled & ~pipe_valid_o) == '0);
        Numbered_A : assert ((pipe_valid_o & ~(numbered | fresh)) == '0);
        Taken_A : assert ((s_tvalid_i & s_tready_o & ~cut) == (pipe_valid_o & pipe_ready_i));
      end
    end
`endif
  end

endmodule
