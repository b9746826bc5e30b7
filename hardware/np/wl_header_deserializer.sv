// Header deserialiser of a cluster: rows from the reorder queue to beats of the pipe.
//
// Contract
//   Data and order: row k of a packet is part k mod (DataBytes / RowBytes) of its beat k / (DataBytes / RowBytes). Parts of the last
//   beat that no row filled hold anything. Bytes are turned round, as wl_header_serializer does.
//   Throughput: one row a cycle while beats are taken when offered or up to a beat's rows later. Latency: two cycles behind the beat's
//   last row. Room: two beats.
// Timing: registers only. Cost: two registers of a beat, no multiplexer.
//
// Parameters
//   DataBytes   bytes of a beat, a multiple of RowBytes
//   RowBytes    bytes of a row
module wl_header_deserializer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = wl_pkg::WordBytes
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                          row_valid_i,
    output logic                          row_ready_o,
    input  logic [        8*RowBytes-1:0] row_data_i,
    input  logic                          row_first_i,
    input  logic                          row_last_i,
    input  logic [wl_pkg::ResultBits-1:0] row_result_i,  // on every row

    output logic                          beat_valid_o,
    input  logic                          beat_ready_i,
    output logic [       8*DataBytes-1:0] beat_data_o,
    output logic                          beat_first_o,
    output logic                          beat_last_o,
    output logic [wl_pkg::ResultBits-1:0] beat_result_o
);
endmodule
