`include "wl_reset.svh"

// Order gate: passes calls to a service in the order in which their packets arrived. It is used in
// front of a service whose results depend on the order (docs/offloads.md, "What can be relied on").
//
//   requests, in any order --> a slot for each packet --> the packet with the turn --> service
//
// Each packet has a ticket: its number. One packet at a time has the turn. The turn advances to the
// next packet when a request of the current one is marked as the last that the packet can make, or
// when the packet has left the pipe. A packet that makes no call thus delays those after it no
// longer than it takes to leave.
//
// Contract
//   Order: requests leave in the order of their tickets; those of one ticket in the order of
//   arrival. Data and tag are unchanged.
//   A packet has at most one request here at a time: it waits for the reply. It makes none after
//   its last.
//   No deadlock: `request_ready_o` is high except for the first Slots cycles after a reset. The
//   packet that has the turn never depends on a later one.
//   Throughput: one request a cycle if packets come in order and each first request is the
//   last. Latency: two cycles.
//   Tickets under way: fewer than Slots apart, from the oldest packet that has not left to the
//   youngest with a request.
// Timing: `out_*` are registers. The longest path reads three LUT RAMs at the turn.
// Cost: about (TagBits + DataBits + 6) * Slots / 48 LUTs, and as many flip-flops as the request has
// bits.
//
// Parameters
//   Slots        packets that can be distinguished; a power of two, 2 or more
//   TicketBits   bits of a ticket in a request; only the lowest are used
//   TagBits      bits of the tag that returns with the reply
//   DataBits     bits of a request for the service
module wl_order_gate #(
    parameter int unsigned Slots = 32,
    parameter int unsigned TicketBits = 16,
    parameter int unsigned TagBits = 8,
    parameter int unsigned DataBits = 32,
    localparam int unsigned SlotBits = wl_pkg::bits(Slots)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                             request_valid_i,
    output logic                             request_ready_o,
    input  logic [              TagBits-1:0] request_tag_i,
    input  logic [1+TicketBits+DataBits-1:0] request_data_i,   // {packet's last, ticket, data}

    output logic                out_valid_o,
    input  logic                out_ready_i,
    output logic [ TagBits-1:0] out_tag_o,
    output logic [DataBits-1:0] out_data_o,

    input logic left_i  // the oldest packet has left; packets leave in order from ticket 0 on
);
  if (Slots < 2 || 2 ** $clog2(Slots) != Slots || TagBits < 1 || DataBits < 1) begin : g_illegal
    $fatal(1,
        "wl_order_gate: Slots must be a power of two from 2 on, TagBits and DataBits 1 or more");
  end
  if (TicketBits < SlotBits) begin : g_illegal_ticket
    $fatal(1, "wl_order_gate: TicketBits must hold a number below Slots");
  end

  typedef struct packed {
    logic last;
    logic [TicketBits-1:0] ticket;
    logic [DataBits-1:0] data;
  } request_t;
  request_t request;
  logic [SlotBits-1:0] slot;
  assign request = request_data_i;
  assign slot = request.ticket[SlotBits-1:0];

  // After a reset the marks are cleared, one a cycle.
  logic clearing;
  logic [SlotBits-1:0] cleared;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      clearing <= 1'b1;
      cleared  <= '0;
    end else if (clearing) begin
      clearing <= cleared != '1;
      cleared  <= cleared + 1'b1;
    end
  end
  assign request_ready_o = !clearing;

  // The turn, and the number of packets that have left. That number is below the turn by less than
  // Slots, or above it if the turn has still to catch up.
  logic [SlotBits:0] turn, left, behind;
  logic take, is_last, passed;
  assign behind = left - turn;
  assign passed = behind != '0 && !behind[SlotBits];
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      turn <= '0;
      left <= '0;
    end else begin
      if (passed || (take && is_last)) turn <= turn + 1'b1;
      if (left_i) left <= left + 1'b1;
    end
  end

  // A request waits in its slot while the two marks of the slot differ: its arrival toggles one
  // mark, its departure the other.
  logic came, gone, gone_there, store;
  assign store = request_valid_i && request_ready_o;
  wl_ram_lut #(
      .Width(1),
      .Depth(Slots)
  ) i_came (
      .clk_i,
      .write_i(store || clearing),
      .write_address_i(clearing ? cleared : slot),
      .write_data_i(!clearing && !gone_there),
      .read_address_i(turn[SlotBits-1:0]),
      .read_data_o(came)
  );
  for (genvar k = 0; k < 2; k++) begin : g_gone
    logic mark;
    logic [SlotBits-1:0] read;
    if (k == 0) begin : g_turn
      assign read = turn[SlotBits-1:0];
    end else begin : g_slot
      assign read = slot;
    end
    wl_ram_lut #(
        .Width(1),
        .Depth(Slots)
    ) i_gone (
        .clk_i,
        .write_i(take || clearing),
        .write_address_i(clearing ? cleared : turn[SlotBits-1:0]),
        .write_data_i(!clearing && came),
        .read_address_i(read),
        .read_data_o(mark)
    );
  end
  assign gone = g_gone[0].mark;
  assign gone_there = g_gone[1].mark;

  typedef struct packed {
    logic last;
    logic [TagBits-1:0] tag;
    logic [DataBits-1:0] data;
  } waiting_t;
  waiting_t stored, oldest;
  assign stored.last = request.last;
  assign stored.tag = request_tag_i;
  assign stored.data = request.data;
  assign is_last = oldest.last;
  wl_ram_lut #(
      .Width($bits(waiting_t)),
      .Depth(Slots)
  ) i_requests (
      .clk_i,
      .write_i(store),
      .write_address_i(slot),
      .write_data_i(stored),
      .read_address_i(turn[SlotBits-1:0]),
      .read_data_o(oldest)
  );

  assign take = came != gone && !clearing && !passed && (!out_valid_o || out_ready_i);
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) out_valid_o <= 1'b0;
    else if (take) out_valid_o <= 1'b1;
    else if (out_ready_i) out_valid_o <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      out_tag_o  <= oldest.tag;
      out_data_o <= oldest.data;
    end
  end

  if (TicketBits > SlotBits) begin : g_ticket
    logic unused;
    assign unused = &request.ticket[TicketBits-1:SlotBits];
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i && !clearing) begin
      // No request is taken while the turn has to catch up with packets that have left.
      Passed_A : assert (!take || !passed);
      // A packet that has left has no request waiting in its slot.
      LeftEmpty_A : assert (!passed || came == gone);
      OneEach_M : assume (!store || slot != turn[SlotBits-1:0] || came == gone);
    end
  end
`endif
endmodule
