// The part of both engine shells that handles packets (or calls): it loads them, stores their
// windows, decides the outcome of each slot, performs its writes, and unloads them. The shells add
// the states and the sequence of the slots.
//
// Contract: wl_engine_mt specifies slots, wl_engine_load and wl_engine_unload specify loading and
// unloading, and wl_scratchpad specifies when a read sees a write.
module wl_engine_packet #(
    parameter int unsigned Threads = 4,
    parameter int unsigned StateBits = 64,
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,
    parameter int unsigned Offloads = 1,
    parameter int unsigned TagBits = 8,
    parameter bit HasPacket = 1'b1,
    parameter bit Emits = 1'b1,
    parameter bit Pieces = 1'b0,
    parameter bit Holds = 1'b0,
    parameter bit Clears = 1'b1,
    parameter bit InTurn = 1'b0,         // packets enter and leave in order of thread numbers
    parameter int unsigned Storage = 0,
    parameter int unsigned ReplyLsb = 0,
    parameter int unsigned ReplyBits = 1,
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads),
    localparam int unsigned IdleBits = wl_pkg::bits(Threads + 1),
    localparam int unsigned Word = 8 * HeaderBytes,
    localparam int unsigned Row = wl_pkg::WordBits,
    localparam int unsigned ChunkBits = wl_pkg::chunk_bits(HeaderBytes),
    localparam int unsigned ReasonBits = wl_pkg::reason_bits(Pieces)
) (
    input logic clk_i,
    input logic rst_i,

    // Ports of the shell itself.
    input  logic                          load_valid_i,
    output logic                          load_ready_o,
    input  logic                          load_first_i,
    input  logic                          load_last_i,
    input  logic [               Row-1:0] load_data_i,
    input  logic [           TagBits-1:0] load_tag_i,
    output logic                          unload_valid_o,
    input  logic                          unload_ready_i,
    output logic                          unload_first_o,
    output logic                          unload_last_o,
    output logic [               Row-1:0] unload_data_o,
    output logic [           TagBits-1:0] unload_tag_o,
    output wl_pkg::result_t               unload_result_o,
    output logic [         ReplyBits-1:0] unload_reply_o,
    input  logic [           TagBits-1:0] order_head_i,
    input  logic                          order_drained_i,
    output logic [          IdleBits-1:0] idle_o,
    output logic [           Threads-1:0] busy_o,

    // Loading.
    input  logic                  call_ready_i,   // HasPacket = 0: a call may be accepted now
    output logic                  load_room_o,    // a thread is free for the next packet
    output logic                  load_first_o,   // a packet begins
    output logic                  loaded_o,       // the packet is complete
    output logic [ThreadBits-1:0] load_thread_o,

    // Reads; the words are valid two cycles later.
    input  logic [ThreadBits-1:0]           read_thread_i,
    input  logic [           7:0]           read_front_i,
    input  logic [           8:0]           read_window_i,
    input  logic [ ReadPorts-1:0][    16:0] read_offset_i,
    output logic [ ReadPorts-1:0][Word-1:0] read_words_o,

    // A slot that ends, with the outputs of the core.
    input  logic                                   end_slot_i,
    input  logic [ThreadBits-1:0]                  end_thread_i,
    input  logic                                   phase_i,
    input  logic [ ChunkBits-1:0]                  chunk_i,  // see wl_engine_commit
    input  logic [  Offloads-1:0]                  core_request_valid_i,
    input  logic                                   core_commit_i,
    input  logic [ StateBits-1:0]                  core_state_i,
    input  logic [WritePorts-1:0]                  core_write_valid_i,
    input  logic [WritePorts-1:0][            7:0] core_write_address_i,
    input  logic [WritePorts-1:0][HeaderBytes-1:0] core_write_strobe_i,
    input  logic [WritePorts-1:0][       Word-1:0] core_write_data_i,
    input  logic                                   core_clear_valid_i,
    input  logic [           7:0]                  core_clear_address_i,
    input  logic [           8:0]                  core_clear_count_i,
    input  logic [           2:0]                  core_exit_i,
    input  logic [ReasonBits-1:0]                  core_reason_i,
    input  logic [  Offloads-1:0]                  request_ready_i,
    input  logic [  Offloads-1:0]                  waits_i,  // constant: this offload replies
    output logic [  Offloads-1:0]                  request_valid_o,
    output logic                                   commit_o,  // store state and step
    output logic                                   again_o,  // the thread continues
    output logic                                   phase_o,  // phase of its next slot
    output logic [ ChunkBits-1:0]                  chunk_o,

    // A packet has left, and its thread is free; or a copy of it has left, and its thread
    // continues.
    output logic                  left_o,
    output logic                  left_copy_o,
    output logic [ThreadBits-1:0] left_thread_o
);
  logic finish, write_busy, clear;
  logic [7:0] clear_address;
  logic [HeaderBytes-1:0] clear_strobe;
  logic [WritePorts-1:0] write_valid;
  wl_engine_commit #(
      .Offloads(Offloads),
      .WritePorts(WritePorts),
      .HeaderBytes(HeaderBytes),
      .Clears(Clears && HasPacket)
  ) i_commit (
      .valid_i(end_slot_i),
      .phase_i,
      .chunk_i,
      .request_valid_i(core_request_valid_i),
      .request_ready_i,
      .waits_i,
      .commit_i(core_commit_i),
      .write_valid_i(core_write_valid_i),
      .write_busy_i(write_busy),
      .clear_valid_i(core_clear_valid_i),
      .clear_address_i(core_clear_address_i),
      .clear_count_i(core_clear_count_i),
      .commit_o,
      .request_valid_o,
      .write_valid_o(write_valid),
      .clear_o(clear),
      .clear_address_o(clear_address),
      .clear_strobe_o(clear_strobe),
      .phase_o,
      .chunk_o
  );
  assign finish  = commit_o && core_exit_i != wl_pkg::EXIT_NEXT;
  assign again_o = end_slot_i && !finish;

  logic row_ready, row_valid, ended, ended_more;
  logic [3:0] load_row, unload_row, unload_start;
  wl_engine_load #(
      .Threads(Threads),
      .InTurn (InTurn)
  ) i_load (
      .clk_i,
      .rst_i,
      .load_valid_i,
      .load_ready_o,
      .load_first_i,
      .load_last_i,
      .row_ready_i(row_ready),
      .row_valid_o(row_valid),
      .row_thread_o(load_thread_o),
      .row_o(load_row),
      .first_o(load_first_o),
      .last_o(loaded_o),
      .end_valid_i(left_o),
      .end_thread_i(left_thread_o),
      .room_o(load_room_o),
      .idle_o,
      .busy_o
  );

  wl_pkg::result_t result;
  logic [3:0] finish_row;
  logic [15:0] finish_skip;
  logic [ReplyBits-1:0] reply;
  logic [ThreadBits-1:0] unload_thread;
  logic unload_row_valid;
  logic [Row-1:0] unload_row_data;
  wl_engine_unload #(
      .Threads(Threads),
      .TagBits(TagBits),
      .ReplyBits(ReplyBits),
      .HasPacket(HasPacket),
      .InTurn(InTurn),
      .Emits(Emits && HasPacket),
      .Pieces(Pieces && HasPacket),
      .Holds(Holds),
      .Storage(Storage)
  ) i_unload (
      .clk_i,
      .rst_i,
      .tag_write_i(load_first_o),
      .tag_thread_i(load_thread_o),
      .tag_i(load_tag_i),
      .finish_valid_i(finish),
      .finish_thread_i(end_thread_i),
      .finish_result_i(result),
      .finish_row_i(finish_row),
      .finish_skip_i(finish_skip),
      .finish_reply_i(reply),
      .end_valid_o(ended),
      .end_more_o(ended_more),
      .end_thread_o(left_thread_o),
      .order_head_i,
      .order_drained_i,
      .row_thread_o(unload_thread),
      .row_o(unload_row),
      .row_start_o(unload_start),
      .row_valid_i(unload_row_valid),
      .row_data_i(unload_row_data),
      .unload_valid_o,
      .unload_ready_i,
      .unload_first_o,
      .unload_last_o,
      .unload_data_o,
      .unload_tag_o,
      .unload_result_o,
      .unload_reply_o
  );
  assign left_o = ended && !ended_more;
  assign left_copy_o = ended && ended_more;

  if (HasPacket) begin : g_packet
    wl_pkg::packet_state_t packet;
    assign packet = core_state_i[wl_pkg::PacketStateBits-1:0];
    wl_pkg::piece_t piece;
    if (Pieces) begin : g_piece
      assign piece = core_reason_i[ReasonBits-1:24];
    end else begin : g_whole
      assign piece = {16'd0, packet.length, packet.window, packet.front};
    end
    always_comb begin
      result.kind = core_exit_i;
      result.reason = core_reason_i[23:0];
      result.egress = packet.egress;
      result.start = piece.front[3:0];
      result.window = piece.window;
      result.length = piece.length;
      result.more = Emits && wl_pkg::is_copy(core_exit_i);
    end
    assign finish_row = piece.front[7:4];
    assign finish_skip = piece.skip;
    assign reply = '0;

    logic [WritePorts-1:0][7:0] write_address;
    logic [WritePorts-1:0][HeaderBytes-1:0] write_strobe;
    always_comb begin
      write_address = core_write_address_i;
      write_strobe  = core_write_strobe_i;
      if (clear) begin
        write_address[0] = clear_address;
        write_strobe[0] = clear_strobe;
      end
    end
    wl_scratchpad #(
        .Threads(Threads),
        .ReadPorts(ReadPorts),
        .WritePorts(WritePorts),
        .HeaderBytes(HeaderBytes),
        .Storage(Storage)
    ) i_scratchpad (
        .clk_i,
        .rst_i,
        .read_thread_i,
        .read_front_i,
        .read_window_i,
        .read_offset_i,
        .read_words_o,
        .write_valid_i(write_valid | WritePorts'(clear)),
        .write_thread_i(end_thread_i),
        .write_address_i(write_address),
        .write_strobe_i(write_strobe),
        .write_data_i(core_write_data_i),
        .write_zero_i(clear),
        .write_busy_o(write_busy),
        .load_valid_i(row_valid),
        .load_ready_o(row_ready),
        .load_thread_i(load_thread_o),
        .load_row_i(load_row),
        .load_data_i,
        .unload_thread_i(unload_thread),
        .unload_address_i({unload_row, unload_start}),
        .unload_valid_o(unload_row_valid),
        .unload_data_o(unload_row_data)
    );
    logic unused;
    assign unused = &{call_ready_i, core_state_i, packet};
  end else begin : g_call
    always_comb begin
      result = '0;
      result.kind = core_exit_i;
    end
    assign finish_row = '0;
    assign finish_skip = '0;
    assign reply = core_state_i[ReplyLsb+:ReplyBits];
    assign row_ready = call_ready_i;
    assign read_words_o = '0;
    assign write_busy = 1'b0;
    assign unload_row_valid = 1'b0;
    assign unload_row_data = '0;
    logic unused;
    assign unused = &{
        row_valid, load_row, load_data_i, unload_thread, unload_row, unload_start, read_thread_i,
            read_front_i, read_window_i, read_offset_i,
        clear, clear_address, clear_strobe, write_valid, core_write_address_i, core_write_strobe_i,
            core_write_data_i,
        core_reason_i, core_state_i
    };
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Room_M : assert (!end_slot_i || phase_i
          || (core_request_valid_i & waits_i & ~request_ready_i) == '0);
      Skip_M : assert (!finish || !Pieces || !HasPacket || finish_skip == '0
          || {result.window, finish_row, result.start} == '0);
      Start_M : assert (!finish || !Pieces || !HasPacket || result.window != '0
          || {finish_row, result.start} == '0);
    end
  end
`endif
endmodule
