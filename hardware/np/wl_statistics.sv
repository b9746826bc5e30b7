// Statistics: many counters of 64 bits that cost little logic.
//
// Each counter is a few bits of its own, which a scanner adds to a 64-bit word in block RAM, one counter after another, and clears. So a
// number that is read may lack what was counted in the last 2 * Counters + 4 cycles; nothing is lost.
//
// Contract
//   Each `add_i` is added in its cycle to its counter. A read gives the counter at that address, or 0 for one that does not exist.
//   A write does nothing. Counters are zero after reset.
//   Control bus: a read is done at most 2 * Counters + 8 cycles after reset, else within 4 cycles.
// Timing: one adder of a few bits for each counter, one of 64 bits in all.
//
// Parameters
//   Counters    counters, 2 to 512
//   AddBits     bits of what is added to a counter in one cycle
//   CtlTarget   the number at which it answers on the control bus
//   CtlBits     bits of the control bus' data
module wl_statistics #(
    parameter int unsigned Counters = 16,
    parameter int unsigned AddBits = 1,
    parameter bit [7:0] CtlTarget = 8'd0,
    parameter int unsigned CtlBits = 64
) (
    input logic clk_i,
    input logic rst_i,

    input logic [Counters*AddBits-1:0] add_i,

    // Control bus.
    input  logic               ctl_valid_i,
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,
    output logic               ctl_done_o,
    output logic [CtlBits-1:0] ctl_data_o
);
endmodule
