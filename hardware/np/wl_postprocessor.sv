// Post-processor of a pipe: joins headers and bodies, byte by byte, without gaps.
//
// Its outputs are *items*. An item is a packet of one or more beats, or an event (a packet was
// dropped, or its thread ended without sending).
//
// Contract
//   A sent packet (finish, emit, to_cpu) consists of its window, which begins at byte `start` of
//   its first header beat, and the first `length - window` bytes of its body; the rest of the body
//   is discarded. An event discards the whole body.
//   `more_o` marks copies: the body is kept for the further items of the same packet.
//   Order: items leave in the order of the headers.
//   Throughput: one packet a cycle if header and packet have one beat; one event a cycle; otherwise
//   one beat a cycle in or out.
//   An item that is not taken stays stable. A packet of no bytes is one beat without a byte.
// Timing: the byte network has a register after it; outputs are registers.
//
// Parameters
//   DataBytes   bytes of a beat, a power of two, at least 16
module wl_postprocessor #(
    parameter int unsigned DataBytes = 64
) (
    input logic clk_i,
    input logic rst_i,

    // Headers, from wl_gatherer.
    input  logic                          beat_valid_i,
    output logic                          beat_ready_o,
    input  logic [       8*DataBytes-1:0] beat_data_i,    // or the body's beat, see wl_gatherer
    input  logic                          beat_first_i,
    input  logic                          beat_last_i,
    input  logic [wl_pkg::ResultBits-1:0] beat_result_i,

    // Bodies, from wl_body_buffer; their data arrive through wl_gatherer.
    input  logic body_valid_i,
    output logic body_read_o,
    output logic body_rewind_o,
    output logic body_free_o,

    // Items, to wl_merger: byte 0 of a beat in bits 7:0.
    output logic                        valid_o,
    input  logic                        ready_i,
    output logic                        event_o,  // an event: one beat without data
    output logic                        more_o,   // the same packet will send another item
    output logic [     8*DataBytes-1:0] data_o,
    output logic [       DataBytes-1:0] keep_o,
    output logic                        last_o,
    output logic [wl_pkg::SentBits-1:0] user_o    // wl_pkg::sent_t, on every beat
);

  if (DataBytes < 16 || 2 ** $clog2(DataBytes) != DataBytes) begin : g_illegal
    $fatal(1, "wl_postprocessor: DataBytes must be a power of two from 16 on");
  end

  localparam int unsigned ByteBits = $clog2(DataBytes);
  localparam int unsigned CountBits = ByteBits + 1;
  typedef logic [ByteBits-1:0] place_t;  // position of a byte in a beat
  typedef logic [CountBits-1:0] count_t;  // number of bytes of a beat

  // The properties of a beat, without its data.
  typedef struct packed {
    logic is_event;
    logic more;
    logic last;            // the last beat of the item here
    place_t place;         // position of its first byte in the output beat
    count_t count;         // its bytes that are sent
    wl_pkg::sent_t user;
  } note_t;

  logic go;      // the stages advance
  logic source_go;  // the first two stages advance

  // ---- The next beat, of the header or of the body ----
  wl_pkg::result_t result;
  assign result = beat_result_i;
  logic sends;
  assign sends = result.kind != wl_pkg::EXIT_DROP && result.kind != wl_pkg::EXIT_DONE;

  logic in_body;
  place_t place;              // position of the next byte
  // Bytes of the body that have not been taken, including the offered beat.
  logic [15:0] body_left;
  note_t body_note;

  // The window begins at `start`, so its first beat has fewer bytes; its length determines where it
  // ends in its last beat.
  place_t window_end;
  count_t header_begin, header_end, header_count;
  logic [15:0] body_bytes;
  logic has_body, take_header, take_body, body_last;
  assign window_end = place_t'(result.window) + place_t'(result.start);
  assign header_begin = beat_first_i ? count_t'(result.start) : '0;
  assign header_end = !beat_last_i || window_end == '0 ? count_t'(DataBytes) : count_t'(window_end);
  assign header_count = !sends || result.window == '0 ? '0 : header_end - header_begin;
  assign body_bytes = result.length - 16'(result.window);
  assign has_body = sends && body_bytes != '0;

  assign take_header = source_go && !in_body && beat_valid_i && (!beat_last_i || body_valid_i);
  assign take_body = source_go && in_body;
  assign beat_ready_o = source_go && !in_body && (!beat_last_i || body_valid_i);
  assign body_last = body_left <= 16'(DataBytes);

  logic header_ends, item_ends, ends_more;
  assign header_ends = take_header && beat_last_i;
  assign item_ends = take_body ? body_last : header_ends && !has_body;
  assign ends_more = take_body ? body_note.more : result.more;
  assign body_read_o = (header_ends && has_body) || (take_body && !body_last);
  assign body_rewind_o = item_ends && ends_more;
  assign body_free_o = item_ends && !ends_more;

  note_t header_note, note;
  always_comb begin
    header_note.is_event = !sends;
    header_note.more = result.more;
    header_note.last = beat_last_i && !has_body;
    header_note.place = place;
    header_note.count = header_count;
    header_note.user.kind = result.kind;
    header_note.user.reason = result.reason;
    header_note.user.egress = result.egress;
    note = body_note;
    note.last = body_last;
    note.place = place;
    note.count = body_last ? body_left[CountBits-1:0] : count_t'(DataBytes);
    if (!in_body) note = header_note;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_body <= 1'b0;
      place   <= '0;
    end else if (take_header || take_body) begin
      in_body <= !item_ends && (in_body || beat_last_i);
      place   <= item_ends ? '0 : place + note.count[ByteBits-1:0];
    end
    if (take_header) begin
      body_note <= header_note;
      body_left <= body_bytes;
    end else if (take_body) begin
      body_left <= body_left - 16'(DataBytes);
    end
  end

  // ---- The beat, and its rotation ----
  logic source_valid;
  logic [8*DataBytes-1:0] source_data;
  note_t source;
  place_t turn, turn_not;  // with its complement: see wl_rotate
  always_ff @(posedge clk_i) begin
    if (rst_i) source_valid <= 1'b0;
    else if (source_go) source_valid <= take_header || take_body;
    if (source_go) begin
      source_data <= beat_data_i;
      source <= note;
      turn <= place - (in_body ? '0 : header_begin[ByteBits-1:0]);
      turn_not <= ~(place - (in_body ? '0 : header_begin[ByteBits-1:0]));
    end
  end

  // ---- Rotated: byte i goes to position (i + turn) mod DataBytes ----
  logic turned_valid;
  logic [8*DataBytes-1:0] turned_data;
  note_t turned;
  // `fills`: the beat completes an output beat; `spills`: bytes of the item's last beat are left
  // for one more.
  logic fills, spills;
  count_t spill_count;
  logic [CountBits:0] reach;  // position after its last byte
  assign reach = (CountBits + 1)'(source.place) + (CountBits + 1)'(source.count);

  logic [8*DataBytes-1:0] rotated;
  wl_rotate #(
      .Bytes(DataBytes)
  ) i_rotate (
      .data_i(source_data),
      .turn_i({turn_not, turn}),
      .data_o(rotated)
  );
  always_ff @(posedge clk_i) begin
    if (rst_i) turned_valid <= 1'b0;
    else if (source_go) turned_valid <= source_valid;
    if (source_go) begin
      turned_data <= rotated;
      turned <= source;
      // The valid bytes of the output beat, if this one completes it.
      turned.count <= reach >= (CountBits + 1)'(DataBytes) ? count_t'(DataBytes) : reach[CountBits-1:0];
      fills <= reach >= (CountBits + 1)'(DataBytes) || source.last;
      spills <= source.last && reach > (CountBits + 1)'(DataBytes);
      spill_count <= reach[CountBits-1:0] - count_t'(DataBytes);
    end
  end

  // ---- Joined: positions below `turned.place` come from `carry`, which holds the rest of the beat
  // before ----
  logic spilling;  // the rest in `carry` leaves as a separate beat
  logic [8*DataBytes-1:0] carry;
  assign go = !valid_o || ready_i;
  assign source_go = go && !(turned_valid && spills && !spilling);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_o  <= 1'b0;
      spilling <= 1'b0;
    end else if (go) begin
      valid_o  <= turned_valid && fills;
      spilling <= turned_valid && spills && !spilling;
    end
    if (go) begin
      for (int unsigned i = 0; i < DataBytes; i++) begin
        if (turned_valid && (fills || place_t'(i) >= turned.place)) carry[8*i+:8] <= turned_data[8*i+:8];
        data_o[8*i+:8] <= spilling || place_t'(i) < turned.place ? carry[8*i+:8] : turned_data[8*i+:8];
        keep_o[i] <= count_t'(i) < (spilling ? spill_count : turned.count);
      end
      last_o  <= turned.last && (spilling || !spills);
      event_o <= turned.is_event;
      more_o  <= turned.more;
      user_o  <= turned.user;
    end
  end

`ifdef FORMAL
  // The expected items, in the order of the headers: the length of each, and its properties on
  // every beat.
  typedef struct packed {
    logic is_event;
    logic more;
    wl_pkg::sent_t user;
    logic [15:0] length;
  } item_t;
  item_t items[8];
  item_t next;
  logic [2:0] put, got;
  logic [15:0] bytes, bytes_with;  // of the item that leaves, before and with this beat
  logic begins, was_stalled;
  logic [9*DataBytes+wl_pkg::SentBits+2:0] out, was;
  assign begins = take_header && beat_first_i;
  assign out = {event_o, more_o, last_o, user_o, keep_o, data_o};
  assign next = items[got];
  assign bytes_with = bytes + 16'($countones(keep_o));
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      put   <= '0;
      got   <= '0;
      bytes <= '0;
    end else begin
      if (begins) put <= put + 1'b1;
      if (valid_o && ready_i) begin
        bytes <= last_o ? '0 : bytes_with;
        if (last_o) got <= got + 1'b1;
      end
    end
    if (begins) items[put] <= {!sends, result.more, header_note.user, sends ? result.length : 16'd0};
    was_stalled <= !rst_i && valid_o && !ready_i;
    was <= out;
    if (!rst_i) begin
      Window_M : assume (!take_header || !sends || 16'(result.window) <= result.length);
      Body_M : assume (!in_body || body_valid_i);
      Stable_A : assert (!was_stalled || (valid_o && out == was));
      Turn_A : assert (!source_valid || turn_not == ~turn);
      // The bytes of a beat are contiguous from byte 0 on, and only the last beat of an item is
      // partial.
      Keep_A : assert (!valid_o || ((keep_o & (keep_o + 1'b1)) == '0 && (last_o || keep_o == '1)));
      Order_A : assert (!valid_o || (put != got && {event_o, more_o, user_o} == {next.is_event, next.more, next.user}));
      Length_A : assert (!valid_o || (last_o ? bytes_with == next.length : bytes_with < next.length));
    end
  end
`endif

endmodule
