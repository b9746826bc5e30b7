`include "wl_reset.svh"

// One step of a pipelined engine: everything around the generated logic. A packet can enter in each
// cycle, and no stage waits for a later one.
//
// A packet and its state move through the step as one record: header window, information, next
// step, exit, reason, state.
//   read      address_*_o are driven, and the offsets of the words to read return in the same
//             cycle; the words are valid two cycles later
//   request   request_*_o are the inputs of the request logic; RequestStages cycles later
//             request_valid_i says which offloads it calls
//   wait      Waits = 1: the record waits, in order, until reply_valid_i is high for all offloads
//             that it called
//   edit      edit_*_o are the inputs of the edit logic, whose outputs are valid EditStages cycles
//             later; then the window is cleared and written
// Packets whose next step is another one, and packets that have ended (exit not EXIT_NEXT), pass
// through unchanged and call nothing.
//
// Contract
//   Data and order: each record that enters leaves once, in order, changed as described above.
//   There is room for `Packets` packets, and the entrance of the pipeline keeps to that number.
//   Throughput: one packet a cycle. Latency: 2 cycles if there are words to read, plus 2 +
//   EditStages; with Waits = 1, RequestStages + 3 more, and the latency of the replies.
// Timing: registers separate the parts; see wl_pipeline_read and wl_pipeline_write.
module wl_pipeline_step #(
    parameter int unsigned Packets = 64,       // packets in the pipeline
    parameter int unsigned Headroom = 0,       // bytes before the header, as in wl_pipeline_load
    parameter int unsigned StateBits = 64,     // wl_pkg::State*, then the context
    parameter int unsigned InfoBits = 32,      // wl_pkg::Info*
    parameter int unsigned StepBits = 4,       // a step's number
    parameter int unsigned Step = 0,           // number of this step
    parameter int unsigned ReadPorts = 1,      // words of the window that it reads; may be 0
    parameter int unsigned WritePorts = 1,     // words that it writes; may be 0
    parameter int unsigned HeaderBytes = 16,   // bytes of such a word: 4, 8 or 16
    parameter bit Clears = 1'b1,               // 0: it never clears
    parameter bit FrontFixed = 1'b0,           // 1: before this step windows are at WindowFront
    parameter int unsigned Calls = 1,          // offloads that it calls; may be 0
    parameter bit Waits = 1'b1,                // 0: none of them replies
    parameter int unsigned ReplyBits = 1,      // bits of all replies together; at least 1
    parameter int unsigned RequestStages = 0,  // register stages of the request logic
    parameter int unsigned EditStages = 0,     // register stages of the edit logic
    localparam int unsigned Bytes = Headroom + wl_pkg::WindowLoaded,
    localparam int unsigned Word = 8 * HeaderBytes,
    localparam int unsigned Reads = ReadPorts == 0 ? 1 : ReadPorts,
    localparam int unsigned Writes = WritePorts == 0 ? 1 : WritePorts,
    localparam int unsigned Asked = Calls == 0 ? 1 : Calls,
    localparam int unsigned RecordBits = 8 * Bytes + InfoBits + StepBits + 3 + 24 + StateBits
) (
    input logic clk_i,
    input logic rst_i,

    // Records: {window, information, next step, exit, reason, state}.
    input  logic                  valid_i,
    input  logic [RecordBits-1:0] record_i,
    output logic                  valid_o,
    output logic [RecordBits-1:0] record_o,

    // The generated address logic, combinational.
    output logic [StateBits-1:0]       address_state_o,
    output logic [ InfoBits-1:0]       address_info_o,
    input  logic [    Reads-1:0][16:0] address_offset_i,

    // The generated request logic.
    output logic [StateBits-1:0]           request_state_o,
    output logic [ InfoBits-1:0]           request_info_o,
    output logic [    Reads-1:0][Word-1:0] request_words_o,
    input  logic [    Asked-1:0]           request_valid_i,  // RequestStages cycles later
    output logic [    Asked-1:0]           issue_valid_o,    // issue the requests, with their data

    // Replies; each is held until it is taken.
    input  logic [    Asked-1:0] reply_valid_i,
    output logic [    Asked-1:0] reply_take_o,
    input  logic [    Asked-1:0] replies_i,      // constant: this offload replies
    input  logic [ReplyBits-1:0] reply_data_i,

    // Inputs of the generated edit logic.
    output logic [StateBits-1:0]           edit_state_o,
    output logic [ InfoBits-1:0]           edit_info_o,
    output logic [    Reads-1:0][Word-1:0] edit_words_o,
    output logic [ReplyBits-1:0]           edit_replies_o,

    // Outputs of the generated edit logic, EditStages cycles later.
    input logic [ StepBits-1:0]                  edit_step_i,
    input logic [StateBits-1:0]                  edit_state_i,
    input logic [          2:0]                  edit_exit_i,
    input logic [         23:0]                  edit_reason_i,
    input logic [   Writes-1:0]                  edit_write_valid_i,
    input logic [   Writes-1:0][            7:0] edit_write_address_i,  // physical byte of byte 0
    input logic [   Writes-1:0][HeaderBytes-1:0] edit_write_strobe_i,   // bit k: byte k
    input logic [   Writes-1:0][       Word-1:0] edit_write_data_i,     // byte 0 most significant
    input logic                                  edit_clear_valid_i,
    input logic [          7:0]                  edit_clear_address_i,
    input logic [          8:0]                  edit_clear_count_i
);
  if (Packets < 1 || StepBits < 1 || ReplyBits < 1) begin : g_illegal_count
    $fatal(1, "wl_pipeline_step: Packets, StepBits and ReplyBits must be at least one");
  end
  if (StateBits < wl_pkg::PacketStateBits || InfoBits < wl_pkg::PacketInfoBits)
  begin : g_illegal_state
    $fatal(1, "wl_pipeline_step: StateBits and InfoBits must hold the packet's part of them");
  end
  if (HeaderBytes != 4 && HeaderBytes != 8 && HeaderBytes != 16) begin : g_illegal_word
    $fatal(1, "wl_pipeline_step: HeaderBytes must be 4, 8 or 16");
  end
  if (Waits && Calls == 0) begin : g_illegal_wait
    $fatal(1, "wl_pipeline_step: a step that calls nothing has nothing to wait for");
  end

  typedef struct packed {
    logic [8*Bytes-1:0] window;
    logic [InfoBits-1:0] info;
    logic [StepBits-1:0] step;
    logic [2:0] exit;
    logic [23:0] reason;
    logic [StateBits-1:0] state;
  } record_t;

  // While no window has moved, the front is a constant and needs no logic.
  function automatic logic [StateBits-1:0] known(logic [StateBits-1:0] state);
    wl_pkg::packet_state_t packet;
    packet = state[wl_pkg::PacketStateBits-1:0];
    if (FrontFixed) packet.front = 8'(wl_pkg::WindowFront);
    known = state;
    known[wl_pkg::PacketStateBits-1:0] = packet;
  endfunction
  function automatic logic is_here(logic [2:0] exit, logic [StepBits-1:0] step);
    return exit == wl_pkg::EXIT_NEXT && step == StepBits'(Step);
  endfunction

  // ---- Read ----

  record_t in;
  assign in = record_i;
  assign address_state_o = known(in.state);
  assign address_info_o = in.info;

  logic r_valid;
  record_t r;
  if (ReadPorts == 0) begin : g_no_read
    assign r_valid = valid_i;
    assign r = in;
    assign request_words_o = '0;
    logic unused;
    assign unused = &address_offset_i;
  end else begin : g_read
    logic a_valid;
    record_t a;
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) {r_valid, a_valid} <= '0;
      else {r_valid, a_valid} <= {a_valid, valid_i};
    end
    always_ff @(posedge clk_i) begin
      a <= in;
      r <= a;
    end
    wl_pkg::packet_state_t packet;
    assign packet = address_state_o[wl_pkg::PacketStateBits-1:0];
    logic unused_packet;
    assign unused_packet = &packet;
    wl_pipeline_read #(
        .Headroom(Headroom),
        .ReadPorts(ReadPorts),
        .HeaderBytes(HeaderBytes)
    ) i_read (
        .clk_i,
        .front_i(packet.front),
        .length_i(packet.window),
        .offset_i(address_offset_i),
        .window_later_i(a.window),
        .words_o(request_words_o)
    );
  end
  assign request_state_o = known(r.state);
  assign request_info_o  = r.info;

  // ---- Request ----

  if (Calls == 0) begin : g_no_calls
    assign issue_valid_o = '0;
    logic unused;
    assign unused = &{request_valid_i, replies_i};
  end else begin : g_calls
    logic q_here;
    wl_delay #(
        .Width (1),
        .Cycles(RequestStages),
        .Reset (1'b1)
    ) i_here (
        .clk_i,
        .rst_i,
        .data_i(r_valid && is_here(r.exit, r.step)),
        .data_o(q_here)
    );
    assign issue_valid_o = request_valid_i & {Calls{q_here}};
  end

  // ---- Wait ----

  logic j_valid;
  record_t j;
  if (Waits) begin : g_wait
    // A record with what was read of its window, and with the offloads whose replies it waits for.
    typedef struct packed {
      record_t record;
      logic [Reads-1:0][Word-1:0] words;
    } read_t;
    typedef struct packed {
      read_t read;
      logic [Calls-1:0] called;
    } waiting_t;
    logic q_valid;
    read_t r_read, q_read;
    assign r_read.record = r;
    assign r_read.words  = request_words_o;
    wl_delay #(
        .Width (1),
        .Cycles(RequestStages),
        .Reset (1'b1)
    ) i_valid (
        .clk_i,
        .rst_i,
        .data_i(r_valid),
        .data_o(q_valid)
    );
    wl_delay #(
        .Width ($bits(read_t)),
        .Cycles(RequestStages)
    ) i_record (
        .clk_i,
        .rst_i,
        .data_i(r_read),
        .data_o(q_read)
    );

    logic ready, there, go;
    logic [wl_pkg::bits(Packets + 2)-1:0] fill;
    waiting_t q_waiting, w;
    assign q_waiting.read   = q_read;
    assign q_waiting.called = issue_valid_o & replies_i;
    wl_fifo_block #(
        .Width($bits(waiting_t)),
        .Depth(Packets)
    ) i_waiting (
        .clk_i,
        .rst_i,
        .in_valid_i(q_valid),
        .in_ready_o(ready),
        .in_data_i(q_waiting),
        .out_valid_o(there),
        .out_ready_i(go),
        .out_data_o(w),
        .fill_o(fill)
    );
    assign go = there && (w.called & ~reply_valid_i) == '0;
    assign reply_take_o = w.called & {Calls{go}};
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) j_valid <= 1'b0;
      else j_valid <= go;
    end
    always_ff @(posedge clk_i) begin
      j <= w.read.record;
      edit_words_o <= w.read.words;
      edit_replies_o <= reply_data_i;
    end
    logic unused;
    assign unused = &{ready, fill};
`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) Room_M : assert (!q_valid || ready);
    end
