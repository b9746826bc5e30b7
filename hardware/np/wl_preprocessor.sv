// Pre-processor of a pipe: parts packets into header and body and adds what is known of them.
//
// The header is the first WindowBytes bytes; what lies behind goes to the body buffer. A header leaves as soon as its packet is whole,
// because its information has the packet's length.
//
// Contract
//   Data and order: packets leave in order; the body of a packet is in the body buffer before its header leaves.
//   Header beats carry zeros behind the packet's end. A packet of no bytes has one header beat.
//   Throughput: one beat a cycle, so one packet a cycle if it has one beat. Latency: three cycles behind the last beat.
//   Nothing is lost inside: a beat is taken only when header store and body buffer have room.
//   Any input is defined: of a last beat the bytes before the first zero of `keep_i` count, of other beats all; what would
//   make a packet longer than MaxBytes is cut off. Both are reported (`malformed_o`, `oversize_o`), once a packet.
// Timing: inputs go to registers; outputs come from block RAM and registers. `ready_o` is a register.
//
// Parameters
//   DataBytes      bytes of a beat
//   WindowBytes    bytes of a header at most, a multiple of DataBytes
//   UserBits       bits that come with a packet: ingress port (16), then what else the program asks for
//   SequenceBits   bits of the packet's number that go into the information; 0: none
//   MaxBytes       longest packet; the body buffer must hold MaxBytes - WindowBytes
//   HeaderBeats    room for header beats (block RAM)
module wl_preprocessor #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned WindowBytes = wl_pkg::WindowLoaded,
    parameter int unsigned UserBits = 16,
    parameter int unsigned SequenceBits = 0,
    parameter int unsigned MaxBytes = 65535,
    parameter int unsigned HeaderBeats = 512,
    localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits,
    localparam int unsigned InfoBits = 16 + UserBits + SequenceBits,
    localparam int unsigned CountBits = wl_pkg::bits(DataBytes + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // Packets: byte 0 of a beat in bits 7:0.
    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic [  DataBytes-1:0] keep_i,
    input  logic                   last_i,
    input  logic [   UserBits-1:0] user_i,      // on the first beat
    input  logic [ NumberBits-1:0] sequence_i,  // on the first beat

    // Headers: beats as above, of packets that are whole.
    output logic                   header_valid_o,
    input  logic                   header_ready_i,
    output logic [8*DataBytes-1:0] header_data_o,
    output logic                   header_first_o,
    output logic                   header_last_o,
    output logic [   InfoBits-1:0] header_info_o,   // {number, user, length}, on every beat

    // Bodies, to wl_body_buffer.
    input  logic                   body_ready_i,  // room for a beat and for another packet
    output logic                   body_write_o,  // a beat
    output logic [8*DataBytes-1:0] body_data_o,
    output logic                   body_close_o,  // the packet is whole: what was written since the last one is its body

    // Statistics: each for one cycle.
    output logic                 packet_o,     // a packet is whole
    output logic [CountBits-1:0] bytes_o,      // bytes taken in this cycle
    output logic                 malformed_o,  // it had a `keep_i` with a hole, or one of a beat that was not its last was not full
    output logic                 oversize_o    // it was longer than MaxBytes and is cut
);
endmodule
