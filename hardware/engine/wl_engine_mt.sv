// Multithreaded engine shell: threads of hardware that share one pipeline; every cycle can run a step of another thread.
//
// The generated core is combinational but for CoreStages registers; this shell has everything around it: the threads' states, their
// header windows, the choice of the thread that runs, waiting for replies, loading and unloading of packets.
//
// One *slot* is one pass of one thread through the pipeline, which never stalls:
//   pick      a ready thread is chosen
//   address   its step, state and information go out (address_*_o); the byte offsets of the words to read come back in this cycle
//   read      the words are read, rotated and masked; replies_thread_o asks the reply stores for what this thread waited for
//   core      core_*_o are inputs of the core; what it answers CoreStages cycles later decides what becomes of the slot
// A thread can run again four cycles (and CoreStages) after it was picked; one cycle later still if it wrote to its packet and the
// windows are in block RAM or there are two write ports.
//
// What becomes of a slot, by the core's answers:
//   core_commit_i = 0   phase 0 only: core_request_valid_i are issued; the thread waits for the replies of those offloads that give one,
//                       then runs the same step again in phase 1, where no request is issued.
//   core_commit_i = 1   state, next step and packet writes are taken, and in phase 0 also requests that have no reply. core_exit_i says
//                       how the thread goes on. The core must commit in phase 1, and in phase 0 when it asks for nothing that replies.
//   core_clear_valid_i  with a commit: core_clear_count_i bytes from physical byte core_clear_address_i on are cleared first, 16 by a
//                       slot that does nothing else; requests without reply are issued when all is cleared.
// A slot that asks for an offload whose queue is full (request_ready_i = 0) does nothing and is run again: that happens only with
// offloads that give no reply, since a thread has at most one call under way for each of the others.
// A thread's first slot sees step FirstStep and an initial state: front = WindowFront, window and length from its information, egress
// and the whole context zero. A called engine (HasPacket = 0) sees load_state_i.
module wl_engine_mt #(
    parameter int unsigned Threads = 4,     // threads: packets in the engine at a time
    parameter int unsigned StateBits = 64,  // a thread's state (wl_pkg::State*, then the context); HasPacket = 0: the context alone
    parameter int unsigned InfoBits = 32,   // what is constant for a packet (wl_pkg::Info*)
    parameter int unsigned StepBits = 4,    // a step's number
    parameter int unsigned ReadPorts = 1,   // words of the packet that a slot reads; at least 1 (tie what is not used)
    parameter int unsigned WritePorts = 1,  // words of the packet that a slot writes: 1 or 2
    parameter int unsigned Offloads = 1,    // offload ports; at least 1 (tie what is not used)
    parameter int unsigned CoreStages = 0,  // register stages inside the core
    parameter int unsigned TagBits = 8,     // the tag that a packet brings and keeps
    parameter bit HasPacket = 1'b1,         // 0: a called engine, without packet and windows; its state comes with the call
    parameter int unsigned Scheduler = 1,   // 0: strict round robin, packets leave in order; 1: ready to execute
    parameter int unsigned Storage = 0,     // states and windows in 0: LUT RAM, 1: block RAM
    parameter int unsigned FirstStep = 0,   // the step at which threads begin
    parameter int unsigned ReplyLsb = 0,    // HasPacket = 0: where the reply stands in the final state,
    parameter int unsigned ReplyBits = 1,   // and its width
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads),
    localparam int unsigned IdleBits = wl_pkg::bits(Threads + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // Packets (or calls) in: rows of 16 bytes, byte 0 most significant. Information, tag and state with the first row.
    input  logic                        load_valid_i,
    output logic                        load_ready_o,
    input  logic                        load_first_i,
    input  logic                        load_last_i,
    input  logic [wl_pkg::WordBits-1:0] load_data_i,
    input  logic [         TagBits-1:0] load_tag_i,
    input  logic [        InfoBits-1:0] load_info_i,
    input  logic [       StateBits-1:0] load_state_i,  // HasPacket = 0 only

    // Packets (or replies) out: the rows that the window touches; tag and result on every row.
    output logic                          unload_valid_o,
    input  logic                          unload_ready_i,
    output logic                          unload_first_o,
    output logic                          unload_last_o,
    output logic [  wl_pkg::WordBits-1:0] unload_data_o,
    output logic [           TagBits-1:0] unload_tag_o,
    output logic [wl_pkg::ResultBits-1:0] unload_result_o,
    output logic [         ReplyBits-1:0] unload_reply_o,   // HasPacket = 0 only

    // A copy (`more`) is unloaded only while its tag is at the head of the order and all before it has gone.
    input logic [TagBits-1:0] order_head_i,
    input logic               order_drained_i,

    output logic [IdleBits-1:0] idle_o,        // threads without packet
    output logic                slot_valid_o,  // a slot begins
    output logic                wait_o,        // none does, though a thread waits for replies

    // The generated address module: combinational.
    output logic [    StepBits-1:0] address_step_o,
    output logic [   StateBits-1:0] address_state_o,
    output logic [    InfoBits-1:0] address_info_o,
    input  logic [ReadPorts*17-1:0] address_offset_i,

    // The generated core: inputs,
    output logic [                  StepBits-1:0] core_step_o,
    output logic [                 StateBits-1:0] core_state_o,
    output logic [                  InfoBits-1:0] core_info_o,
    output logic [ReadPorts*wl_pkg::WordBits-1:0] core_words_o,
    output logic                                  core_phase_o,

    // and outputs, CoreStages cycles later.
    input logic [                    Offloads-1:0] core_request_valid_i,
    input logic                                    core_commit_i,
    input logic [                    StepBits-1:0] core_step_i,
    input logic [                   StateBits-1:0] core_state_i,
    input logic [                  WritePorts-1:0] core_write_valid_i,
    input logic [                WritePorts*8-1:0] core_write_address_i,  // physical byte that byte 0 goes to
    input logic [               WritePorts*16-1:0] core_write_strobe_i,   // bit k: byte k
    input logic [WritePorts*wl_pkg::WordBits-1:0] core_write_data_i,     // byte 0 most significant
    input logic                                    core_clear_valid_i,
    input logic [                             7:0] core_clear_address_i,
    input logic [                             8:0] core_clear_count_i,
    input logic [                             2:0] core_exit_i,
    input logic [                            23:0] core_reason_i,

    // Offloads. The request's data go from the core to its wl_request_queue; this says whether, and whose they are.
    input  logic [           Offloads-1:0] waits_i,           // constant: this offload replies
    output logic [           Offloads-1:0] request_valid_o,
    input  logic [           Offloads-1:0] request_ready_i,   // the offload's queue has room
    output logic [         ThreadBits-1:0] request_thread_o,
    output logic [         ThreadBits-1:0] replies_thread_o,  // to the wl_reply_stores: read_thread_i
    input  logic [           Offloads-1:0] replied_valid_i,   // a reply arrives at the reply store
    input  logic [Offloads*ThreadBits-1:0] replied_thread_i
);
endmodule
