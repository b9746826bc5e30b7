`include "wl_reset.svh"

// Post-processor of a pipe: joins headers and bodies, byte by byte, without gaps.
//
// Its outputs are *items*. An item is a packet of one or more beats, or an event (a packet was
// dropped, or its thread ended without sending).
//
// Contract
//   A sent packet (finish, emit, to_cpu) consists of its window, in beats as wl_header_deserializer
//   makes them, and the first `length - window` bytes of its body; the rest of the body is
//   discarded. An event discards the whole body.
//   With SkipBits an item with an empty window begins at any byte of its body: the first two bytes
//   of its beat have the number of bytes to skip, the higher byte first.
//   `more_o` marks copies: the body is kept for the further items of the same packet.
//   Order: items leave in the order of the headers.
//   Throughput: one beat or event a cycle at the output, whatever the lengths of window and body:
//   where the window ends inside a beat, its last bytes and the first of the body leave together.
//   An item that skips a beat or more takes a cycle more, and so does one whose first byte is
//   inside a beat of the body.
//   An item that is not taken stays stable. A packet of no bytes is one beat without a byte.
// Timing: the byte networks lie between registers; outputs are registers.
// Cost: two byte networks. A window is turned by less than a row, which takes two levels of
// multiplexers, and a body by any number of bytes, three.
//
// Parameters
//   DataBytes   bytes of a beat, a power of two, at least RowBytes
//   RowBytes    bytes of a row of the header memory, a power of two, 2 to 16
//   SkipBits    bits of the number of beats of a body that an item skips; 0: items skip no bytes
module wl_postprocessor #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RowBytes = wl_pkg::WordBytes,
    parameter int unsigned SkipBits = 0,
    localparam int unsigned ReadBits = SkipBits == 0 ? 1 : SkipBits
) (
    input logic clk_i,
    input logic rst_i,

    // Headers, from wl_gatherer.
    input  logic                   beat_valid_i,
    output logic                   beat_ready_o,
    input  logic [8*DataBytes-1:0] beat_data_i,
    input  logic                   beat_last_i,
    input  wl_pkg::result_t        beat_result_i,

    // Bodies, from wl_body_buffer: data come a cycle after `body_read_o`, and stay until the next.
    input  logic                   body_valid_i,
    output logic [   ReadBits-1:0] body_read_o,    // with SkipBits: how many beats to proceed
    input  logic [8*DataBytes-1:0] body_data_i,
    output logic                   body_rewind_o,
    output logic                   body_free_o,

    // Items, to wl_merger: byte 0 of a beat in bits 7:0.
    output logic                   valid_o,
    input  logic                   ready_i,
    output logic                   event_o,  // an event: one beat without data
    output logic                   more_o,   // the same packet will send another item
    output logic [8*DataBytes-1:0] data_o,
    output logic [  DataBytes-1:0] keep_o,
    output logic                   last_o,
    output wl_pkg::sent_t          user_o    // on every beat
);

  if (RowBytes < 2 || RowBytes > 16 || 2 ** $clog2(RowBytes) != RowBytes) begin : g_illegal_row
    $fatal(1, "wl_postprocessor: RowBytes must be 2, 4, 8 or 16");
  end
  if (DataBytes < RowBytes || 2 ** $clog2(DataBytes) != DataBytes) begin : g_illegal
    $fatal(1, "wl_postprocessor: DataBytes must be a power of two from RowBytes on");
  end

  localparam int unsigned ByteBits = $clog2(DataBytes);
  localparam int unsigned CountBits = ByteBits + 1;
  // Bits of the position in a row at which a window begins.
  localparam int unsigned StartBits = wl_pkg::bits(RowBytes);
  typedef logic [ByteBits-1:0] place_t;  // position of a byte in a beat
  typedef logic [CountBits-1:0] count_t;  // number of bytes of a beat

  // A beat that leaves, without its data. Its bytes before `place` are of the header, or else those
  // of the body's beat before, which are carried over; the others are of the body.
  typedef struct packed {
    logic is_event;
    logic more;
    logic last;    // the last beat of the item, unless it spills
    logic header;  // it has bytes of the header
    logic body;    // it has a new beat of the body
    logic primes;  // this beat of the body only leaves with the next one: no beat leaves with it
    count_t place;
    logic [CountBits:0] count;  // bytes up to its end, which may be in one more beat
    wl_pkg::sent_t user;
  } note_t;

  logic go;  // the output advances
  logic source_go;  // the stages before it advance

  // ---- The next beat: of the header, of the body, or the last of the one and the first of the
  // other ----
  wl_pkg::result_t result;
  assign result = beat_result_i;
  logic sends;
  assign sends = result.kind != wl_pkg::EXIT_DROP && result.kind != wl_pkg::EXIT_DONE;

  logic in_body;
  logic [15:0] body_left;  // bytes of the body that have not been taken
  note_t body_note;  // of the beats that have only bytes of the body

  place_t last_place;  // of the header's last byte, from its beginning
  count_t header_count;
  logic [15:0] body_bytes;
  logic has_body, joins, body_last;
  assign last_place = place_t'(result.window) - 1'b1;
  assign header_count = !sends || result.window == '0 ? '0 : !beat_last_i ? count_t'(DataBytes)
      : count_t'(last_place) + 1'b1;
  assign has_body = sends && result.length != 16'(result.window);

  // An item that begins inside the body: the body's beats before its first byte are skipped in one
  // read, and the bytes before it in its beat by the turn of the body.
  place_t inset;  // position of the first byte in its beat
  logic primes;
  logic may_take;  // the beats before it have been skipped
  // Bytes of the body up to its last one that leaves, from the beat that has the first.
  assign body_bytes = result.length - 16'(result.window) + 16'(inset);
  assign joins = beat_last_i && has_body && header_count != count_t'(DataBytes);
  assign body_last = body_left <= 16'(DataBytes);

  // What is left after the body's first beat, if that leaves with the header.
  logic joins_all;
  logic [15:0] left_behind;
  assign joins_all = joins && body_bytes <= 16'(DataBytes);
  assign left_behind = joins ? body_bytes - 16'(DataBytes) : body_bytes;

  logic take_header, take_body, header_ends, item_ends, ends_more, reads;
  assign beat_ready_o = source_go && !in_body && (!beat_last_i || body_valid_i) && may_take;
  assign take_header = beat_ready_o && beat_valid_i;
  assign take_body = source_go && in_body;
  assign header_ends = take_header && beat_last_i;
  assign item_ends = take_body ? body_last : header_ends && (!has_body || joins_all);
  assign ends_more = take_body ? body_note.more : result.more;
  assign reads = take_body || (header_ends && joins);
  assign body_rewind_o = item_ends && ends_more;
  assign body_free_o = item_ends && !ends_more;

  if (SkipBits == 0) begin : g_no_skip
    assign inset = '0;
    assign primes = 1'b0;
    assign may_take = 1'b1;
    assign body_read_o = reads;
  end else begin : g_skip
    logic [15:0] skip;
    logic [SkipBits-1:0] beats;
    logic skips, sought;
    logic seek;  // the beats before the first byte are skipped now
    assign skip = {beat_data_i[7:0], beat_data_i[15:8]};
    assign skips = beat_valid_i && has_body && result.window == '0;
    assign inset = skips ? skip[ByteBits-1:0] : '0;
    assign primes = inset != '0;
    assign beats = skips ? SkipBits'(skip >> ByteBits) : '0;
    assign may_take = beats == '0 || sought;
    assign seek = source_go && !in_body && body_valid_i && !may_take;
    assign body_read_o = seek ? beats : SkipBits'(reads);
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) sought <= 1'b0;
      else if (seek || take_header) sought <= seek;
    end
  end

  // The bytes of a body's beat.
  function automatic count_t beat_bytes(logic [15:0] left);
    return left < 16'(DataBytes) ? left[CountBits-1:0] : count_t'(DataBytes);
  endfunction

  // Where the body's first byte goes that leaves: its beat is turned by as much.
  count_t header_place;
  assign header_place = primes ? count_t'(DataBytes) - count_t'(inset) : header_count;
  note_t header_note, note;
  always_comb begin
    header_note.is_event = !sends;
    header_note.more = result.more;
    header_note.last = beat_last_i && (!has_body || joins_all);
    header_note.header = 1'b1;
    header_note.body = joins;
    header_note.primes = primes;
    header_note.place = header_place;
    header_note.count = (CountBits + 1)'(header_place)
        + (joins ? (CountBits + 1)'(beat_bytes(body_bytes)) : '0);
    header_note.user.kind = result.kind;
    header_note.user.reason = result.reason;
    header_note.user.egress = result.egress;
    note = body_note;
    note.last = body_last;
    note.count = (CountBits + 1)'(body_note.place) + (CountBits + 1)'(beat_bytes(body_left));
    if (!in_body) note = header_note;
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) in_body <= 1'b0;
    else if (take_header || take_body) in_body <= !item_ends && (in_body || beat_last_i);
  end
  always_ff @(posedge clk_i) begin
    if (take_header) begin
      body_left <= left_behind;
      body_note <= header_note;
      body_note.header <= 1'b0;
      body_note.body <= 1'b1;
      body_note.primes <= 1'b0;
      // A header that fills its last beat leaves nothing before the body.
      body_note.place <= count_t'(header_place[ByteBits-1:0]);
    end else if (take_body) begin
      body_left <= body_left - 16'(DataBytes);
    end
  end

  // ---- The header's beat; the body's is being read ----
  logic asked_valid;
  note_t asked;
  logic [8*DataBytes-1:0] asked_header;
  logic [StartBits-1:0] asked_start;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) asked_valid <= 1'b0;
    else if (source_go) asked_valid <= take_header || take_body;
  end
  always_ff @(posedge clk_i) begin
    if (source_go) begin
      asked <= note;
      asked_header <= beat_data_i;
      asked_start <= result.start[StartBits-1:0];
    end
  end

  // ---- Both beats, and their turns, each with its complement (see wl_rotate) ----
  logic source_valid;
  note_t source;
  logic [8*DataBytes-1:0] source_header, source_body;
  logic [StartBits-1:0] start, start_not;
  place_t turn, turn_not;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) source_valid <= 1'b0;
    else if (source_go) source_valid <= asked_valid;
  end
  always_ff @(posedge clk_i) begin
    if (source_go) begin
      source <= asked;
      source_header <= asked_header;
      source_body <= body_data_i;
      start <= asked_start;
      start_not <= ~asked_start;
      turn <= asked.place[ByteBits-1:0];
      turn_not <= ~asked.place[ByteBits-1:0];
    end
  end

  // ---- Turned: the header back to position 0, the body to where the header ends ----
  logic turned_valid, spills;
  note_t turned;
  logic [8*DataBytes-1:0] turned_header, turned_body;

  // A header's byte (i + start) mod DataBytes goes to position i. wl_rotate turns the other way, so
  // it gets the bytes in reverse order.
  logic [8*DataBytes-1:0] header_back, header_turned, body_turned;
  for (genvar i = 0; i < DataBytes; i++) begin : g_back
    assign header_back[8*i+:8] = source_header[8*(DataBytes-1-i)+:8];
  end
  wl_rotate #(
      .Bytes(DataBytes),
      .TurnBits(StartBits)
  ) i_header (
      .data_i(header_back),
      .turn_i({start_not, start}),
      .data_o(header_turned)
  );
  wl_rotate #(
      .Bytes(DataBytes)
  ) i_body (
      .data_i(source_body),
      .turn_i({turn_not, turn}),
      .data_o(body_turned)
  );
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) turned_valid <= 1'b0;
    else if (source_go) turned_valid <= source_valid;
  end
  always_ff @(posedge clk_i) begin
    if (source_go) begin
      turned <= source;
      for (int unsigned i = 0; i < DataBytes; i++) begin
        turned_header[8*i+:8] <= header_turned[8*(DataBytes-1-i)+:8];
      end
      turned_body <= body_turned;
      spills <= source.last && source.count > (CountBits + 1)'(DataBytes);
    end
  end

  // ---- Joined; `carry` has the bytes of the body's last beat that the output had no room for ----
  logic spilling;  // they leave as a separate beat
  logic [8*DataBytes-1:0] carry;
  count_t count;  // bytes of the beat
  assign go = !valid_o || ready_i;
  assign source_go = go && !(turned_valid && spills && !spilling);
  assign count = !spilling && (spills || !turned.last) ? count_t'(DataBytes)
      : turned.count[CountBits-1:0] - (spilling ? count_t'(DataBytes) : '0);

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      valid_o  <= 1'b0;
      spilling <= 1'b0;
    end else if (go) begin
      valid_o  <= turned_valid && (!turned.primes || spilling);
      spilling <= turned_valid && spills && !spilling;
    end
  end
  always_ff @(posedge clk_i) begin
    if (go) begin
      if (turned_valid && turned.body) carry <= turned_body;
      for (int unsigned i = 0; i < DataBytes; i++) begin
        if (!spilling && count_t'(i) >= turned.place) data_o[8*i+:8] <= turned_body[8*i+:8];
        else if (!spilling && turned.header) data_o[8*i+:8] <= turned_header[8*i+:8];
        else data_o[8*i+:8] <= carry[8*i+:8];
        keep_o[i] <= count_t'(i) < count;
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
  logic midst;  // in the middle of a header
  logic [9*DataBytes+wl_pkg::SentBits+2:0] out, was;
  assign begins = take_header && !midst;
  assign out = {event_o, more_o, last_o, user_o, keep_o, data_o};
  assign next = items[got];
  assign bytes_with = bytes + 16'($countones(keep_o));
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      midst <= 1'b0;
      put   <= '0;
      got   <= '0;
      bytes <= '0;
    end else begin
      if (take_header) midst <= !beat_last_i;
      if (begins) put <= put + 1'b1;
      if (valid_o && ready_i) begin
        bytes <= last_o ? '0 : bytes_with;
        if (last_o) got <= got + 1'b1;
      end
    end
    if (begins) begin
      items[put] <= {!sends, result.more, header_note.user, sends ? result.length : 16'd0};
    end
    was_stalled <= !rst_i && valid_o && !ready_i;
    was <= out;
    if (!rst_i) begin
      Window_M : assume (!take_header || !sends || 16'(result.window) <= result.length);
      Body_M : assume (!in_body || body_valid_i);
      Stable_A : assert (!was_stalled || (valid_o && out === was));
      Turn_A : assert (!source_valid || (turn_not == ~turn && start_not == ~start));
      // The bytes of a beat are contiguous from byte 0 on, and only the last beat of an item is
      // partial.
      Keep_A : assert (!valid_o || ((keep_o & (keep_o + 1'b1)) == '0 && (last_o || keep_o == '1)));
      Order_A : assert (!valid_o
          || (put != got && {event_o, more_o, user_o} == {next.is_event, next.more, next.user}));
      Length_A : assert (!valid_o
          || (last_o ? bytes_with == next.length : bytes_with < next.length));
    end
  end
`endif

endmodule
