// Body buffer of a pipe: keeps what lies behind the header windows, in order, in block RAM, until the header comes back.
//
// Contract
//   Data and order: bodies are read in the order in which they were closed. `read_i` reads the next beat of the oldest body; after
//   `rewind_i` its first beat comes again (for copies); `free_i` gives up the oldest body, read or not, in one cycle.
//   Throughput: a beat in and a beat out each cycle. Latency: a closed body can be read two cycles later, data one cycle behind `read_i`.
//   A body as large as the whole buffer fits; it must not be larger, or it waits for ever.
// Timing: outputs are registers but for the block RAM's own multiplexer.
//
// Parameters
//   DataBytes   bytes of a beat
//   Beats       room in beats, a power of two
//   Packets     packets under way at most, bodies of no beats included
module wl_body_buffer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned Beats = 2048,
    parameter int unsigned Packets = 512,
    localparam int unsigned BeatBits = wl_pkg::bits(Beats + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // From wl_preprocessor.
    output logic                   ready_o,  // room for a beat and for another packet
    input  logic                   write_i,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   close_i,  // what was written since the last one is a body; may come with its last beat

    // To wl_postprocessor.
    output logic                   body_valid_o,  // there is a body, the oldest
    output logic [   BeatBits-1:0] body_beats_o,  // and has so many beats
    input  logic                   read_i,        // read its next beat; only with `body_valid_o`
    output logic [8*DataBytes-1:0] read_data_o,   // the beat, from the next cycle until the next `read_i`
    input  logic                   rewind_i,      // the next beat is its first again; not with read_i
    input  logic                   free_i         // give it up; not with read_i, rewind_i
);
endmodule
