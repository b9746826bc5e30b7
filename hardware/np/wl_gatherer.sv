// Gatherer of a pipe: takes finished headers from the clusters, in the order in which wl_distributor gave them out.
//
// Contract
//   Data and order: the packets of a cluster are in order; the recorded choices say which cluster is next. A packet with copies (`more`)
//   is taken with all of them before the next.
//   Throughput: one beat a cycle, also from one cluster after another, as long as the cluster whose turn it is has one. Latency: one
//   cycle. While there is no beat, `beat_data_o` is zero or anything.
// Timing: one register and one multiplexer for each cluster's data.
//
// Parameters
//   Clusters     clusters of the pipe
//   DataBytes    bytes of a beat
//   Policy       that of wl_distributor; with 0 the order is known and nothing is stored
//   OrderDepth   packets between distributor and gatherer at most (Policy other than 0)
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
    input  logic [                   Clusters-1:0] cluster_valid_i,
    output logic [                   Clusters-1:0] cluster_ready_o,
    input  logic [       Clusters*8*DataBytes-1:0] cluster_data_i,
    input  logic [                   Clusters-1:0] cluster_first_i,
    input  logic [                   Clusters-1:0] cluster_last_i,
    input  logic [Clusters*wl_pkg::ResultBits-1:0] cluster_result_i,

    // To wl_postprocessor.
    output logic                          beat_valid_o,
    input  logic                          beat_ready_i,
    output logic [       8*DataBytes-1:0] beat_data_o,
    output logic                          beat_first_o,
    output logic                          beat_last_o,
    output logic [wl_pkg::ResultBits-1:0] beat_result_o
);
endmodule
