// Demultiplexer of virtual routers: each packet of one lane goes to its router, each of which has a queue of its own.
// What a router does not take in time is lost to it alone.
//
// Contract
//   Data and order: a router gets its packets whole, in order, once. A packet that comes while its router's queue has not room for the
//   longest packet is lost whole (`lost_o`); one that is meant for no router is lost (`unknown_o`). A packet of more than MaxBeats beats ends
//   with its MaxBeats-th (`cut_o`).
//   Isolation: a beat is taken every cycle, whatever the routers do; what one router gets, and when, does not depend on what others take.
//   Throughput: one beat a cycle in, and one a cycle to each router. Latency: two cycles.
// Timing: the outputs are block RAM's registers; from `meant_i` to the queues' writes it is a comparison and two gates.
//
// Parameters
//   Routers    virtual routers
//   Width      bits of a beat, `last` not counted
//   Beats      beats of room in each queue
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
    input logic [Routers-1:0] meant_i,  // the packet's router, if any; counts on the first beat of a packet
    input logic               last_i,
    input logic [  Width-1:0] data_i,

    // To the routers.
    output logic [      Routers-1:0] router_valid_o,
    input  logic [      Routers-1:0] router_ready_i,
    output logic [      Routers-1:0] router_last_o,
    output logic [Routers*Width-1:0] router_data_o,

    // Statistics: of a packet, in the cycle of its first beat.
    output logic [Routers-1:0] lost_o,
    output logic               unknown_o,
    output logic               cut_o       // in the cycle of its last beat that is kept
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
  logic [Routers-1:0] kept;  // the router that gets this packet's beats; none if they are lost
  logic [CountBits-1:0] count;  // beats of it before this one
  logic [Routers-1:0] room, gets;
  logic full, last;
  assign full = count == CountBits'(MaxBeats - 1);
  assign last = last_i || full;
  assign gets = {Routers{valid_i}} & (behind ? kept : meant_i & room);
  assign lost_o = {Routers{valid_i && !behind}} & meant_i & ~room;
  assign unknown_o = valid_i && !behind && meant_i == '0;
  assign cut_o = gets != '0 && full && !last_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      behind <= 1'b0;
      kept   <= '0;
      count  <= '0;
    end else if (valid_i) begin
      behind <= !last_i;
      // What comes behind the longest packet's end is for nobody.
      kept   <= last ? '0 : gets;
      count  <= last_i || full ? '0 : count + 1'b1;
    end
  end

  logic [Routers-1:0] ready;
  for (genvar i = 0; i < Routers; i++) begin : g_router
    logic [FillBits-1:0] fill;
    assign room[i] = fill <= FillBits'(Beats - MaxBeats);
    wl_fifo_block #(
        .Width(Width + 1),
        .Depth(Beats)
    ) i_queue (
        .clk_i,
        .rst_i,
        .in_valid_i(gets[i]),
        .in_ready_o(ready[i]),
        .in_data_i({last, data_i}),
        .out_valid_o(router_valid_o[i]),
        .out_ready_i(router_ready_i[i]),
        .out_data_o({router_last_o[i], router_data_o[i*Width+:Width]}),
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
