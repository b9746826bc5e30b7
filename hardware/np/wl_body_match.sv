`include "wl_reset.svh"

// Multi-pattern search in packets that are stored in wl_body_buffer, for engines (docs/offloads.md,
// `match`).
//
// An automaton processes one byte a cycle: the class of the byte and the state determine the next
// state. It searches the packet as received: the buffer holds the header in front of the body.
//
// Contract
//   Request: {place, offset, length, limit}. `place` is the first beat of the body, Ahead beats
//   after the first beat of the packet. The search covers `length` bytes from byte `offset` of the
//   packet, as far as they are in 0 .. limit - 1.
//   Reply: {found, offset, value} of the last state on the path that is a match: where the match
//   begins, and its value; zero if there is none.
//   The automaton starts in state 1. It stops in state 0.
//   Every request gets a reply, in order. Throughput: one byte a cycle; after a request of n bytes
//   in b beats the next one starts within n + b + 9 cycles. Latency: the same.
//   Tables: there are two automata. A request uses one of them throughout: the one that `live`
//   selects when it begins. The control plane writes the other one, and reads both while there is
//   no search, or between two beats.
//     target 0   class of a byte; address {automaton, byte}
//     target 1   {match, next state}; address {automaton, state, class}
//     target 2   {length of the pattern in bytes, value} of a state that is a match; address
//                {automaton, state}
//     target 3   `live`, one bit
//   Contents: zero at power-up, so that nothing is found; in simulation from
//   +wl_image_<Image>_classes=FILE, _next and _matches.
// Timing: block RAMs between registers, except for that of the next states, whose address comes
// from its own data and a multiplexer.
//
// Parameters
//   DataBytes     bytes of a beat, a power of two
//   AddressBits   bits of a beat's place
//   TagBits       bits of a request's tag
//   Ahead         beats of a packet before the place of its body
//   ValueBits     bits of a value
//   States        states of an automaton, a power of two
//   Classes       classes of bytes, a power of two up to 256
//   CtlBits       bits of the control bus' data
//   CtlTarget     number of the classes on the control bus; the others follow
//   Image         name of the contents in simulation
module wl_body_match #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned AddressBits = 11,
    parameter int unsigned TagBits = 4,
    parameter int unsigned Ahead = 2,
    parameter int unsigned ValueBits = 16,
    parameter int unsigned States = 1024,
    parameter int unsigned Classes = 64,
    parameter int unsigned CtlBits = 64,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter Image = "",
    localparam int unsigned RequestBits = AddressBits + 3 * 16,
    localparam int unsigned ReplyBits = 1 + 16 + ValueBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,
    output logic                   reply_valid_o,
    output logic [    TagBits-1:0] reply_tag_o,
    output logic [  ReplyBits-1:0] reply_data_o,

    // To wl_body_buffer.
    output logic                   access_read_o,
    output logic [AddressBits-1:0] access_address_o,
    input  logic [8*DataBytes-1:0] access_data_i,     // from the next cycle on; byte 0 lowest

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,     // the entry, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the entry read, zero unless done
);

  localparam int unsigned ByteBits = $clog2(DataBytes);
  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned ClassBits = $clog2(Classes);

  if (DataBytes < 8 || 2 ** ByteBits != DataBytes) begin : g_illegal_beat
    $fatal(1, "wl_body_match: DataBytes must be a power of two from 8 on");
  end
  if (AddressBits < 1 || TagBits < 1 || ValueBits < 1) begin : g_illegal_bits
    $fatal(1, "wl_body_match: AddressBits, TagBits and ValueBits must be 1 or more");
  end
  if (States < 2 || 2 ** StateBits != States || Classes < 2 || Classes > 256
      || 2 ** ClassBits != Classes) begin : g_illegal_automaton
    $fatal(1,
        "wl_body_match: States and Classes must be powers of two from 2 on, Classes at most 256");
  end
  if (CtlBits < 16 + ValueBits || CtlBits < StateBits + 1) begin : g_illegal_control
    $fatal(1, "wl_body_match: CtlBits must hold an entry");
  end

  typedef logic [StateBits-1:0] state_t;
  localparam state_t First = state_t'(1);

  typedef enum logic [2:0] {
    Idle,
    Range,
    Fetch,
    Look,
    Drain,
    Find,
    Tell
  } phase_t;
  phase_t phase;
  assign request_ready_o = phase == Idle;

  typedef struct packed {
    logic [AddressBits-1:0] place;
    logic [15:0] offset;
    logic [15:0] length;
    logic [15:0] limit;
  } request_t;
  typedef struct packed {
    logic found;
    logic [15:0] offset;
    logic [ValueBits-1:0] value;
  } reply_t;
  request_t request;
  reply_t reply;
  assign reply_data_o = reply;

  logic [TagBits-1:0] tag;
  logic automaton, live;

  // The range within the packet, and the number of the current byte: at most 65,535.
  logic [16:0] asked;
  logic [15:0] at, behind, upto;
  assign asked = 17'(request.offset) + 17'(request.length);
  assign upto = asked < 17'(request.limit) ? asked[15:0] : request.limit;
  assign access_read_o = phase == Fetch;
  assign access_address_o = request.place + AddressBits'(at[15:ByteBits]) - AddressBits'(Ahead);

  // Three stages: the byte, its class, and the next state, which is known one cycle later.
  logic byte_valid, class_valid, step_valid;
  logic [7:0] octet;
  logic [ClassBits-1:0] octet_class;
  // An entry of the table of transitions.
  typedef struct packed {
    logic is_match;
    state_t state;
  } next_t;
  state_t state, held;
  next_t next;
  logic from_first;
  logic [15:0] steps;  // bytes that the automaton has processed
  assign state = from_first ? First : step_valid ? next.state : held;

  logic found, ended, stop;
  state_t match_state;
  logic [15:0] match_end;  // counted from `offset`
  assign stop = step_valid && next.state == '0;
  logic [2:0] wait_left;
  logic last_of_beat, last_of_all;
  assign last_of_beat = at[ByteBits-1:0] == '1;
  assign last_of_all = at + 16'd1 == behind;

  // An entry of the table of matches.
  typedef struct packed {
    logic [15:0] length;
    logic [ValueBits-1:0] value;
  } match_t;
  match_t match;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      phase <= Idle;
      {reply_valid_o, byte_valid, class_valid, step_valid} <= '0;
    end else begin
      reply_valid_o <= 1'b0;
      byte_valid <= phase == Look;
      class_valid <= byte_valid;
      step_valid <= class_valid;
      unique case (phase)
        Idle: if (request_valid_i) phase <= Range;
        Range: begin
          phase <= phase_t'(request.offset < upto ? Fetch : Drain);
        end
        Fetch: phase <= Look;
        Look: begin
          if (last_of_all || ended || stop) phase <= Drain;
          else if (last_of_beat) phase <= Fetch;
        end
        Drain: if (wait_left == 3'd0) phase <= Find;
        Find: phase <= Tell;
        default: begin
          reply_valid_o <= 1'b1;
          phase <= Idle;
        end
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    octet <= access_data_i[8*at[ByteBits-1:0]+:8];
    if (class_valid) from_first <= 1'b0;
    if (step_valid) begin
      held <= next.state;
      steps <= steps + 16'd1;
      if (next.is_match && !ended) begin
        found <= 1'b1;
        match_state <= next.state;
        match_end <= steps + 16'd1;
      end
      if (next.state == '0) ended <= 1'b1;
    end
    unique case (phase)
      Idle: begin
        tag <= request_tag_i;
        request <= request_data_i;
        automaton <= live;
      end
      Range: begin
        at <= request.offset;
        behind <= upto;
        {found, ended} <= '0;
        from_first <= 1'b1;
        steps <= '0;
        wait_left <= 3'd4;
      end
      Look: at <= at + 16'd1;
      Drain: wait_left <= wait_left - 3'd1;
      Tell: begin
        reply_tag_o <= tag;
        reply <= '0;
        if (found) begin
          reply.found  <= 1'b1;
          reply.offset <= request.offset + match_end - match.length;
          reply.value  <= match.value;
        end
      end
      default: ;
    endcase
  end

  // The tables. The control plane finds idle cycles between beats and between requests, so nothing
  // waits for it.
  logic [3:0] done;
  logic [2:0] unused_hold;
  logic [3:0][CtlBits-1:0] answer;
  wl_read_table #(
      .Width(ClassBits),
      .Size(512),
      .ReadLatency(1),
      .CtlBits(CtlBits),
      .CtlTarget(CtlTarget),
      .Image({Image, "_classes"})
  ) i_classes (
      .clk_i, .rst_i,
      .read_valid_i(byte_valid), .read_address_i({automaton, octet}), .read_data_o(octet_class),
      .hold_o(unused_hold[0]),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i, .ctl_address_i, .ctl_data_i, .ctl_done_o(done[0]),
      .ctl_data_o(answer[0])
  );
  wl_read_table #(
      .Width($bits(next_t)),
      .Size(2 * States * Classes),
      .ReadLatency(1),
      .CtlBits(CtlBits),
      .CtlTarget(CtlTarget + 8'd1),
      .Image({Image, "_next"})
  ) i_next (
      .clk_i, .rst_i,
      .read_valid_i(class_valid), .read_address_i({automaton, state, octet_class}),
      .read_data_o(next),
      .hold_o(unused_hold[1]),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i, .ctl_address_i, .ctl_data_i, .ctl_done_o(done[1]),
      .ctl_data_o(answer[1])
  );
  wl_read_table #(
      .Width($bits(match_t)),
      .Size(2 * States),
      .ReadLatency(1),
      .CtlBits(CtlBits),
      .CtlTarget(CtlTarget + 8'd2),
      .Image({Image, "_matches"})
  ) i_matches (
      .clk_i, .rst_i,
      .read_valid_i(phase == Find), .read_address_i({automaton, match_state}), .read_data_o(match),
      .hold_o(unused_hold[2]),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i, .ctl_address_i, .ctl_data_i, .ctl_done_o(done[2]),
      .ctl_data_o(answer[2])
  );

  logic live_asked;
  assign live_asked = ctl_valid_i && ctl_target_i == CtlTarget + 8'd3 && !done[3];
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      live <= 1'b0;
      done[3] <= 1'b0;
    end else begin
      if (live_asked && ctl_write_i) live <= ctl_data_i[0];
      done[3] <= live_asked;
    end
  end
  always_ff @(posedge clk_i) begin
    answer[3] <= live_asked && !ctl_write_i ? CtlBits'(live) : '0;
  end
  assign ctl_done_o = |done;
  assign ctl_data_o = answer[0] | answer[1] | answer[2] | answer[3];

  logic unused;
  assign unused = &{1'b0, unused_hold};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      // The automaton has processed all bytes before its result is taken.
      Drained_A : assert (phase != Find || !(byte_valid || class_valid || step_valid));
      Inside_A : assert (phase != Look || at < behind);
      Tag_A : assert (!reply_valid_o || reply_tag_o == tag);
    end
  end
`endif
endmodule
