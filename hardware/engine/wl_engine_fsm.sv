`include "wl_reset.svh"

// State machine engine shell: one thread with its state in registers. It is the smallest shell, for
// small engines and low rates.
//
// The ports and the meaning of a slot are those of wl_engine_mt. Nothing overlaps: a packet is
// loaded, run and unloaded before the next one is accepted. A slot takes 5 + CoreStages cycles, and
// one more with two write ports; in a called engine it takes 3 + CoreStages cycles.
module wl_engine_fsm #(
    parameter int unsigned Threads = 1,     // must be 1 (same parameters as wl_engine_mt)
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
    parameter int unsigned Scheduler = 1,   // no effect
    parameter int unsigned Storage = 0,     // no effect: the state is in registers
    parameter int unsigned WindowStorage = 0,  // window in 0: LUT RAM, 1: block RAM
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

  if (Threads != 1) begin : g_illegal_threads
    $fatal(1, "wl_engine_fsm: Threads must be 1; wl_engine_mt has more");
  end
  if (ReadPorts < 1 || Offloads < 1 || StepBits < 1 || TagBits < 1) begin : g_illegal_count
    $fatal(1, "wl_engine_fsm: ReadPorts, Offloads, StepBits and TagBits must be at least one");
  end
  if (HasPacket && (StateBits < wl_pkg::PacketStateBits || InfoBits < wl_pkg::PacketInfoBits))
  begin : g_illegal_state
    $fatal(1, "wl_engine_fsm: StateBits and InfoBits must hold the packet's part of them");
  end
  if (HeaderBytes != 4 && HeaderBytes != 8 && HeaderBytes != 16) begin : g_illegal_word
    $fatal(1, "wl_engine_fsm: HeaderBytes must be 4, 8 or 16");
  end
  if (!HasPacket && ReplyLsb + ReplyBits > StateBits) begin : g_illegal_reply
    $fatal(1, "wl_engine_fsm: the reply must lie in the state");
  end
  if (Scheduler > 1 || Storage > 1 || WindowStorage > 1) begin : g_illegal_choice
    $fatal(1, "wl_engine_fsm: Scheduler, Storage and WindowStorage must be 0 or 1");
  end

  // Cycles from the end of a slot to the address cycle of the next one: then a read sees what was
  // written (wl_scratchpad, "Write").
  localparam int unsigned Rest = HasPacket ? WritePorts : 0;
  // Cycles from the address cycle to the core: the latency of a read of the window or of a reply.
  localparam int unsigned Read = HasPacket ? 3 : 2;

  // A slot is a pulse that passes through a line of flip-flops. The next one starts when the line
  // is empty and no reply is due.
  logic running;  // the engine works on a packet
  logic [Offloads-1:0] due;
  logic busy;     // a slot or its writes are in the line
  logic a_slot, end_slot, phase;
  localparam int unsigned ChunkBits = wl_pkg::chunk_bits(HeaderBytes);
  logic [ChunkBits-1:0] chunk;
  logic [7:0] front;
  logic [8:0] window;
  localparam int unsigned Line = Read + CoreStages + Rest;
  logic [Line-1:0] line;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) line <= '0;
    else line <= {line[Line-2:0], a_slot};
  end
  assign busy = line != '0;
  assign a_slot = running && !busy && due == '0;
  assign end_slot = line[Read-1+CoreStages];
  assign slot_valid_o = a_slot;
  assign wait_o = due != '0;

  // ---- End of the slot ----

  logic loaded, load_first, commit, again_now, left, resumed, phase_next, room, load_thread,
      left_thread, end_thread;
  logic [ChunkBits-1:0] chunk_next;
  assign end_thread = 1'b0;
  assign request_thread_o = 1'b0;
  assign replies_thread_o = 1'b0;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) running <= 1'b0;
    else if (loaded || resumed) running <= 1'b1;
    else if (end_slot) running <= again_now;
  end
  always_ff @(posedge clk_i) begin
    if (load_first) {phase, chunk} <= '0;
    else if (end_slot) {phase, chunk} <= {phase_next, chunk_next};
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) due <= '0;
    else begin
      for (int unsigned o = 0; o < Offloads; o++) begin
        if (request_valid_o[o] && waits_i[o]) due[o] <= 1'b1;
        else if (replied_valid_i[o]) due[o] <= 1'b0;
      end
    end
  end

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
      .InTurn(1'b0),
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
      .call_ready_i(1'b1),
      .load_room_o(room),
      .load_first_o(load_first),
      .loaded_o(loaded),
      .load_thread_o(load_thread),
      .read_thread_i(1'b0),
      .read_front_i(front),
      .read_window_i(window),
      .read_offset_i(address_offset_i),
      .read_words_o(core_words_o),
      .end_slot_i(end_slot),
      .end_thread_i(end_thread),
      .phase_i(phase),
      .chunk_i(chunk),
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
      .phase_o(phase_next),
      .chunk_o(chunk_next),
      .left_o(left),
      .left_copy_o(resumed),
      .left_thread_o(left_thread)
  );
  logic unused_threads;
  assign unused_threads = &{room, load_thread, left, left_thread, replied_thread_i};

  // ---- State ----

  logic [StepBits-1:0] step;
  logic [StateBits-1:0] state;
  logic [InfoBits-1:0] info;
  always_ff @(posedge clk_i) begin
    if (load_first) begin
      step <= StepBits'(FirstStep);
      info <= load_info_i;
    end else if (commit) step <= core_step_i;
  end
  if (HasPacket) begin : g_initial
    wl_pkg::packet_info_t loaded_info;
    wl_pkg::packet_state_t packet;
    assign loaded_info = load_info_i[wl_pkg::PacketInfoBits-1:0];
    always_ff @(posedge clk_i) begin
      if (load_first) state <= StateBits'(wl_pkg::loaded_state(loaded_info.length));
      else if (commit) state <= core_state_i;
    end
    assign packet = state[wl_pkg::PacketStateBits-1:0];
    assign {front, window} = {packet.front, packet.window};
    logic unused;
    assign unused = &{load_state_i, loaded_info, packet};
  end else begin : g_given
    assign {front, window} = '0;
    always_ff @(posedge clk_i) begin
      if (load_first) state <= load_state_i;
      else if (commit) state <= core_state_i;
    end
  end
  assign address_step_o = step;
  assign address_state_o = state;
  assign address_info_o = info;
  assign core_step_o = step;
  assign core_state_o = state;
  assign core_info_o = info;
  assign core_phase_o = phase;

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Commit_M : assert (!end_slot
          || core_commit_i == (phase || (core_request_valid_i & waits_i) == '0));
      OneSlot_A : assert (!(end_slot && a_slot));
    end
  end
`endif
endmodule
