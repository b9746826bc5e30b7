// Header serialiser of a cluster: beats of the pipe to the rows that engines load.
//
// Contract
//   Data and order: a packet of n bytes becomes ceil(n / RowBytes) rows, at least one and at most as many as its beats hold, in order.
//   Bytes are turned round: byte 0 is the least significant in a beat and the most significant in a row.
//   Throughput: one row a cycle; the next beat is taken while the last row of the one before leaves. Latency: one cycle.
// Timing: one multiplexer behind registers; `ready_o` depends on `row_ready_i`.
//
// Parameters
//   DataBytes   bytes of a beat, a multiple of RowBytes
//   RowBytes    bytes of a row
//   InfoBits    bits of a packet's information, its length in the lowest 16
module wl_header_serializer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = wl_pkg::WordBytes,
    parameter int unsigned InfoBits = 32
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   first_i,
    input  logic                   last_i,
    input  logic [   InfoBits-1:0] info_i,   // on every beat

    output logic                  row_valid_o,
    input  logic                  row_ready_i,
    output logic [8*RowBytes-1:0] row_data_o,
    output logic                  row_first_o,
    output logic                  row_last_o,
    output logic [  InfoBits-1:0] row_info_o    // on every row
);
endmodule
