// Ingress of a lane of virtual routers: each router has a queue, whose output is limited to the
// router's share of the lane; each processor arbitrates fairly among its routers that have packets.
//
// Contract
//   Data and order: the packets of a router go to its processor as a whole, in order, once; each
//   beat carries the router's place in its processor.
//   Losses are those of wl_virtual_demux: a packet that arrives while its router's queue has no
//   room for the longest packet is lost to that router only.
//   Isolation: if a processor accepts as many beats as the Shares of its routers add up to, then a
//   router loses nothing, whatever the others send, as long as it sends no more than its share, in
//   bursts that its queue holds besides a packet of MaxBeats of every other router of its
//   processor. The processors do not affect each other.
//   Reset: of a packet that reset cuts, the beats that come after reset are discarded up to
//   `last_i`.
//   Throughput: one beat a cycle in, and one to each processor. Latency: three cycles.
// Timing: from a tag to the writes of the queues there are two comparisons; from the block RAM of
// the queues the path goes through wl_rate_limit, the arbiter and the multiplexer of wl_merge to
// its skid buffer.
//
// Parameters
//   Routers      virtual routers
//   Processors   processors
//   Counts       9 bits for each processor: the number of its routers; the routers of a processor
//                have consecutive numbers
//   Tags         8 bits for each router: the tag of its packets
//   Width        bits of a beat, without `last`
//   Beats        capacity of each queue in beats
//   MaxBeats     beats of the longest packet
//   Burst        beats that a router may send at once after it was idle
//   Shares       17 bits for each router: beats that it may send in 65,536 cycles
module wl_virtual_ingress #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Processors = 1,
    parameter logic [Processors*9-1:0] Counts = (Processors * 9)'(Routers),
    parameter logic [Routers*8-1:0] Tags = (Routers * 8)'(256),
    parameter int unsigned Width = 584,
    parameter int unsigned Beats = 512,
    parameter int unsigned MaxBeats = 24,
    parameter int unsigned Burst = 16,
    parameter logic [Routers*17-1:0] Shares = {Routers{17'd13107}}
) (
    input logic clk_i,
    // verilator lint_off SYNCASYNCNET
    input logic rst_i,  // registers that record what it cuts take it at the clock's edge
    // verilator lint_on SYNCASYNCNET

    input logic             valid_i,
    input logic [      7:0] tag_i,    // valid on the first beat of a packet
    input logic             last_i,
    input logic [Width-1:0] data_i,

    // To the processors.
    output logic [Processors-1:0]            out_valid_o,
    input  logic [Processors-1:0]            out_ready_i,
    output logic [Processors-1:0][      7:0] out_place_o,  // place of the router in its processor
    output logic [Processors-1:0]            out_last_o,
    output logic [Processors-1:0][Width-1:0] out_data_o,

    // Statistics, as in wl_virtual_demux.
    output logic [Routers-1:0] lost_o,
    output logic               unknown_o,
    output logic               cut_o
);

  // Returns the first router of a processor; for the number of processors, the number of routers.
  function automatic int unsigned first(int unsigned processor);
    first = 0;
    for (int unsigned i = 0; i < processor; i++) first += 32'(Counts[i*9+:9]);
  endfunction
  // Returns the number of processors without routers, and of pairs of routers with the same tag.
  function automatic int unsigned wrong();
    wrong = 0;
    for (int unsigned i = 0; i < Processors; i++) if (Counts[i*9+:9] == '0) wrong += 1;
    for (int unsigned i = 0; i < Routers; i++)
      for (int unsigned k = 0; k < i; k++) if (Tags[i*8+:8] == Tags[k*8+:8]) wrong += 1;
  endfunction
  if (Processors < 1 || first(Processors) != Routers || wrong() != 0) begin : g_illegal
    $fatal(1,
        "wl_virtual_ingress: a processor needs a router, each router a processor and its own tag");
  end

  // A beat with the place of its router among those of its processor.
  typedef struct packed {
    logic [7:0] place;
    logic [Width-1:0] data;
  } beat_t;

  logic [Routers-1:0] meant, queue_valid, queue_ready, queue_last;
  logic [Routers-1:0][Width-1:0] queue_data;
  for (genvar i = 0; i < Routers; i++) begin : g_tag
    assign meant[i] = tag_i == Tags[i*8+:8];
  end

  // Beats in the middle of a packet, and a packet that a reset has cut: this must survive a reset.
  logic arriving, cut, enters;
  initial arriving = 1'b0;
  assign enters = valid_i && !cut && !rst_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) cut <= valid_i ? !last_i : arriving;
    else if (valid_i && last_i) cut <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) arriving <= !last_i;
  end

  wl_virtual_demux #(
      .Routers (Routers),
      .Width   (Width),
      .Beats   (Beats),
      .MaxBeats(MaxBeats)
  ) i_demux (
      .clk_i,
      .rst_i,
      .valid_i(enters),
      .meant_i(meant),
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

  for (genvar p = 0; p < Processors; p++) begin : g_processor
    localparam int unsigned First = first(p);
    localparam int unsigned Count = 32'(Counts[p*9+:9]);
    logic [Count-1:0] open_valid, open_ready, open_last;
    beat_t [Count-1:0] open;
    beat_t chosen;
    for (genvar i = 0; i < Count; i++) begin : g_router
      beat_t beat;
      assign beat.place = 8'(i);
      assign open[i] = beat;
      wl_rate_limit #(
          .Width(Width),
          .Share(32'(Shares[(First+i)*17+:17])),
          .Burst(Burst),
          .MaxBeats(MaxBeats)
      ) i_limit (
          .clk_i,
          .rst_i,
          .in_valid_i (queue_valid[First+i]),
          .in_ready_o (queue_ready[First+i]),
          .in_last_i  (queue_last[First+i]),
          .in_data_i  (queue_data[First+i]),
          .out_valid_o(open_valid[i]),
          .out_ready_i(open_ready[i]),
          .out_last_o (open_last[i]),
          .out_data_o (beat.data)
      );
    end

    wl_merge #(
        .Inputs(Count),
        .Width($bits(beat_t)),
        .Register(1'b1)
    ) i_merge (
        .clk_i,
        .rst_i,
        .in_valid_i(open_valid),
        .in_ready_o(open_ready),
        .in_last_i(open_last),
        .in_data_i(open),
        .out_valid_o(out_valid_o[p]),
        .out_ready_i(out_ready_i[p]),
        .out_last_o(out_last_o[p]),
        .out_data_o(chosen)
    );
    assign out_place_o[p] = chosen.place;
    assign out_data_o[p] = chosen.data;
  end

`ifdef FORMAL
  // The packets of each router that have begun to enter and not to leave: its queue and the
  // registers after it have room for these.
  localparam int unsigned Room = Beats + 4;
  logic [Routers-1:0] leaves;
  logic behind;
  always_ff @(posedge clk_i) begin
    if (rst_i) behind <= 1'b0;
    else if (enters) behind <= !last_i;
  end
  for (genvar i = 0; i < Routers; i++) begin : g_inside
    int unsigned packets;
    always_ff @(posedge clk_i) begin
      if (rst_i) packets <= 0;
      else packets <= packets + 32'(enters && !behind && meant[i] && !lost_o[i]) - 32'(leaves[i]);
      if (!rst_i) Count_A : assert (packets <= Room && (packets != 0 || !leaves[i]));
    end
  end
  for (genvar p = 0; p < Processors; p++) begin : g_owner
    localparam int unsigned First = first(p);
    localparam int unsigned Count = 32'(Counts[p*9+:9]);
    logic midst, taken;
    logic [7:0] place, owner;
    assign taken = out_valid_o[p] && out_ready_i[p];
    assign place = out_place_o[p];
    assign leaves[First+:Count] = taken && !midst ? Count'(1) << place : '0;
    always_ff @(posedge clk_i) begin
      if (rst_i) midst <= 1'b0;
      else if (taken) midst <= !out_last_o[p];
      if (taken) owner <= place;
      if (!rst_i) begin
        Place_A : assert (!out_valid_o[p] || 32'(place) < Count);
        Owner_A : assert (!out_valid_o[p] || !midst || place == owner);
      end
    end
  end
`endif
endmodule
