// Reorder queue of a cluster: packets are given tags in order, finish in any order, and leave in order of their tags.
//
// A tag owns a record (the result) and a strip of rows in block RAM. A packet has one last record and, before it, any number of
// copies (`more`, by `emit`), which use the same strip one after the other.
//
// Contract
//   Tags are given in a ring, so the order of tags is that of loading. A tag is free again when its last record has left.
//   In: the rows of a packet are contiguous; tag and result on every row. A packet without rows (dropped, done, or with an empty
//   window) is one beat whose data do not count.
//   A copy may come only for the tag at the head. A record whose strip still holds a copy waits (`finish_ready_o` low) until that
//   has been read: this holds up nobody for ever, because it is at the head.
//   Out: records in order, rows as they came; packets without rows as one beat. Result on every row.
//   Throughput: one row in and one row out each cycle, one packet without rows each cycle. Latency: three cycles from the last row
//   of the packet at the head to its first row out.
//   No deadlock: as long as all tags given finish and the output is taken, all leave.
// Timing: outputs come from block RAM and registers.
// Cost: Tags * 2^ceil(log2 Rows) rows of block RAM; a result for each tag in LUT RAM.
//
// Parameters
//   Tags       packets under way at most: 1 or a power of two
//   Rows       rows of a packet at most; a window of 256 bytes that begins in the last byte of a row has 17
//   RowBytes   bytes of a row
module wl_reorder #(
    parameter int unsigned Tags = 32,
    parameter int unsigned Rows = 17,
    parameter int unsigned RowBytes = wl_pkg::WordBytes,
    localparam int unsigned TagBits = wl_pkg::bits(Tags),
    localparam int unsigned FreeBits = wl_pkg::bits(Tags + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // A tag for a packet that is being loaded.
    input  logic                alloc_valid_i,
    output logic                alloc_ready_o,
    output logic [ TagBits-1:0] alloc_tag_o,
    output logic [FreeBits-1:0] free_o,         // tags that are free

    // Finished packets, from the engines.
    input  logic                          finish_valid_i,
    output logic                          finish_ready_o,
    input  logic                          finish_first_i,
    input  logic                          finish_last_i,
    input  logic [        8*RowBytes-1:0] finish_data_i,
    input  logic [           TagBits-1:0] finish_tag_i,
    input  logic [wl_pkg::ResultBits-1:0] finish_result_i,

    // To the engines: the tag whose turn it is, and whether all it has sent so far has left.
    output logic [TagBits-1:0] order_head_o,
    output logic               order_drained_o,

    // Packets in order.
    output logic                          row_valid_o,
    input  logic                          row_ready_i,
    output logic                          row_first_o,
    output logic                          row_last_o,
    output logic [        8*RowBytes-1:0] row_data_o,
    output logic [wl_pkg::ResultBits-1:0] row_result_o
);
endmodule
