`include "wl_reset.svh"

// Engine time on a lane, for engines with times that end at ticks: the latest arrival time of all
// packets so far takes the place of a packet's own. So time never runs backwards. The packets with
// which the steps of timers begin come on the lane from port 65,535. They can be numbered apart, so
// that packets draw the same random numbers with and without them.
//
//   user      --> latest arrival --> user
//   number    --> packets or timers so far --> sequence number, ticket
//
// Contract
//   Data: the ingress port passes unchanged. Of the packets on the lane, those that are not from
//   port 65,535 have the sequence numbers 0, 1 and so on, and the others 2^63, 2^63 + 1 and so on.
//   Latency: none. No beat waits. The outputs are valid on the first beat of a packet, and stay
//   until it is taken.
// Timing: a comparison of two times, and a selection between them.
//
// Parameters
//   SequenceBits   bits of the packets' numbers on the lane
//   Apart          timers are numbered apart: the number is followed by the ticket, which is its
//                  lowest 16 bits on the lane; SequenceBits is 64
module wl_engine_time #(
    parameter int unsigned SequenceBits = 16,
    parameter bit Apart = 1'b0,
    localparam int unsigned TicketBits = 16,
    localparam int unsigned NumberBits = Apart ? 64 + TicketBits : SequenceBits
) (
    input logic clk_i,
    input logic rst_i,

    // Beats of the lane: one passes if it is valid and the pipe is ready.
    input logic                    valid_i,
    input logic                    ready_i,
    input logic                    last_i,
    input logic [            79:0] user_i,      // arrival time, ingress port
    input logic [SequenceBits-1:0] sequence_i,  // number on the lane

    output logic [          79:0] user_o,     // engine time, ingress port
    output logic [NumberBits-1:0] sequence_o  // number, or {sequence number, ticket}
);
  if (SequenceBits < 1 || (Apart && SequenceBits != 64)) begin : g_illegal
    $fatal(1, "wl_engine_time: SequenceBits must be at least one, and 64 if timers are apart");
  end

  logic midst, begins;  // in a packet; its first beat passes
  assign begins = valid_i && ready_i && !midst;

  logic [63:0] latest, engine_time;
  assign engine_time = user_i[79:16] > latest ? user_i[79:16] : latest;
  assign user_o = {engine_time, user_i[15:0]};

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      midst <= 1'b0;
      latest <= '0;
    end else begin
      if (valid_i && ready_i) midst <= !last_i;
      if (begins) latest <= engine_time;
    end
  end

  if (Apart) begin : g_apart
    logic is_timer;
    logic [62:0] timers;  // so far
    assign is_timer = user_i[15:0] == '1;
    assign sequence_o = {
      is_timer ? {1'b1, timers} : sequence_i - {1'b0, timers}, sequence_i[TicketBits-1:0]
    };
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) timers <= '0;
      else if (begins && is_timer) timers <= timers + 1'b1;
    end
  end else begin : g_together
    assign sequence_o = sequence_i;
  end
endmodule
