`include "wl_reset.svh"

// Gatherer of a pipe: takes finished headers from the clusters, in the order in which
// wl_distributor assigned them.
//
// Contract
//   Data and order: the packets of a cluster are in order; the recorded choices determine the next
//   cluster. A packet with copies (`more`) is taken with all of them before the next packet.
//   Throughput: one beat a cycle, also from one cluster after another, as long as the cluster that
//   has the turn has a beat. Latency: one cycle.
// Timing: a register for the data of each cluster, zero except for the cluster that has the turn,
// and an OR of them.
//
// Parameters
//   Clusters     clusters of the pipe
//   DataBytes    bytes of a beat
//   Policy       that of wl_distributor; with 0 the order is fixed and nothing is stored
//   OrderDepth   most packets between distributor and gatherer (Policy other than 0)
module wl_gatherer #(
    parameter int unsigned Clusters = 8,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned Policy = 0,
    parameter int unsigned OrderDepth = 512,
    localparam int unsigned ClusterBits = wl_pkg::bits(Clusters)
) (
    input logic clk_i,
    input logic rst_i,

    // From wl_distributor.
    input  logic                   order_valid_i,
    output logic                   order_ready_o,
    input  logic [ClusterBits-1:0] order_cluster_i,

    // From each cluster's wl_header_deserializer.
    input  logic            [Clusters-1:0]                  cluster_valid_i,
    output logic            [Clusters-1:0]                  cluster_ready_o,
    input  logic            [Clusters-1:0][8*DataBytes-1:0] cluster_data_i,
    input  logic            [Clusters-1:0]                  cluster_last_i,
    input  wl_pkg::result_t [Clusters-1:0]                  cluster_result_i,

    // To wl_postprocessor.
    output logic                   beat_valid_o,
    input  logic                   beat_ready_i,
    output logic [8*DataBytes-1:0] beat_data_o,
    output logic                   beat_last_o,
    output wl_pkg::result_t        beat_result_o
);

  if (Clusters < 1 || DataBytes < 1 || OrderDepth < 1) begin : g_illegal
    $fatal(1, "wl_gatherer: Clusters, DataBytes and OrderDepth must be 1 or more");
  end

  // The cluster that has the turn.
  logic turn_valid, turn_ready;
  logic [ClusterBits-1:0] turn;
  if (Clusters == 1) begin : g_one
    assign turn = '0;
    assign turn_valid = 1'b1;
    assign order_ready_o = 1'b1;
    logic unused;
    assign unused = &{turn_ready, order_valid_i, order_cluster_i};
  end else if (Policy == 0) begin : g_known
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) turn <= '0;
      else if (turn_ready) turn <= turn == ClusterBits'(Clusters - 1) ? '0 : turn + 1'b1;
    end
    assign turn_valid = 1'b1;
    assign order_ready_o = 1'b1;
    logic unused;
    assign unused = &{order_valid_i, order_cluster_i};
  end else begin : g_recorded
    logic [wl_pkg::bits(OrderDepth + 2)-1:0] unused;
    wl_fifo_block #(
        .Width(ClusterBits),
        .Depth(OrderDepth)
    ) i_order (
        .clk_i,
        .rst_i,
        .in_valid_i (order_valid_i),
        .in_ready_o (order_ready_o),
        .in_data_i  (order_cluster_i),
        .out_valid_o(turn_valid),
        .out_ready_i(turn_ready),
        .out_data_o (turn),
        .fill_o     (unused)
    );
  end

  logic free;
  logic [Clusters-1:0] take, final_beat;
  assign free = !beat_valid_o || beat_ready_i;
  assign cluster_ready_o = turn_valid && free ? Clusters'(1'b1) << turn : '0;
  assign take = cluster_valid_i & cluster_ready_o;
  assign turn_ready = |(take & final_beat);

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) beat_valid_o <= 1'b0;
    else if (free) beat_valid_o <= |take;
  end

  // The beat of the cluster that has the turn; zero for the others, so that their OR is the beat.
  typedef struct packed {
    wl_pkg::result_t result;
    logic last;
    logic [8*DataBytes-1:0] data;
  } beat_t;
  beat_t [Clusters-1:0] chosen;
  for (genvar i = 0; i < Clusters; i++) begin : g_cluster
    beat_t offered;
    assign offered.result = cluster_result_i[i];
    assign offered.last = cluster_last_i[i];
    assign offered.data = cluster_data_i[i];
    assign final_beat[i] = offered.last && !offered.result.more;

    always_ff @(posedge clk_i) begin
      if (free) chosen[i] <= take[i] ? offered : '0;
    end
  end

  beat_t beat;
  always_comb begin
    beat = '0;
    for (int unsigned i = 0; i < Clusters; i++) beat |= chosen[i];
  end
  assign beat_result_o = beat.result;
  assign beat_last_o = beat.last;
  assign beat_data_o = beat.data;

`ifdef FORMAL
  logic was_stalled;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && beat_valid_o && !beat_ready_i;
    if (!rst_i) begin
      OneCluster_A : assert ($onehot0(take));
      Stable_A : assert (!was_stalled || beat_valid_o);
    end
  end
`endif

endmodule
