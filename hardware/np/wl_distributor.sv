`include "wl_reset.svh"

// Distributor of a pipe: assigns each header to a cluster, and records the choice, so that
// wl_gatherer can restore the order.
//
// Contract
//   Data and order: each packet goes to one cluster as a whole, once. The choice is recorded with
//   the packet's first beat.
//   Policy: as in wl_balancer (0 static round robin, 1 least loaded, 2 first free). Policies 1 and
//   2 see `free_i` one cycle late, and only its upper two bits and whether it is zero; policy 1
//   takes clusters that look equally loaded in turn. So a cluster that has just been chosen is not
//   chosen in the next cycle, unless it is the only one.
//   A cluster is chosen only if it has room for a whole header (`cluster_ready_i`).
//   Throughput: one beat a cycle, headers of any length, while a cluster has room. Latency: none.
// Timing: policy 1 compares numbers of three bits in a tree; `header_ready_o` depends on
// `cluster_ready_i` of the chosen cluster.
//
// Parameters
//   Clusters    clusters of the pipe; 1 is only wires
//   DataBytes   bytes of a beat
//   InfoBits    bits of a packet's information
//   FreeBits    bits of a cluster's count of free places
//   Policy      see above
module wl_distributor #(
    parameter int unsigned Clusters = 8,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned InfoBits = 32,
    parameter int unsigned FreeBits = 1,
    parameter int unsigned Policy = 0,
    localparam int unsigned ClusterBits = wl_pkg::bits(Clusters)
) (
    input logic clk_i,
    input logic rst_i,

    // Headers, from wl_preprocessor.
    input  logic                   header_valid_i,
    output logic                   header_ready_o,
    input  logic [8*DataBytes-1:0] header_data_i,
    input  logic                   header_first_i,
    input  logic                   header_last_i,
    input  logic [   InfoBits-1:0] header_info_i,

    // To the wl_header_serializer of each cluster: separate `valid` and `ready`, the rest in
    // common.
    output logic [         Clusters-1:0] cluster_valid_o,
    input  logic [         Clusters-1:0] cluster_ready_i,  // room for the (rest of the) header
    output logic [      8*DataBytes-1:0] cluster_data_o,
    output logic                         cluster_first_o,
    output logic                         cluster_last_o,
    output logic [         InfoBits-1:0] cluster_info_o,
    input  logic [Clusters*FreeBits-1:0] free_i,           // free places, 0 only if full

    // To wl_gatherer: the cluster of each packet.
    output logic                   order_valid_o,
    input  logic                   order_ready_i,
    output logic [ClusterBits-1:0] order_cluster_o
);

  if (Clusters < 1 || DataBytes < 1 || InfoBits < 1 || FreeBits < 1) begin : g_illegal
    $fatal(1, "wl_distributor: Clusters, DataBytes, InfoBits and FreeBits must be 1 or more");
  end

  // A beat of a header, without `last`.
  typedef struct packed {
    logic [InfoBits-1:0] info;
    logic first;
    logic [8*DataBytes-1:0] data;
  } header_t;

  // What the balancer sees of a cluster: zero if it has no room for a header or was chosen in the
  // cycle before, else the free places of the cycle before, in thirds of the maximum, rounded up,
  // and below them whether its turn is still to come. Three bits of two clusters are compared in
  // one LUT.
  logic [Clusters-1:0] recent;  // chosen in the cycle before
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) recent <= '0;
    else recent <= Clusters == 1 ? '0 : cluster_valid_o & cluster_ready_i;
  end
  // A round of turns ends when the best cluster has had its turn: all others have theirs again.
  logic [Clusters-1:0] due;  // not chosen in this round
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) due <= '1;
    else if (order_valid_o) begin
      due <= (due[order_cluster_o] ? due : '1) & ~(Clusters'(1) << order_cluster_o);
    end
  end
  localparam int unsigned LevelBits = FreeBits < 2 ? FreeBits : 2;
  localparam int unsigned SeenBits = LevelBits + 1;
  logic [Clusters*LevelBits-1:0] levels;
  logic [Clusters*SeenBits-1:0] eligible;
  for (genvar i = 0; i < Clusters; i++) begin : g_cluster
    logic [FreeBits-1:0] free, level;
    assign free  = free_i[i*FreeBits+:FreeBits];
    assign level = free >> (FreeBits - LevelBits);
    always_ff @(posedge clk_i) begin
      levels[i*LevelBits+:LevelBits] <= FreeBits == LevelBits || free == '0
          || level == FreeBits'(2 ** LevelBits - 1)
          ? LevelBits'(level) : LevelBits'(level) + 1'b1;
    end
    logic [LevelBits-1:0] seen;
    assign seen = levels[i*LevelBits+:LevelBits];
    assign eligible[i*SeenBits+:SeenBits] = cluster_ready_i[i] && !recent[i] && seen != '0
        ? {seen, due[i]} : '0;
  end

  // The first beat of a packet waits until the choice can be recorded.
  logic valid, ready;
  assign valid = header_valid_i && (order_ready_i || !header_first_i);
  assign header_ready_o = ready && (order_ready_i || !header_first_i);
  assign order_valid_o = header_valid_i && header_ready_o && header_first_i;

  header_t header, given;
  assign header.info = header_info_i;
  assign header.first = header_first_i;
  assign header.data = header_data_i;
  wl_balancer #(
      .Targets(Clusters),
      .Width($bits(header_t)),
      .FreeBits(SeenBits),
      .Policy(Policy)
  ) i_balancer (
      .clk_i,
      .rst_i,
      .in_valid_i(valid),
      .in_ready_o(ready),
      .in_last_i(header_last_i),
      .in_data_i(header),
      .free_i(eligible),
      .out_valid_o(cluster_valid_o),
      .out_ready_i(cluster_ready_i),
      .out_last_o(cluster_last_o),
      .out_data_o(given),
      .target_o(order_cluster_o)
  );
  assign cluster_info_o = given.info;
  assign cluster_first_o = given.first;
  assign cluster_data_o = given.data;

`ifdef FORMAL
  logic taken, midst, was_waiting, was_last;
  // The cluster of this beat, and that of the packet.
  logic [Clusters-1:0] takes, chosen, was_stalled;
  header_t was;
  assign taken = header_valid_i && header_ready_o;
  assign takes = cluster_valid_o & cluster_ready_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) midst <= 1'b0;
    else if (taken) midst <= !header_last_i;
    if (order_valid_o) chosen <= Clusters'(1) << order_cluster_o;
    was_waiting <= !rst_i && header_valid_i && !header_ready_o;
    was_last <= header_last_i;
    was <= header;
    was_stalled <= rst_i ? '0 : cluster_valid_o & ~cluster_ready_i;
    if (!rst_i) begin
      First_M : assume (!header_valid_i || header_first_i == !midst);
      Held_M : assume (!was_waiting
          || (header_valid_i && header_last_i == was_last && header == was));
      Stable_A : assert ((was_stalled & ~cluster_valid_o) == '0);
      Once_A : assert ($onehot0(takes) && taken == (takes != '0));
      Recorded_A : assert (order_valid_o == (taken && !midst) && (!order_valid_o || order_ready_i));
      Whole_A : assert (!taken || takes == (midst ? chosen : Clusters'(1) << order_cluster_o));
    end
  end
`endif

endmodule
