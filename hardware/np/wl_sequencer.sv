// Sequencer: deals the packets of the input lanes to the pipes, so that packet n goes to pipe n mod Lanes.
//
// Packets are numbered in the order in which they start: by cycle of their first beat's `tvalid`, the lower lane first within a cycle.
// Wireloom's whole notion of order (what leaves when, which packet sees which state) goes back to these numbers.
//
// Contract
//   Data and order: each packet goes whole to one pipe; a pipe gets its packets in order of their numbers.
//   Throughput: Lanes beats a cycle while packets that are under way together are of the same number of beats; a packet waits for its
//   pipe while an earlier one is still going there. Latency: none.
//   `tuser` counts on the first beat. Beats are passed on as they are: `wl_preprocessor` makes sense of any `tkeep` and length.
//   With one lane this is wires and the counter.
// Timing: a Lanes-way multiplexer from lane to pipe; `s_tready_o` depends on `pipe_ready_i` and on registers.
//
// Parameters
//   Lanes          AXI4-Stream lanes in, and pipes: 1 to 8
//   DataBytes      bytes of a beat
//   UserBits       bits of tuser
//   SequenceBits   bits of the packets' numbers, 0 if no program asks for them (`pipe_sequence_o` is then one zero bit a pipe)
module wl_sequencer #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned UserBits = 16,
    parameter int unsigned SequenceBits = 0,
    localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits
) (
    input logic clk_i,
    input logic rst_i,

    // AXI4-Stream lanes: byte 0 of a beat in bits 7:0.
    input  logic [            Lanes-1:0] s_tvalid_i,
    output logic [            Lanes-1:0] s_tready_o,
    input  logic [Lanes*8*DataBytes-1:0] s_tdata_i,
    input  logic [  Lanes*DataBytes-1:0] s_tkeep_i,
    input  logic [            Lanes-1:0] s_tlast_i,
    input  logic [   Lanes*UserBits-1:0] s_tuser_i,

    // Pipes.
    output logic [            Lanes-1:0] pipe_valid_o,
    input  logic [            Lanes-1:0] pipe_ready_i,
    output logic [Lanes*8*DataBytes-1:0] pipe_data_o,
    output logic [  Lanes*DataBytes-1:0] pipe_keep_o,
    output logic [            Lanes-1:0] pipe_last_o,
    output logic [   Lanes*UserBits-1:0] pipe_user_o,
    output logic [ Lanes*NumberBits-1:0] pipe_sequence_o,  // number of the packet, on its first beat

    // Statistics.
    output logic [Lanes-1:0] stall_o  // the lane has a beat that is not taken in this cycle
);
endmodule
