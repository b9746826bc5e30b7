// Post-processor of a pipe: puts headers and bodies together again, byte by byte, without gaps.
//
// What leaves is an *item*: a packet of one or more beats, or an event (a packet was dropped, or its thread ended without sending).
//
// Contract
//   A sent packet (finish, emit, to_cpu) is its window, which begins at byte `start` of its first header beat, and then the first
//   `length - window` bytes of its body; the rest of the body is discarded. An event discards all of it.
//   `more_o` marks copies: the body stays for what the same packet still sends.
//   Order: items leave in the order of the headers.
//   Throughput: one packet a cycle where header and packet have one beat; one event a cycle; else one beat a cycle in or out.
//   An item that is not taken stays as it is. A packet of no bytes is one beat without a byte.
// Timing: the byte network has a register behind it; outputs are registers.
//
// Parameters
//   DataBytes   bytes of a beat, a power of two from 16 on
module wl_postprocessor #(
    parameter int unsigned DataBytes = 64
) (
    input logic clk_i,
    input logic rst_i,

    // Headers, from wl_gatherer.
    input  logic                          beat_valid_i,
    output logic                          beat_ready_o,
    input  logic [       8*DataBytes-1:0] beat_data_i,    // while not beat_ready_o: what the body buffer read last
    input  logic                          beat_first_i,
    input  logic                          beat_last_i,
    input  logic [wl_pkg::ResultBits-1:0] beat_result_i,

    // Bodies, from wl_body_buffer; their data come by way of wl_gatherer.
    input  logic body_valid_i,
    output logic body_read_o,
    output logic body_rewind_o,
    output logic body_free_o,

    // Items, to wl_merger: byte 0 of a beat in bits 7:0.
    output logic                        valid_o,
    input  logic                        ready_i,
    output logic                        event_o,  // an event: one beat without data
    output logic                        more_o,   // the same packet will send again
    output logic [     8*DataBytes-1:0] data_o,
    output logic [       DataBytes-1:0] keep_o,
    output logic                        last_o,
    output logic [wl_pkg::SentBits-1:0] user_o    // wl_pkg::sent_t, on every beat
);
endmodule
