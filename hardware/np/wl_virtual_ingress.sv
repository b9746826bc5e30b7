// Ingress of a processor that virtual routers share: a queue for each router, from which it is given no more than its share, and fair
// arbitration among those that have something.
//
// Contract
//   Data and order: a router's packets leave whole, in order, once; each beat carries the router's number. Losses are those of
//   wl_virtual_demux: what comes while a router's queue has not room for the longest packet is lost to that router alone.
//   Isolation: if the output takes as many beats as all Shares together come to, then a router that sends no more than its share, in bursts
//   that its queue holds beside a packet of MaxBeats of every other router, loses nothing, whatever the others send.
//   Throughput: one beat a cycle in, and one out. Latency: three cycles.
// Timing: from the queues' block RAM through wl_rate_limit, the arbiter and the multiplexer of wl_merge to its skid buffer.
//
// Parameters
//   Routers    virtual routers
//   Width      bits of a beat, `last` not counted
//   Beats      beats of room in each queue
//   MaxBeats   beats of the longest packet
//   Burst      beats that a router which was idle may send at once
//   Shares     of each router, 17 bits: beats that it may send in 65,536 cycles
module wl_virtual_ingress #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Width = 592,
    parameter int unsigned Beats = 512,
    parameter int unsigned MaxBeats = 24,
    parameter int unsigned Burst = 16,
    parameter logic [Routers*17-1:0] Shares = {Routers{17'd13107}},
    localparam int unsigned RouterBits = wl_pkg::bits(Routers)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  valid_i,
    input logic [RouterBits-1:0] router_i,  // counts on the first beat of a packet
    input logic                  last_i,
    input logic [     Width-1:0] data_i,

    // To the processor.
    output logic                  out_valid_o,
    input  logic                  out_ready_i,
    output logic [RouterBits-1:0] out_router_o,
    output logic                  out_last_o,
    output logic [     Width-1:0] out_data_o,

    // Statistics, as those of wl_virtual_demux.
    output logic [Routers-1:0] lost_o,
    output logic               unknown_o,
    output logic               cut_o
);

  logic [Routers-1:0] queue_valid, queue_ready, queue_last, open_valid, open_ready, open_last;
  logic [Routers*Width-1:0] queue_data;
  logic [Routers*(Width+RouterBits)-1:0] open_data;

  wl_virtual_demux #(
      .Routers (Routers),
      .Width   (Width),
      .Beats   (Beats),
      .MaxBeats(MaxBeats)
  ) i_demux (
      .clk_i,
      .rst_i,
      .valid_i,
      .router_i,
      .last_i,
      .data_i,
      .router_valid_o(queue_valid),
      .router_ready_i(queue_ready),
      .router_last_o(queue_last),
      .router_data_o(queue_data),
      .lost_o,
      .unknown_o,
      .cut_o
  );

  for (genvar i = 0; i < Routers; i++) begin : g_router
    assign open_data[i*(Width+RouterBits)+Width+:RouterBits] = RouterBits'(i);
    wl_rate_limit #(
        .Width(Width),
        .Share(32'(Shares[i*17+:17])),
        .Burst(Burst),
        .MaxBeats(MaxBeats)
    ) i_limit (
        .clk_i,
        .rst_i,
        .in_valid_i (queue_valid[i]),
        .in_ready_o (queue_ready[i]),
        .in_last_i  (queue_last[i]),
        .in_data_i  (queue_data[i*Width+:Width]),
        .out_valid_o(open_valid[i]),
        .out_ready_i(open_ready[i]),
        .out_last_o (open_last[i]),
        .out_data_o (open_data[i*(Width+RouterBits)+:Width])
    );
  end

  wl_merge #(
      .Inputs(Routers),
      .Width(Width + RouterBits),
      .Register(1'b1)
  ) i_merge (
      .clk_i,
      .rst_i,
      .in_valid_i(open_valid),
      .in_ready_o(open_ready),
      .in_last_i(open_last),
      .in_data_i(open_data),
      .out_valid_o,
      .out_ready_i,
      .out_last_o,
      .out_data_o({out_router_o, out_data_o})
  );
endmodule
