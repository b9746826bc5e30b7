`include "wl_reset.svh"

// Demultiplexer for virtual routers: each packet of a lane goes to its router, and each router has
// its own queue. If a router does not take its packets in time, only this router loses packets.
//
// Contract
//   Data and order: a router gets its packets as a whole, in order, once. A packet that arrives
//   while its router's queue has no room for the longest packet is dropped as a whole (`lost_o`),
//   and so is a packet that belongs to no router (`unknown_o`). A packet of more than MaxBeats
//   beats is cut after MaxBeats beats (`cut_o`).
//   Isolation: a beat is accepted in every cycle, whatever the routers do; what a router gets, and
//   when, does not depend on the other routers.
//   Throughput: one beat a cycle in, and one a cycle to each router. Latency: two cycles.
// Timing: the outputs are the registers of block RAM; from `meant_i` to the writes of the queues
// there are a comparison and two gates.
//
// Parameters
//   Routers    virtual routers
//   Width      bits of a beat, without `last`
//   Beats      capacity of each queue in beats
//   MaxBeats   beats of the longest packet
module wl_virtual_demux #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Width = 592,
    parameter int unsigned Beats = 512,
    parameter int unsigned MaxBeats = 24
) (
    input logic clk_i,
    input logic rst_i,

    input logic               valid_i,
    input logic [Routers-1:0] meant_i,  // router of the packet, if any; valid on its first beat
    input logic               last_i,
    input logic [  Width-1:0] data_i,

    // To the routers.
    output logic [Routers-1:0]            router_valid_o,
    input  logic [Routers-1:0]            router_ready_i,
    output logic [Routers-1:0]            router_last_o,
    output logic [Routers-1:0][Width-1:0] router_data_o,

    // Statistics on a packet, in the cycle of its first beat.
    output logic [Routers-1:0] lost_o,
    output logic               unknown_o,
    output logic               cut_o       // in the cycle of its last beat that is stored
);

  if (Routers < 1 || Width < 1) begin : g_illegal
    $fatal(1, "wl_virtual_demux: Routers and Width must be 1 or more");
  end
  if (MaxBeats < 1 || Beats < MaxBeats) begin : g_illegal_beats
    $fatal(1, "wl_virtual_demux: MaxBeats must be 1 or more, and a queue hold the longest packet");
  end

  localparam int unsigned FillBits = wl_pkg::bits(Beats + 2);
  localparam int unsigned CountBits = wl_pkg::bits(MaxBeats);

  logic behind;  // this beat is not the packet's first
  logic [Routers-1:0] kept;  // router that gets the beats of this packet; none if they are dropped
  logic [CountBits-1:0] count;  // beats of the packet before this one
  logic [Routers-1:0] room, gets;
  logic full;
  typedef struct packed {
    logic last;
    logic [Width-1:0] data;
  } beat_t;
  beat_t beat;
  assign full = count == CountBits'(MaxBeats - 1);
  assign beat.last = last_i || full;
  assign beat.data = data_i;
  assign gets = {Routers{valid_i}} & (behind ? kept : meant_i & room);
  assign lost_o = {Routers{valid_i && !behind}} & meant_i & ~room;
  assign unknown_o = valid_i && !behind && meant_i == '0;
  assign cut_o = gets != '0 && full && !last_i;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      behind <= 1'b0;
      kept   <= '0;
      count  <= '0;
    end else if (valid_i) begin
      behind <= !last_i;
      // Beats past the longest packet's end are dropped.
      kept   <= beat.last ? '0 : gets;
      count  <= last_i || full ? '0 : count + 1'b1;
    end
  end

  logic [Routers-1:0] ready;
  for (genvar i = 0; i < Routers; i++) begin : g_router
    logic [FillBits-1:0] fill;
    beat_t oldest;
    assign router_last_o[i] = oldest.last;
    assign router_data_o[i] = oldest.data;
    assign room[i] = fill <= FillBits'(Beats - MaxBeats);
    wl_fifo_block #(
        .Width($bits(beat_t)),
        .Depth(Beats)
    ) i_queue (
        .clk_i,
        .rst_i,
        .in_valid_i(gets[i]),
        .in_ready_o(ready[i]),
        .in_data_i(beat),
        .out_valid_o(router_valid_o[i]),
        .out_ready_i(router_ready_i[i]),
        .out_data_o(oldest),
        .fill_o(fill)
    );
  end

  logic unused;
  assign unused = &{1'b0, ready};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Meant_M : assume (!valid_i || behind || $onehot0(meant_i));
      Room_A : assert ((gets & ~ready) == '0);
      One_A : assert ($onehot0(gets));
    end
  end
`endif
endmodule
