`include "wl_reset.svh"

// Multithreaded engine shell: hardware threads share one pipeline, and each cycle can start a step
// of another thread.
//
// The generated core is combinational except for CoreStages registers. This shell holds everything
// around it: the states of the threads, their header windows, the choice of the thread that runs,
// the wait for replies, and the loading and unloading of packets.
//
// One *slot* is one pass of one thread through the pipeline, which never stalls:
//   pick      a ready thread is chosen
//   address   its step, state and information are driven (address_*_o); the byte offsets of the
//             words to read return in this cycle
//   read      the words are read
//   rotate    the words are rotated and masked; replies_thread_o addresses the reply stores for the
//             replies of this thread
//   core      core_*_o are the inputs of the core; its outputs, CoreStages cycles later, decide the
//             outcome of the slot
// A thread can run again 5 + CoreStages cycles after it was picked, and one cycle later still with
// two write ports.
//
// The core's outputs decide the outcome of a slot:
//   core_commit_i = 0   phase 0 only: the requests in core_request_valid_i are issued; the thread
//                       waits for the replies of those offloads that give one, then runs the same
//                       step again in phase 1, which issues no request.
//   core_commit_i = 1   state, next step and packet writes take effect, and in phase 0 also
//                       requests without reply. core_exit_i says how the thread continues. The core
//                       must commit in phase 1, and in phase 0 if it calls no offload that replies.
//   core_clear_valid_i  with a commit: core_clear_count_i bytes from physical byte
//                       core_clear_address_i on are cleared first, one word by each slot, and these
//                       slots do nothing else; requests without reply are issued when all bytes are
//                       cleared.
// A slot that calls an offload whose queue is full (request_ready_i = 0) has no effect and runs
// again. This happens only with offloads that give no reply, since a thread has at most one call
// under way to each of the others. A thread's first slot runs step FirstStep with an initial state:
// front = WindowFront, window and length from its information, egress and the whole context zero.
// In a called engine (HasPacket = 0) the initial state is load_state_i.
module wl_engine_mt #(
    parameter int unsigned Threads = 4,     // threads: packets in the engine at a time
    parameter int unsigned StateBits = 64,  // wl_pkg::State*, context; HasPacket = 0: only context
    parameter int unsigned InfoBits = 32,   // what is constant for a packet (wl_pkg::Info*)
    parameter int unsigned StepBits = 4,    // a step's number
    parameter int unsigned ReadPorts = 1,   // words of the packet that a slot reads; at least 1
    parameter int unsigned WritePorts = 1,  // words of the packet that a slot writes: 1 or 2
    parameter int unsigned HeaderBytes = 16,  // bytes of such a word: 4, 8 or 16
    parameter int unsigned Offloads = 1,    // offload ports; at least 1 (tie off unused ones)
    parameter int unsigned CoreStages = 0,  // register stages inside the core
    parameter int unsigned TagBits = 8,     // the tag that a packet brings and keeps
    parameter bit HasPacket = 1'b1,         // 0: a called engine, no packets; calls bring states
    parameter bit Emits = 1'b1,             // 0: the core never exits with EXIT_EMIT
    parameter bit Pieces = 1'b0,            // 1: copies may have some of the packet's bytes
    parameter bit Holds = 1'b0,             // 1: a thread waits until its copy has left the pipe
    parameter bit Clears = 1'b1,            // 0: the core never clears
    parameter int unsigned Scheduler = 1,   // 0: strict round robin (in order); 1: ready to execute
    parameter int unsigned Storage = 0,     // states in 0: LUT RAM, 1: block RAM
    parameter int unsigned WindowStorage = 0,  // windows in 0: LUT RAM, 1: block RAM
    parameter int unsigned FirstStep = 0,   // first step of every thread
    parameter int unsigned ReplyLsb = 0,    // HasPacket = 0: position of the reply in the state
    parameter int unsigned ReplyBits = 1,   // HasPacket = 0: bits of the reply
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads),
    localparam int unsigned IdleBits = wl_pkg::bits(Threads + 1),
    localparam int unsigned Word = 8 * HeaderBytes,
    localparam int unsigned ReasonBits = wl_pkg::reason_bits(Pieces)
) (
    input logic clk_i,
    input logic rst_i,

    // Packets (or calls) in: rows of 16 bytes, byte 0 most significant. Information, tag and state
    // are valid with the first row.
    input  logic                        load_valid_i,
    output logic                        load_ready_o,
    input  logic                        load_first_i,
    input  logic                        load_last_i,
    input  logic [wl_pkg::WordBits-1:0] load_data_i,
    input  logic [         TagBits-1:0] load_tag_i,
    input  logic [        InfoBits-1:0] load_info_i,
    input  logic [       StateBits-1:0] load_state_i,  // HasPacket = 0 only

    // Packets (or replies) out: the rows that the window touches. Tag and result are valid on every
    // row.
    output logic                          unload_valid_o,
    input  logic                          unload_ready_i,
    output logic                          unload_first_o,
    output logic                          unload_last_o,
    output logic [  wl_pkg::WordBits-1:0] unload_data_o,
    output logic [           TagBits-1:0] unload_tag_o,
    output wl_pkg::result_t               unload_result_o,
    output logic [         ReplyBits-1:0] unload_reply_o,   // HasPacket = 0 only

    // A copy (`more`) is unloaded only while its tag is at the head of the order and all packets
    // before it have left.
    input logic [TagBits-1:0] order_head_i,
    input logic               order_drained_i,

    output logic [IdleBits-1:0] idle_o,        // threads without a packet
    output logic [ Threads-1:0] busy_o,        // for statistics in simulation: it has a packet
    output logic                slot_valid_o,  // a slot begins
    output logic                wait_o,        // no slot begins while a thread waits for replies

    // The generated address module, combinational.
    output logic [ StepBits-1:0]       address_step_o,
    output logic [StateBits-1:0]       address_state_o,
    output logic [ InfoBits-1:0]       address_info_o,
    input  logic [ReadPorts-1:0][16:0] address_offset_i,

    // Inputs of the generated core.
    output logic [ StepBits-1:0]           core_step_o,
    output logic [StateBits-1:0]           core_state_o,
    output logic [ InfoBits-1:0]           core_info_o,
    output logic [ReadPorts-1:0][Word-1:0] core_words_o,
    output logic                           core_phase_o,

    // Outputs of the generated core, CoreStages cycles later.
    input logic [  Offloads-1:0]                  core_request_valid_i,
    input logic                                   core_commit_i,
    input logic [  StepBits-1:0]                  core_step_i,
    input logic [ StateBits-1:0]                  core_state_i,
    input logic [WritePorts-1:0]                  core_write_valid_i,
    input logic [WritePorts-1:0][            7:0] core_write_address_i,  // physical byte of byte 0
    input logic [WritePorts-1:0][HeaderBytes-1:0] core_write_strobe_i,   // bit k: byte k
    input logic [WritePorts-1:0][       Word-1:0] core_write_data_i,     // byte 0 most significant
    input logic                                   core_clear_valid_i,
    input logic [           7:0]                  core_clear_address_i,
    input logic [           8:0]                  core_clear_count_i,
    input logic [           2:0]                  core_exit_i,
    input logic [ReasonBits-1:0]                  core_reason_i,  // Pieces: above it a piece_t

    // Offloads. The data of a request go from the core to its wl_request_queue; these ports carry
    // the valid bits and the thread.
    input  logic [  Offloads-1:0]                 waits_i,  // constant: this offload replies
    output logic [  Offloads-1:0]                 request_valid_o,
    input  logic [  Offloads-1:0]                 request_ready_i,  // the offload's queue has room
    output logic [ThreadBits-1:0]                 request_thread_o,
    output logic [ThreadBits-1:0]                 replies_thread_o,  // to wl_reply_store
    input  logic [  Offloads-1:0]                 replied_valid_i,  // a reply arrives in its store
    input  logic [  Offloads-1:0][ThreadBits-1:0] replied_thread_i
);

  if (Threads < 1 || ReadPorts < 1 || Offloads < 1 || StepBits < 1
      || TagBits < 1) begin : g_illegal_count
    $fatal(1,
        "wl_engine_mt: Threads, ReadPorts, Offloads, StepBits and TagBits must be at least one");
  end
  if (HasPacket && (StateBits < wl_pkg::PacketStateBits || InfoBits < wl_pkg::PacketInfoBits))
  begin : g_illegal_state
    $fatal(1, "wl_engine_mt: StateBits and InfoBits must hold the packet's part of them");
  end
  if (HeaderBytes != 4 && HeaderBytes != 8 && HeaderBytes != 16) begin : g_illegal_word
    $fatal(1, "wl_engine_mt: HeaderBytes must be 4, 8 or 16");
  end
  if (!HasPacket && ReplyLsb + ReplyBits > StateBits) begin : g_illegal_reply
    $fatal(1, "wl_engine_mt: the reply must lie in the state");
  end
  if (Scheduler > 1 || Storage > 1 || WindowStorage > 1) begin : g_illegal_choice
    $fatal(1, "wl_engine_mt: Scheduler, Storage and WindowStorage must be 0 or 1");
  end

  // Cycles for which a thread is held back after its slot until a read sees what it wrote
  // (wl_scratchpad, "Write").
  localparam int unsigned Hold = HasPacket ? WritePorts - 1 : 0;

  // ---- Pick ----

  logic end_slot, end_token;  // a slot, or a call that is being loaded, ends
  logic [ThreadBits-1:0] end_thread;
  logic loaded, load_first, room, again_now, again, commit, left, resumed;
  logic [ThreadBits-1:0] load_thread, again_thread, left_thread;
  logic [Offloads-1:0] due;

  logic pick_valid, pick_token, waiting;
  logic [ThreadBits-1:0] pick_thread;
  assign due = request_valid_o & waits_i;

  wl_engine_threads #(
      .Threads(Threads),
      .Offloads(Offloads),
      .Scheduler(Scheduler)
  ) i_threads (
      .clk_i,
      .rst_i,
      .loaded_valid_i(loaded),
      .loaded_thread_i(load_thread),
      .again_valid_i(again),
      .again_thread_i(again_thread),
      .resumed_valid_i(resumed),
      .resumed_thread_i(left_thread),
      .due_valid_i(due),
      .due_thread_i(end_thread),
      .replied_valid_i,
      .replied_thread_i,
      .hold_i(pick_token),
      .pick_valid_o(pick_valid),
      .pick_thread_o(pick_thread),
      .waiting_o(waiting)
  );

  // ---- Address: read the state of the thread ----

  // What passes through the pipeline in a cycle, if anything.
  typedef struct packed {
    logic slot;
    logic token;  // a call that is being loaded
  } pass_t;
  pass_t a_pass, r_pass, t_pass, x_pass, end_pass;
  logic [ThreadBits-1:0] a_thread;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      a_pass <= '0;
      wait_o <= 1'b0;
    end else begin
      a_pass.slot <= pick_valid;
      a_pass.token <= pick_token;
      wait_o <= !pick_valid && waiting;
    end
  end
  always_ff @(posedge clk_i) begin
    a_thread <= pick_thread;
  end
  assign slot_valid_o = a_pass.slot;

  logic state_write;
  logic [ThreadBits-1:0] state_thread;
  // What is kept of a thread between its slots.
  typedef struct packed {
    logic [StepBits-1:0] step;
    logic [StateBits-1:0] state;
  } kept_t;
  kept_t keeps, kept;
  wl_thread_memory #(
      .Width  ($bits(kept_t)),
      .Threads(Threads),
      .Storage(Storage)
  ) i_state (
      .clk_i,
      .write_i(state_write),
      .write_thread_i(state_thread),
      .write_data_i(keeps),
      .next_thread_i(pick_thread),
      .thread_i(a_thread),
      .read_data_o(kept)
  );

  wl_thread_memory #(
      .Width  (InfoBits),
      .Threads(Threads),
      .Storage(Storage)
  ) i_info (
      .clk_i,
      .write_i(load_first),
      .write_thread_i(load_thread),
      .write_data_i(load_info_i),
      .next_thread_i(pick_thread),
      .thread_i(a_thread),
      .read_data_o(address_info_o)
  );

  // Progress of the step: the words cleared, the phase, and whether a slot has written state and
  // step for this packet. It is stored at the end of every slot, and ignored in the first slot of a
  // packet.
  localparam int unsigned ChunkBits = wl_pkg::chunk_bits(HeaderBytes);
  typedef struct packed {
    logic committed;
    logic phase;
    logic [ChunkBits-1:0] chunk;
  } progress_t;
  logic [Threads-1:0] started;
  progress_t stored_progress, a_progress, end_progress, progress_write_data;
  wl_thread_memory #(
      .Width  ($bits(progress_t)),
      .Threads(Threads)
  ) i_progress (
      .clk_i,
      .write_i(end_slot),
      .write_thread_i(end_thread),
      .write_data_i(progress_write_data),
      .next_thread_i(pick_thread),
      .thread_i(a_thread),
      .read_data_o(stored_progress)
  );
  for (genvar t = 0; t < Threads; t++) begin : g_started
    always_ff @(posedge clk_i) begin
      if (load_first && load_thread == ThreadBits'(t)) started[t] <= 1'b0;
      else if (end_slot && end_thread == ThreadBits'(t)) started[t] <= 1'b1;
    end
  end
  assign a_progress = stored_progress & {$bits(progress_t) {started[a_thread]}};

  logic a_committed;
  logic [7:0] front;
  logic [8:0] window;
  assign a_committed = a_progress.committed;
  if (HasPacket) begin : g_initial
    wl_pkg::packet_info_t loaded_info;
    wl_pkg::packet_state_t packet;
    assign loaded_info = address_info_o[wl_pkg::PacketInfoBits-1:0];
    assign address_step_o = a_committed ? kept.step : StepBits'(FirstStep);
    assign address_state_o = a_committed ? kept.state
        : StateBits'(wl_pkg::loaded_state(loaded_info.length));
    assign packet = address_state_o[wl_pkg::PacketStateBits-1:0];
    assign {front, window} = {packet.front, packet.window};
    logic unused_packet;
    assign unused_packet = &{loaded_info, packet};
  end else begin : g_stored
    assign address_step_o = kept.step;
    assign address_state_o = kept.state;
    assign {front, window} = '0;
  end

  // ---- Read, rotate, and the inputs of the core ----

  // A slot: its thread, the progress of the step, and the inputs of the core.
  typedef struct packed {
    logic [ThreadBits-1:0] thread;
    progress_t progress;
  } slot_t;
  typedef struct packed {
    logic [StepBits-1:0] step;
    logic [StateBits-1:0] state;
    logic [InfoBits-1:0] info;
  } inputs_t;
  typedef struct packed {
    slot_t slot;
    inputs_t inputs;
  } stage_t;
  stage_t a, r, t, x;
  assign a.slot.thread = a_thread;
  assign a.slot.progress = a_progress;
  assign a.inputs.step = address_step_o;
  assign a.inputs.state = address_state_o;
  assign a.inputs.info = address_info_o;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) {r_pass, t_pass, x_pass} <= '0;
    else {r_pass, t_pass, x_pass} <= {a_pass, r_pass, t_pass};
  end
  always_ff @(posedge clk_i) begin
    r <= a;
    t <= r;
    x.slot <= t.slot;
    // These registers are zero in cycles without a slot. The reset is free, and it keeps synthesis
    // from mapping the line of three registers to LUTs.
    if (!t_pass.slot) x.inputs <= '0;
    else x.inputs <= t.inputs;
  end
  assign core_step_o = x.inputs.step;
  assign core_state_o = x.inputs.state;
  assign core_info_o = x.inputs.info;
  assign core_phase_o = x.slot.progress.phase;
  assign replies_thread_o = t.slot.thread;

  // ---- Through the core ----

  wl_delay #(
      .Width ($bits(pass_t)),
      .Cycles(CoreStages),
      .Reset (1'b1)
  ) i_valid (
      .clk_i,
      .rst_i,
      .data_i(x_pass),
      .data_o(end_pass)
  );
  assign end_slot = end_pass.slot;
  assign end_token = end_pass.token;
  slot_t leaving;
  assign end_thread = leaving.thread;
  assign end_progress = leaving.progress;
  wl_delay #(
      .Width ($bits(slot_t)),
      .Cycles(CoreStages)
  ) i_slot (
      .clk_i,
      .rst_i,
      .data_i(x.slot),
      .data_o(leaving)
  );

  // ---- End of the slot ----

  assign request_thread_o = end_thread;
  assign progress_write_data.committed = end_progress.committed || commit;
  wl_engine_packet #(
      .Threads(Threads),
      .StateBits(StateBits),
      .ReadPorts(ReadPorts),
      .WritePorts(WritePorts),
      .HeaderBytes(HeaderBytes),
      .Offloads(Offloads),
      .TagBits(TagBits),
      .HasPacket(HasPacket),
      .Emits(Emits),
      .Pieces(Pieces),
      .Holds(Holds),
      .Clears(Clears),
      .InTurn(Scheduler == 0),
      .Storage(WindowStorage),
      .ReplyLsb(ReplyLsb),
      .ReplyBits(ReplyBits)
  ) i_packet (
      .clk_i,
      .rst_i,
      .load_valid_i,
      .load_ready_o,
      .load_first_i,
      .load_last_i,
      .load_data_i,
      .load_tag_i,
      .unload_valid_o,
      .unload_ready_i,
      .unload_first_o,
      .unload_last_o,
      .unload_data_o,
      .unload_tag_o,
      .unload_result_o,
      .unload_reply_o,
      .order_head_i,
      .order_drained_i,
      .idle_o,
      .busy_o,
      .call_ready_i(end_token),
      .load_room_o(room),
      .load_first_o(load_first),
      .loaded_o(loaded),
      .load_thread_o(load_thread),
      .read_thread_i(a_thread),
      .read_front_i(front),
      .read_window_i(window),
      .read_offset_i(address_offset_i),
      .read_words_o(core_words_o),
      .end_slot_i(end_slot),
      .end_thread_i(end_thread),
      .phase_i(end_progress.phase),
      .chunk_i(end_progress.chunk),
      .core_request_valid_i,
      .core_commit_i,
      .core_state_i,
      .core_write_valid_i,
      .core_write_address_i,
      .core_write_strobe_i,
      .core_write_data_i,
      .core_clear_valid_i,
      .core_clear_address_i,
      .core_clear_count_i,
      .core_exit_i,
      .core_reason_i,
      .request_ready_i,
      .waits_i,
      .request_valid_o,
      .commit_o(commit),
      .again_o(again_now),
      .phase_o(progress_write_data.phase),
      .chunk_o(progress_write_data.chunk),
      .left_o(left),
      .left_copy_o(resumed),
      .left_thread_o(left_thread)
  );

  wl_delay #(
      .Width (1),
      .Cycles(Hold),
      .Reset (1'b1)
  ) i_again (
      .clk_i,
      .rst_i,
      .data_i(again_now),
      .data_o(again)
  );
  wl_delay #(
      .Width (ThreadBits),
      .Cycles(Hold)
  ) i_again_thread (
      .clk_i,
      .rst_i,
      .data_i(end_thread),
      .data_o(again_thread)
  );

  if (HasPacket) begin : g_packet_state
    // Only slots write states: the first slot of a packet forms its initial state.
    assign pick_token = 1'b0;
    assign state_write = commit;
    assign state_thread = end_thread;
    assign keeps.step = core_step_i;
    assign keeps.state = core_state_i;
    logic unused;
    assign unused = &{load_state_i, room, end_token, left, left_thread};
  end else begin : g_call_state
    // A call occupies a slot, so that no other slot writes a state when the call reaches the end.
    // At most one call is in the pipeline at a time.
    logic token_out;
    assign pick_token = load_valid_i && room && !token_out;
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) token_out <= 1'b0;
      else token_out <= pick_token || (token_out && !end_token);
    end
    assign state_write = commit || end_token;
    assign state_thread = end_token ? load_thread : end_thread;
    assign keeps.step = end_token ? StepBits'(FirstStep) : core_step_i;
    assign keeps.state = end_token ? load_state_i : core_state_i;
    logic unused;
    assign unused = &{a_committed, left, left_thread};
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Commit_M : assert (!end_slot || core_commit_i
          == (end_progress.phase || (core_request_valid_i & waits_i) == '0));
      OneWriter_A : assert (!(end_slot && end_token));
      LastStep_A : assert (!resumed || Emits);
    end
  end
`endif
endmodule
