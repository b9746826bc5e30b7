`include "wl_reset.svh"

// Reads and writes chunks of the bodies that are stored in wl_body_buffer, for engines
// (docs/offloads.md, `payload`).
//
// A chunk begins at any byte. The engine handles the header window itself: the part of a chunk
// before the body reads as zero and is not written, and the same holds for the part after the body.
//
// Contract
//   Request: {write, place, begin, limit, data}. `write` exists only if there are both reads and
//   writes; `place` is the first beat of the body; `begin` is the first byte of the chunk, counted
//   from the first byte of the body, signed; `data` exists only if there are writes, with its first
//   byte most significant.
//     read    byte k of the reply is byte begin + k of the body if that is in 0 .. limit - 1, else
//             zero.
//     write   the first `limit` bytes of `data`, at most all, are written to the body from byte
//             `begin` on, except for those before byte 0.
//   Every request gets a reply, a write when it is done; the data of its reply are meaningless.
//   Replies are in the order of the requests.
//   At most one request for a body may be under way; requests for different bodies are not ordered.
//   Throughput: one request every Spans cycles, the number of beats that a chunk can touch: 2 for
//   chunks of 2 to 65 bytes. Latency: Spans + 5 cycles.
// Timing: inputs go to registers, outputs are registers. Between them there is a byte network of
// wl_rotate, and a second one for writes.
//
// Parameters
//   ChunkBytes    bytes of a chunk
//   HasRead       there are reads
//   HasWrite      there are writes
//   DataBytes     bytes of a beat, a power of two
//   AddressBits   bits of a beat's place
//   TagBits       bits of a request's tag
module wl_payload #(
    parameter int unsigned ChunkBytes = 64,
    parameter bit HasRead = 1'b1,
    parameter bit HasWrite = 1'b0,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned AddressBits = 11,
    parameter int unsigned TagBits = 4,
    localparam int unsigned ChunkBits = 8 * ChunkBytes,
    localparam int unsigned RequestBits = 32'(HasRead && HasWrite) + AddressBits + 17 + 16
        + (HasWrite ? ChunkBits : 0),
    localparam int unsigned ReplyBits = HasRead ? ChunkBits : 1
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
    input  logic [8*DataBytes-1:0] access_data_i,           // a cycle after the read; byte 0 lowest
    output logic                   access_write_o,
    output logic [AddressBits-1:0] access_write_address_o,
    output logic [8*DataBytes-1:0] access_write_data_o
);

  if (ChunkBytes < 1 || ChunkBytes > 512) begin : g_illegal_chunk
    $fatal(1, "wl_payload: ChunkBytes must be 1 to 512");
  end
  if (!HasRead && !HasWrite) begin : g_illegal_use
    $fatal(1, "wl_payload: there must be reads or writes");
  end
  if (DataBytes < 2 || 2 ** $clog2(DataBytes) != DataBytes) begin : g_illegal_beat
    $fatal(1, "wl_payload: DataBytes must be a power of two from 2 on");
  end
  if (AddressBits < 1 || TagBits < 1) begin : g_illegal_bits
    $fatal(1, "wl_payload: AddressBits and TagBits must be 1 or more");
  end

  localparam int unsigned ByteBits = $clog2(DataBytes);
  // Beats that a chunk fills.
  localparam int unsigned Groups = (ChunkBytes + DataBytes - 1) / DataBytes;
  // Beats that a chunk can touch.
  localparam int unsigned Spans = (ChunkBytes + DataBytes - 2) / DataBytes + 1;
  localparam int unsigned SpanBits = wl_pkg::bits(Spans);
  localparam int unsigned CountBits = wl_pkg::bits(ChunkBytes + DataBytes + 1);
  localparam int unsigned PlaceBits = ByteBits + 1;
  localparam int unsigned StoreBits = HasWrite ? ChunkBits : 1;
  // Bytes of a chunk, and of the part of its first beat before it.
  typedef logic [CountBits-1:0] count_t;
  typedef logic [PlaceBits-1:0] edge_t;  // a byte position in a beat, or its end

  // ---- The request ----
  typedef struct packed {
    logic write;
    logic [AddressBits-1:0] place;
    logic [16:0] begins;
    logic [15:0] limit;
    logic [StoreBits-1:0] data;
  } request_t;
  request_t request, stored, call;
  logic asked, move;
  logic [TagBits-1:0] asked_tag;
  assign request_ready_o = !asked || move;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) asked <= 1'b0;
    else if (request_ready_o) asked <= request_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (request_ready_o) begin
      asked_tag <= request_tag_i;
      stored <= request;
    end
  end
  if (HasRead && HasWrite) begin : g_both
    assign request = request_data_i;
  end else if (HasWrite) begin : g_writes
    assign request = {1'b1, request_data_i};
  end else begin : g_reads
    assign request = {1'b0, request_data_i, StoreBits'(0)};
  end
  // What no request says is a constant, not a register.
  always_comb begin
    call = stored;
    if (!HasRead) call.write = 1'b1;
    if (!HasWrite) begin
      call.write = 1'b0;
      call.data  = '0;
    end
  end

  // The valid bytes of the chunk: from `lead` on, before `stop`.
  count_t asked_lead, asked_stop;
  logic [17:0] left;  // bytes of the body from `begin` on, signed
  logic [16:0] missing;  // bytes of the chunk before the body
  always_comb begin
    missing = -call.begins;
    asked_lead = '0;
    if (call.begins[16]) begin
      asked_lead = missing > 17'(ChunkBytes) ? count_t'(ChunkBytes) : count_t'(missing);
    end
    left = 18'(call.limit) - {call.begins[16], call.begins};
    if (call.write) begin
      asked_stop = call.limit > 16'(ChunkBytes) ? count_t'(ChunkBytes) : count_t'(call.limit);
    end else if (left[17]) asked_stop = '0;
    else asked_stop = left > 18'(ChunkBytes) ? count_t'(ChunkBytes) : count_t'(left);
  end

  // ---- The beats that the chunk touches, one a cycle ----
  typedef struct packed {
    logic write;
    logic [SpanBits-1:0] span;     // number of the beat in the chunk
    logic last;
    logic [AddressBits-1:0] address;
    logic [ByteBits-1:0] shift;    // position of the chunk's first byte in its first beat
    count_t lead;
    count_t stop;
    logic [TagBits-1:0] tag;
  } note_t;
  logic busy;
  note_t at;
  logic [StoreBits-1:0] data;
  assign move = asked && (!busy || at.last);
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) busy <= 1'b0;
    else busy <= move || (busy && !at.last);
  end
  always_ff @(posedge clk_i) begin
    if (move) begin
      at.write <= call.write;
      at.span <= '0;
      at.last <= Spans == 1;
      at.address <= call.place + AddressBits'($signed(call.begins[16:ByteBits]));
      at.shift <= call.begins[ByteBits-1:0];
      at.lead <= asked_lead;
      at.stop <= asked_stop;
      at.tag <= asked_tag;
      data <= call.data;
    end else begin
      at.span <= at.span + 1'b1;
      at.last <= 32'(at.span) + 32'd2 >= Spans;
      at.address <= at.address + 1'b1;
    end
  end
  assign access_read_o = busy;
  assign access_address_o = at.address;

  // ---- The data of the beat arrive ----
  logic here;
  note_t beat;
  logic [ByteBits-1:0] turn, turn_not;  // see wl_rotate
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) here <= 1'b0;
    else here <= busy;
  end
  always_ff @(posedge clk_i) begin
    beat <= at;
    turn <= -at.shift;
    turn_not <= ~(-at.shift);
  end

  // ---- Rotated, so that the chunk begins at byte 0 ----
  logic turned;
  note_t note;
  logic [8*DataBytes-1:0] turned_data;
  logic [8*DataBytes-1:0] rotated;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) turned <= 1'b0;
    else turned <= here;
  end
  always_ff @(posedge clk_i) begin
    note <= beat;
    turned_data <= rotated;
  end

  if (ChunkBytes < DataBytes) begin : g_short
    logic unused;
    assign unused = &turned_data;
  end

  // ---- Replies: bytes below the begin of the next beat are from this beat, the others from the
  // one before ----
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) reply_valid_o <= 1'b0;
    else reply_valid_o <= turned && note.last;
  end
  always_ff @(posedge clk_i) begin
    reply_tag_o <= note.tag;
  end
  if (HasRead) begin : g_read
    wl_rotate #(
        .Bytes(DataBytes)
    ) i_rotate (
        .data_i(access_data_i),
        .turn_i({turn_not, turn}),
        .data_o(rotated)
    );
    for (genvar k = 0; k < ChunkBytes; k++) begin : g_byte
      localparam int unsigned Group = k / DataBytes;
      localparam int unsigned Place = k % DataBytes;
      logic mine, counts;
      assign mine = 32'(note.span) == (Place + 32'(note.shift) < DataBytes ? Group : Group + 1);
      assign counts = count_t'(k) >= note.lead && count_t'(k) < note.stop;
      always_ff @(posedge clk_i) begin
        if (turned && mine) begin
          reply_data_o[8*(ChunkBytes-1-k)+:8] <= counts ? turned_data[8*Place+:8] : '0;
        end
      end
    end
  end else begin : g_no_read
    assign rotated = '0;
    assign reply_data_o = '0;
    logic unused;
    assign unused = &{turned_data, turn, turn_not, note.lead, note.stop, note.shift, note.span};
  end

  // ---- Writes: each beat with its part of the chunk inserted ----
  if (HasWrite) begin : g_write
    logic [ChunkBits-1:0] chunk;
    logic [ByteBits-1:0] to, to_not;
    logic [8*DataBytes-1:0] part, placed, placed_now, placed_before, old;
    edge_t first_place, end_place;
    always_ff @(posedge clk_i) begin
      chunk <= data;
      to <= at.shift;
      to_not <= ~at.shift;
    end
    // The part of the chunk that begins in this beat, with its first byte at position 0; zero in a
    // last beat in which the chunk only ends.
    always_comb begin
      part = '0;
      for (int unsigned group = 0; group < Groups; group++) begin
        if (32'(beat.span) == group) begin
          for (int unsigned i = 0; i < DataBytes; i++) begin
            if (group * DataBytes + i < ChunkBytes) begin
              part[8*i+:8] = chunk[8*(ChunkBytes-1-group*DataBytes-i)+:8];
            end
          end
        end
      end
    end
    wl_rotate #(
        .Bytes(DataBytes)
    ) i_rotate (
        .data_i(part),
        .turn_i({to_not, to}),
        .data_o(placed)
    );
    // Returns the position in the beat at which the valid bytes begin or end.
    function automatic edge_t clamp(logic [CountBits-1:0] count, logic [ByteBits-1:0] shift,
        logic [SpanBits-1:0] span);
      logic [CountBits+ByteBits:0] where, first;
      where = (CountBits + ByteBits + 1)'(count) + (CountBits + ByteBits + 1)'(shift);
      first = (CountBits + ByteBits + 1)'(span) << ByteBits;
      if (where <= first) return '0;
      if (where - first >= (CountBits + ByteBits + 1)'(DataBytes)) return edge_t'(DataBytes);
      return edge_t'(where - first);
    endfunction
    always_ff @(posedge clk_i) begin
      placed_now <= placed;
      placed_before <= placed_now;
      old <= access_data_i;
      first_place <= clamp(beat.lead, beat.shift, beat.span);
      end_place <= clamp(beat.stop, beat.shift, beat.span);
    end
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) access_write_o <= 1'b0;
      else access_write_o <= turned && note.write && first_place < end_place;
    end
    always_ff @(posedge clk_i) begin
      access_write_address_o <= note.address;
      for (int unsigned i = 0; i < DataBytes; i++) begin
        if (edge_t'(i) < first_place || edge_t'(i) >= end_place) begin
          access_write_data_o[8*i+:8] <= old[8*i+:8];
        end else if (edge_t'(i) < edge_t'(note.shift)) begin
          access_write_data_o[8*i+:8] <= placed_before[8*i+:8];
        end else access_write_data_o[8*i+:8] <= placed_now[8*i+:8];
      end
    end
  end else begin : g_no_write
    assign access_write_o = 1'b0;
    assign access_write_address_o = '0;
    assign access_write_data_o = '0;
    logic unused;
    assign unused = &{data, note.write, note.address};
  end

`ifdef FORMAL
  logic was_last, was_write;
  logic [TagBits-1:0] was_tag;
  always_ff @(posedge clk_i) begin
    was_last  <= note.last;
    was_tag   <= note.tag;
    was_write <= turned && note.write;
    if (!rst_i) begin
      // Each reply has been read, and only requested writes are performed.
      Reply_A : assert (!reply_valid_o || (reply_tag_o == was_tag && was_last));
      Write_A : assert (!access_write_o || was_write);
      Span_A : assert (!busy || 32'(at.span) < Spans);
      Last_A : assert (!busy || at.last == (32'(at.span) == Spans - 1));
    end
  end
`endif

endmodule