`endif
  end else begin : g_straight
    assign j_valid = r_valid;
    assign j = r;
    assign edit_words_o = request_words_o;
    assign edit_replies_o = '0;
    assign reply_take_o = '0;
    logic unused;
    assign unused = &{reply_valid_i, reply_data_i, replies_i};
  end
  assign edit_state_o = known(j.state);
  assign edit_info_o  = j.info;

  // ---- Edit ----

  logic e_valid;
  record_t e;
  wl_delay #(
      .Width (1),
      .Cycles(EditStages),
      .Reset (1'b1)
  ) i_edit_valid (
      .clk_i,
      .rst_i,
      .data_i(j_valid),
      .data_o(e_valid)
  );
  wl_delay #(
      .Width (RecordBits),
      .Cycles(EditStages)
  ) i_edit_record (
      .clk_i,
      .rst_i,
      .data_i(j),
      .data_o(e)
  );

  // The record after the edit, without its window, and the changes to apply to the window.
  logic c_valid;
  record_t c, out;
  logic e_here;
  assign e_here = is_here(e.exit, e.step);
  logic c_clear;
  logic [7:0] c_clear_address;
  logic [8:0] c_clear_count;
  logic [Writes-1:0] c_write;
  logic [Writes-1:0][7:0] c_write_address;
  logic [Writes-1:0][HeaderBytes-1:0] c_write_strobe;
  logic [Writes-1:0][Word-1:0] c_write_data;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) c_valid <= 1'b0;
    else c_valid <= e_valid;
  end
  always_ff @(posedge clk_i) begin
    c <= e;
    if (e_here) begin
      c.step   <= edit_step_i;
      c.exit   <= edit_exit_i;
      c.reason <= edit_reason_i;
      c.state  <= edit_state_i;
    end
    c_clear <= e_here && edit_clear_valid_i;
    c_write <= edit_write_valid_i & {Writes{e_here}};
    c_clear_address <= edit_clear_address_i;
    c_clear_count <= edit_clear_count_i;
    c_write_address <= edit_write_address_i;
    c_write_strobe <= edit_write_strobe_i;
    c_write_data <= edit_write_data_i;
  end

  logic [8*Bytes-1:0] written;
  wl_pipeline_write #(
      .Headroom(Headroom),
      .WritePorts(Writes),
      .HeaderBytes(HeaderBytes),
      .Clears(Clears)
  ) i_write (
      .window_i(c.window),
      .clear_valid_i(c_clear),
      .clear_address_i(c_clear_address),
      .clear_count_i(c_clear_count),
      .write_valid_i(c_write),
      .write_address_i(c_write_address),
      .write_strobe_i(c_write_strobe),
      .write_data_i(c_write_data),
      .window_o(written)
  );
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) valid_o <= 1'b0;
    else valid_o <= c_valid;
  end
  always_ff @(posedge clk_i) begin
    out <= c;
    out.window <= written;
  end
  assign record_o = out;
endmodule
