`include "wl_reset.svh"

// Packets that are kept under a key until another packet takes them, as a service: the `park` kind
// (docs/offloads/park.md). The packets lie in a QDR SRAM; their keys, times and order lie in block
// RAM.
//
//   the oldest packet --> too old: removed, and the next one
//                     --> the key's bucket --> oldest packet --> next ... --> reply
//
// All packets are in one list by age, linked both ways, from which packets are discarded. Those of
// a bucket are in a list of their own, linked to younger ones, in which the packets of a key are
// found: a key's packets are in one bucket, which the hash of `wl_exact_table` with its seed
// selects. Both lists are in the order of age, so that the oldest packet is the first of its
// bucket. Free slots form a stack; slots that were never used need no link.
//
// Contract
//   Data: one operation after the other, as the kind defines them. TAKE finds the oldest packet
//   with the key, KEEP appends one, and both make its slot the current one. The other operations
//   move the words of the current slot: a packet's KEEP or TAKE and the movements that follow it
//   must come without another packet's operations in between (`wl_order_gate`). A slot's words stay
//   until the slot is given to another packet, so that a packet that was taken can be read.
//   Movements never leave the slot: bits of `count` that address no word of the window are ignored,
//   and no more than BodyBytes of a body are moved.
//   The control plane reads packets, discards those under a key, and empties the park. It also
//   restores packets, oldest first: none may be older than the one before, and the park's time must
//   not be set to an earlier one than that of any packet. Between a packet's operations it must
//   append no packet and write no word.
//   Time: the latest time of the calls of KEEP, TAKE and EXPIRE. It never runs backwards.
//   Body buffer: reads have data a cycle later, until the next read. The last access is before the
//   reply.
//   Memory: a read has its data exactly ReadLatency cycles later, and sees the writes of earlier
//   cycles. There is no access between the reply and the next operation.
//   Latency in cycles, from the request to the reply: KEEP 5, or 4 if there is no room. TAKE 8 for
//   the oldest packet in the key's bucket, and 2 more for each one before it; 4, and 2 for each
//   packet in the bucket, if none has the key. EXPIRE 3, or 5 if a packet stays. Each packet that
//   is discarded takes 5 more; if Age is not 0 and a packet stays, KEEP and TAKE take 3 more. PUT
//   4. GET ReadLatency + 4. For a body of n beats of w words each STORE n * w + 4, and FETCH
//   n * w + ReadLatency + 3; without a body 3.
//   Throughput: one operation at a time, the next one from the reply's cycle on.
//   After a reset the park is empty; Buckets cycles pass before the first operation. The same holds
//   after the control plane has emptied the park. Slots are given out as 0, 1, 2 ... then, until
//   one is free again. The seed after a reset is that of `wl_exact_table`.
// Timing: between two registers there are at most a comparison or subtraction of two times, or the
// comparison of two keys.
//
// Request: {operation, 3 bits; key; data, 128 bits; count, 16 bits; place; time, 64 bits}
//   0 KEEP     appends a packet with `data` without its highest 7 bits. Reply: whether there was
//              room, in bit 0.
//   1 TAKE     removes the oldest packet with the key. Reply: {1, its data} in the
//              lowest 122 bits, or zero.
//   2 EXPIRE   removes the packets that were kept more than data[63:0] ago. Reply: their number,
//              without those that Age has removed.
//   3 PUT      writes `data` to the words 2 * count and 2 * count + 1 of the window, the first one
//              most significant. Reply: zero, as for 5 and 6.
//   4 GET      Reply: these two words.
//   5 STORE    writes the beats of the body buffer that hold `count` bytes from beat `place` on to
//              the slot; word k of a beat is bits [64*k +: 64]. Places wrap around.
//   6 FETCH    writes the slot's beats back to the body buffer, from beat `place` on.
// Control, by bits 31 and 30 of the address:
//   0    a read returns {next younger packet's slot, key, time of KEEP, data}, the data in the
//        lowest 121 bits, of the slot whose number the address is; zero if it was never used. A
//        write discards the packets with the key in the lowest bits.
//   1    a read returns {the park's time, 64 bits; number of packets; slot of the oldest one, 32
//        bits each}. A write by address bits 1 and 0: 0 empties the park and sets the seed, KeyBits
//        + log2(Buckets) - 1 bits; 1 sets the park's time; 2 empties the park.
//   2    a read or write of the word at the address {slot, word}. Past the last slot there is
//        nothing: zero.
//   3    a write appends the packet {key, time of KEEP, data}, unless the park is full.
//
// Parameters
//   KeyBits        bits of a key
//   Size           packets
//   Age            nanoseconds after which a packet is discarded; 0: never
//   BodyBytes      bytes of the longest body, from 1 to 65535
//   DataBytes      bytes of a beat of the body buffer; a power of two, 8 or more
//   PlaceBits      bits of a beat's place in the body buffer
//   DataBits       bits of a burst of the memory; a word of 64 bits lies in the lowest
//   AddressBits    bits of a burst's address. A slot has 32 bursts for the window, then one for
//                  each word of BodyBytes, rounded up to whole beats; it begins at a multiple of
//                  the next power of two, slot 0 at address 0
//   ReadLatency    read latency of the memory channel
//   TagBits        bits of the tag that a reply repeats
//   CtlBits, CtlTarget   those of the control bus
//   Buckets        buckets; a power of two
module wl_park #(
    parameter int unsigned KeyBits = 32,
    parameter int unsigned Size = 64,
    parameter logic [63:0] Age = 64'd0,
    parameter int unsigned BodyBytes = 2048,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned PlaceBits = 11,
    parameter int unsigned DataBits = 72,
    parameter int unsigned AddressBits = 20,
    parameter int unsigned ReadLatency = 8,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 185 + KeyBits + wl_pkg::bits(Size),
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Buckets = Size > 2 ? 2 ** $clog2(Size) : 2,
    localparam int unsigned RequestBits = 3 + KeyBits + 128 + 16 + PlaceBits + 64
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic [      127:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o,     // zero unless a read is done

    // To wl_body_buffer.
    output logic                   access_read_o,
    output logic [  PlaceBits-1:0] access_address_o,
    input  logic [8*DataBytes-1:0] access_data_i,           // a cycle after the read; byte 0 lowest
    output logic                   access_write_o,
    output logic [  PlaceBits-1:0] access_write_address_o,
    output logic [8*DataBytes-1:0] access_write_data_o,

    // A slot of a memory channel.
    output logic                   read_valid_o,
    output logic [AddressBits-1:0] read_address_o,
    input  logic [   DataBits-1:0] read_data_i,
    output logic                   write_valid_o,
    output logic [AddressBits-1:0] write_address_o,
    output logic [   DataBits-1:0] write_data_o,
    input  logic                   hold_i            // accept no request
);
  localparam int unsigned MetaBits = 121;
  localparam int unsigned IndexBits = wl_pkg::bits(Size);
  localparam int unsigned CountBits = wl_pkg::bits(Size + 1);
  localparam int unsigned BucketBits = wl_pkg::bits(Buckets);
  localparam int unsigned SeedBits = KeyBits + BucketBits - 1;
  localparam int unsigned ByteBits = $clog2(DataBytes);
  localparam int unsigned Lanes = DataBytes / 8;  // words of a beat
  localparam int unsigned LaneBits = wl_pkg::bits(Lanes);
  localparam int unsigned WindowWords = wl_pkg::WindowBytes / 8;
  localparam int unsigned BodyBeats = (BodyBytes + DataBytes - 1) / DataBytes;
  localparam int unsigned WordBits = $clog2(WindowWords + BodyBeats * Lanes);
  localparam logic [63:0] Words = 64'(Size) << WordBits;

  if (KeyBits < 1 || Size < 1 || TagBits < 1 || PlaceBits < 1 || ReadLatency < 1) begin : g_illegal
    $fatal(1,
        "wl_park: KeyBits, Size, TagBits, PlaceBits and ReadLatency must be at least one");
  end
  if (BodyBytes < 1 || BodyBytes > 65535) begin : g_illegal_body
    $fatal(1, "wl_park: BodyBytes must be 1 to 65535");
  end
  if (DataBytes < 8 || DataBytes > 4096 || 2 ** $clog2(DataBytes) != DataBytes) begin
    : g_illegal_beat
    $fatal(1, "wl_park: DataBytes must be a power of two from 8 to 4096");
  end
  if (DataBits < 64 || AddressBits < 1 || AddressBits > 30
      || Words > 64'd1 << AddressBits) begin : g_illegal_memory
    $fatal(1, "wl_park: a burst must hold a word of 64 bits, and the memory all packets");
  end
  if (CtlBits < 64 + MetaBits + KeyBits + IndexBits || CtlBits < SeedBits) begin : g_illegal_ctl
    $fatal(1, "wl_park: CtlBits hold a packet's slot, key, time and data, and the seed");
  end
  if (Buckets < 2 || 2 ** $clog2(Buckets) != Buckets) begin : g_illegal_buckets
    $fatal(1, "wl_park: Buckets must be a power of two, at least 2");
  end

  // What is done: a request, or an access of the control plane.
  typedef enum logic [3:0] {
    KEEP = 4'd0,
    TAKE = 4'd1,
    EXPIRE = 4'd2,
    PUT = 4'd3,
    GET = 4'd4,
    STORE = 4'd5,
    FETCH = 4'd6,
    NONE = 4'd7,
    SHOW = 4'd8,     // a packet is read
    DROP = 4'd9,     // the packets under a key are discarded
    TELL = 4'd10,    // time and number of packets are read
    CHANGE = 4'd11,  // the park is emptied, or its time set
    PEEK = 4'd12,    // a word is read
    POKE = 4'd13,    // a word is written
    LOAD = 4'd14,    // a packet is appended
    NOTHING = 4'd15
  } op_e;

  typedef enum logic [4:0] {
    CLEAR,    // the buckets are emptied
    IDLE,     // an operation is accepted
    TIME,     // the time advances; the oldest packet is read
    AGED,     // its age is computed
    JUDGE,    // it is old, or all packets are young enough
    BUCKET,   // the key's bucket is read
    LOOK,     // its oldest packet is read, or the topmost free slot
    COMPARE,  // the packet's key is compared
    WALK,     // on a match the packet is removed; otherwise the next one is read
    REMOVE,   // a packet leaves its lists
    FREE,     // its slot becomes free
    APPEND,   // a packet becomes the youngest of its lists
    PICK,     // a slot is read by its number
    BODY,     // the words of a body are counted
    READ,     // words are read from the memory
    ARRIVE,   // they arrive
    WRITE,    // words are written to the memory
    COPY,     // beats of the body buffer are read, and their words written
    COPIED,   // the last word is written
    REPLY
  } state_e;

  typedef logic [IndexBits-1:0] index_t;

  // The packets of a bucket, from the oldest to the youngest.
  typedef struct packed {
    logic some;
    index_t head;
    index_t tail;
  } bucket_t;

  // A packet without its words.
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [63:0] since;
    logic [MetaBits-1:0] meta;
  } packet_t;

  // The exclusive OR of the key's digits of BucketBits bits, each with its bits reversed.
  function automatic logic [SeedBits-1:0] digits();
    logic [SeedBits-1:0] made;
    for (int unsigned k = 0; k < SeedBits; k++) made[k] = k % BucketBits == BucketBits - 1;
    return made;
  endfunction
  localparam logic [SeedBits-1:0] FirstSeed = digits();

  function automatic logic [BucketBits-1:0] bucket_of(logic [SeedBits-1:0] seed,
      logic [KeyBits-1:0] key);
    logic [BucketBits-1:0] chosen;
    for (int unsigned i = 0; i < BucketBits; i++) chosen[i] = ^(key & seed[i+:KeyBits]);
    return chosen;
  endfunction

  // The address of a word of a slot.
  function automatic logic [AddressBits-1:0] address_of(index_t slot, logic [WordBits-1:0] word);
    return AddressBits'({slot, word});
  endfunction

  state_e state;
  op_e op;
  logic [SeedBits-1:0] seed;
  logic emptied;                  // the park will be emptied
  logic [TagBits-1:0] tag;
  logic [KeyBits-1:0] key, wanted, hashed;
  logic [127:0] data;
  logic [15:0] count;
  logic [63:0] now, seen, passed;  // the call's time; the park's; the oldest packet's age
  logic [31:0] expired;
  logic sweeping;                 // the oldest packet is removed since it is old
  logic found;                    // a packet was appended, or taken
  logic [BucketBits-1:0] chosen;  // the bucket
  index_t node, previous;
  logic has_previous;             // `previous` is the packet before `node` in the bucket
  index_t oldest, newest, free, current;
  logic [CountBits-1:0] kept, fresh;  // packets; slots that were ever used
  logic has_free;
  assign has_free = fresh != kept;

  // ---- Memories ----

  logic read_bucket, read_slot;
  index_t read_node;

  logic bucket_write;
  bucket_t bucket_data, bucket;
  wl_ram_block #(
      .Width($bits(bucket_t)),
      .Depth(Buckets)
  ) i_buckets (
      .clk_i,
      .write_i(bucket_write),
      .write_address_i(chosen),
      .write_data_i(bucket_data),
      .read_i(read_bucket),
      .read_address_i(chosen),
      .read_data_o(bucket)
  );

  // The next younger packet in the bucket.
  logic next_write;
  index_t next_address, next_data, next;
  wl_ram_block #(
      .Width(IndexBits),
      .Depth(Size)
  ) i_next (
      .clk_i,
      .write_i(next_write),
      .write_address_i(next_address),
      .write_data_i(next_data),
      .read_i(read_slot),
      .read_address_i(read_node),
      .read_data_o(next)
  );

  // The next younger and the next older packet of all. The younger link of a free slot leads to the
  // free slot below it.
  logic younger_write, older_write;
  index_t younger_address, younger_data, younger, older_address, older_data, older;
  wl_ram_block #(
      .Width(IndexBits),
      .Depth(Size)
  ) i_younger (
      .clk_i,
      .write_i(younger_write),
      .write_address_i(younger_address),
      .write_data_i(younger_data),
      .read_i(read_slot),
      .read_address_i(read_node),
      .read_data_o(younger)
  );
  wl_ram_block #(
      .Width(IndexBits),
      .Depth(Size)
  ) i_older (
      .clk_i,
      .write_i(older_write),
      .write_address_i(older_address),
      .write_data_i(older_data),
      .read_i(read_slot),
      .read_address_i(read_node),
      .read_data_o(older)
  );

  logic packet_write;
  packet_t packet_data, packet;
  wl_ram_block #(
      .Width($bits(packet_t)),
      .Depth(Size)
  ) i_packets (
      .clk_i,
      .write_i(packet_write),
      .write_address_i(node),
      .write_data_i(packet_data),
      .read_i(read_slot),
      .read_address_i(read_node),
      .read_data_o(packet)
  );

  // ---- Requests and control accesses ----

  typedef struct packed {
    logic [2:0] op;
    logic [KeyBits-1:0] key;
    logic [127:0] data;
    logic [15:0] count;
    logic [PlaceBits-1:0] place;
    logic [63:0] now;
  } request_t;
  request_t request;
  assign request = request_data_i;

  packet_t loaded;
  assign loaded = ctl_data_i[$bits(packet_t)-1:0];

  logic is_used, is_word;
  assign is_used = 32'(ctl_address_i[29:0]) < 32'(fresh);
  assign is_word = 64'(ctl_address_i[29:0]) < Words;

  logic is_control, take;
  assign is_control = ctl_valid_i && ctl_target_i == CtlTarget && !ctl_done_o && !emptied;
  assign take = request_valid_i && request_ready_o;

  // The control plane gets every second operation if it requests one.
  logic control_turn;
  assign request_ready_o = state == IDLE && !(is_control && control_turn) && !emptied && !hold_i;

  op_e asked;
  always_comb begin
    if (take) asked = op_e'({1'b0, request.op});
    else begin
      unique case (ctl_address_i[31:30])
        2'd0: asked = op_e'(ctl_write_i ? DROP : is_used ? SHOW : NOTHING);
        2'd1: asked = op_e'(ctl_write_i ? CHANGE : TELL);
        2'd2: asked = op_e'(!is_word ? NOTHING : ctl_write_i ? POKE : PEEK);
        default: asked = op_e'(ctl_write_i ? LOAD : NOTHING);
      endcase
    end
  end

  logic from_control;
  assign from_control = op >= SHOW;

  // The key of the operation, valid already in the cycle in which the operation arrives.
  assign wanted = take ? request.key : ctl_address_i[31] ? loaded.key : ctl_data_i[KeyBits-1:0];

  // ---- Ages ----

  logic may_be_old, is_aged, is_old;
  assign may_be_old = kept != '0 && (Age != 0 || op == EXPIRE);
  assign is_aged = Age != 0 && passed > Age;
  assign is_old = is_aged || (op == EXPIRE && passed > data[63:0]);

  // ---- Lists ----

  logic is_the_one, is_last, is_full;
  assign is_last = node == bucket.tail;
  assign is_full = kept == CountBits'(Size);

  always_comb begin
    read_bucket = state == TIME || state == JUDGE || state == BUCKET;
    read_slot = 1'b0;
    read_node = oldest;
    unique case (state)
      TIME: read_slot = 1'b1;
      LOOK: begin
        read_slot = 1'b1;
        read_node = op == KEEP || op == LOAD ? free : bucket.head;
      end
      WALK: begin
        read_slot = !is_the_one && !is_last;
        read_node = next;
      end
      PICK: begin
        read_slot = 1'b1;
        read_node = ctl_address_i[IndexBits-1:0];
      end
      default: ;
    endcase

    bucket_write = state == CLEAR || state == REMOVE || state == APPEND;
    bucket_data.some = state == APPEND || (state == REMOVE && (has_previous || !is_last));
    bucket_data.head = bucket.head;
    bucket_data.tail = bucket.tail;
    if (state == APPEND) begin
      if (!bucket.some) bucket_data.head = node;
      bucket_data.tail = node;
    end else if (!has_previous) bucket_data.head = next;
    else if (is_last) bucket_data.tail = previous;

    next_write = (state == REMOVE && has_previous) || (state == APPEND && bucket.some);
    next_address = state == APPEND ? bucket.tail : previous;
    next_data = state == APPEND ? node : next;

    younger_write = state == FREE || (state == REMOVE && node != oldest)
        || (state == APPEND && kept != '0);
    younger_address = state == FREE ? node : state == APPEND ? newest : older;
    younger_data = state == FREE ? free : state == APPEND ? node : younger;

    older_write = state == APPEND || (state == REMOVE && node != newest);
    older_address = state == APPEND ? node : younger;
    older_data = state == APPEND ? newest : older;

    packet_write = state == APPEND;
    packet_data.key = key;
    packet_data.since = op == LOAD ? loaded.since : seen;
    packet_data.meta = op == LOAD ? loaded.meta : data[MetaBits-1:0];
  end

  always_comb begin
    unique case (state)
      IDLE: hashed = wanted;
      AGED: hashed = packet.key;
      default: hashed = key;
    endcase
  end

  // ---- Words ----

  logic [AddressBits-1:0] address;
  logic [WordBits-1:0] left;  // words that are left to read or write
  logic [LaneBits-1:0] lane;  // the word of the beat that is read from the body buffer, or arrives
  logic lane_ends;
  logic [PlaceBits-1:0] place;
  assign lane_ends = lane == LaneBits'(Lanes - 1);

  // The beats of a body.
  logic [16:0] beats;
  always_comb begin
    beats = (17'(count) + 17'(DataBytes - 1)) >> ByteBits;
    if (beats > 17'(BodyBeats)) beats = 17'(BodyBeats);
  end

  assign read_valid_o = state == READ;
  assign read_address_o = address;
  logic arrives, arrives_last;
  wl_delay #(
      .Width (2),
      .Cycles(ReadLatency),
      .Reset (1'b1)
  ) i_arrives (
      .clk_i,
      .rst_i,
      .data_i({read_valid_o, read_valid_o && left == WordBits'(1)}),
      .data_o({arrives, arrives_last})
  );

  // The words that arrived last, the very last one most significant: a beat, or two words.
  localparam int unsigned Arrived = Lanes > 2 ? Lanes : 2;
  logic [Arrived-1:0][63:0] arrived;
  assign access_write_data_o = arrived[Arrived-1-:Lanes];

  assign access_read_o = state == COPY && lane == '0;
  assign access_address_o = place;
  logic copies;  // a word of the body buffer is here
  logic [LaneBits-1:0] copied_lane;

  // ---- One operation after the other ----

  // The state: where the operation is, the lists, the time, and what the control plane has set.
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= CLEAR;
      chosen <= '0;
      emptied <= 1'b0;
      {kept, fresh} <= '0;
      {oldest, newest, free, current} <= '0;
      seed <= FirstSeed;
      control_turn <= 1'b1;
      {reply_valid_o, ctl_done_o} <= '0;
      ctl_data_o <= '0;
      seen <= '0;
      {copies, write_valid_o, access_write_o} <= '0;
    end else begin
      reply_valid_o <= 1'b0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
      copies <= state == COPY;
      write_valid_o <= state == WRITE || copies;
      access_write_o <= arrives && lane_ends && op == FETCH;
      unique case (state)
        CLEAR: begin
          chosen <= chosen + 1'b1;
          if (chosen == '1) state <= IDLE;
        end

        IDLE: begin
          if (take) control_turn <= 1'b1;
          else if (is_control) control_turn <= 1'b0;
          chosen <= bucket_of(seed, hashed);
          if (emptied) begin
            state <= CLEAR;
            chosen <= '0;
            emptied <= 1'b0;
            {kept, fresh} <= '0;
          end else if (take || is_control) begin
            // A case of constants would be a ROM, of which a proof by induction knows nothing.
            if (asked == KEEP || asked == TAKE || asked == EXPIRE) state <= TIME;
            else if (asked == PUT || asked == POKE) state <= WRITE;
            else if (asked == GET || asked == PEEK) state <= READ;
            else if (asked == STORE || asked == FETCH) state <= BODY;
            else if (asked == DROP || asked == LOAD) state <= BUCKET;
            else state <= state_e'(asked == SHOW ? PICK : REPLY);
          end
        end

        TIME: begin
          if (now > seen) seen <= now;
          state <= state_e'(may_be_old ? AGED : op == EXPIRE ? REPLY : LOOK);
        end
        AGED: begin
          chosen <= bucket_of(seed, hashed);
          state <= JUDGE;
        end
        JUDGE: begin
          if (!is_old) chosen <= bucket_of(seed, hashed);
          state <= state_e'(is_old ? REMOVE : op == EXPIRE ? REPLY : BUCKET);
        end

        BUCKET: state <= LOOK;
        LOOK: begin
          if (op == KEEP || op == LOAD) state <= state_e'(is_full ? REPLY : APPEND);
          else state <= state_e'(bucket.some ? COMPARE : REPLY);
        end
        COMPARE: state <= WALK;
        WALK: state <= state_e'(is_the_one ? REMOVE : is_last ? REPLY : COMPARE);

        REMOVE: begin
          if (node == oldest) oldest <= younger;
          if (node == newest) newest <= older;
          kept <= kept - 1'b1;
          if (op == TAKE && !sweeping) current <= node;
          state <= FREE;
        end
        FREE: begin
          free <= node;
          chosen <= bucket_of(seed, hashed);
          state <= state_e'(sweeping ? TIME : op == DROP ? BUCKET : REPLY);
        end

        APPEND: begin
          if (kept == '0) oldest <= node;
          newest <= node;
          kept <= kept + 1'b1;
          if (has_free) free <= younger;
          else fresh <= fresh + 1'b1;
          if (op == KEEP) current <= node;
          state <= REPLY;
        end

        PICK: state <= REPLY;

        BODY: state <= state_e'(beats == '0 ? REPLY : op == STORE ? COPY : READ);
        READ: if (left == WordBits'(1)) state <= ARRIVE;
        ARRIVE: if (arrives_last) state <= REPLY;
        WRITE: if (left == WordBits'(1)) state <= REPLY;
        COPY: if (left == WordBits'(1)) state <= COPIED;
        COPIED: state <= REPLY;

        REPLY: begin
          state <= IDLE;
          ctl_done_o <= from_control;
          reply_valid_o <= !from_control;
          if (op == CHANGE) begin
            if (ctl_address_i[1:0] == 2'd0) seed <= ctl_data_i[SeedBits-1:0];
            if (ctl_address_i[1:0] == 2'd1) seen <= ctl_data_i[63:0];
            emptied <= !ctl_address_i[0];
          end
          unique case (op)
            SHOW: ctl_data_o <= CtlBits'({younger, packet});
            TELL: ctl_data_o <= CtlBits'({seen, 32'(kept), 32'(oldest)});
            PEEK: ctl_data_o <= CtlBits'(arrived[Arrived-1]);
            default: ;
          endcase
        end

        default: state <= CLEAR;
      endcase
    end
  end

  // The operation's data.
  always_ff @(posedge clk_i) begin
    unique case (state)
      IDLE: begin
        op <= asked;
        tag <= request_tag_i;
        key <= wanted;
        data <= take ? request.data : {ctl_data_i[63:0], 64'd0};
        count <= request.count;
        now <= request.now;
        expired <= '0;
        {sweeping, found} <= '0;
      end

      TIME: begin
        node <= oldest;
        has_previous <= 1'b0;
      end
      AGED: passed <= seen - packet.since;
      JUDGE: begin
        sweeping <= is_old;
        if (is_old && !is_aged) expired <= expired + 1'b1;
      end

      LOOK: begin
        has_previous <= 1'b0;
        if (op == KEEP || op == LOAD) node <= has_free ? free : fresh[IndexBits-1:0];
        else node <= bucket.head;
      end
      COMPARE: is_the_one <= packet.key == key;
      WALK: begin
        found <= is_the_one;
        if (!is_the_one) begin
          node <= next;
          previous <= node;
          has_previous <= 1'b1;
        end
      end
      FREE: sweeping <= 1'b0;
      APPEND: found <= 1'b1;

      WRITE: data <= data << 64;

      REPLY: begin
        reply_tag_o <= tag;
        unique case (op)
          KEEP: reply_data_o <= 128'(found);
          TAKE: reply_data_o <= found ? 128'({1'b1, packet.meta}) : '0;
          EXPIRE: reply_data_o <= 128'(expired);
          GET: reply_data_o <= {arrived[Arrived-2], arrived[Arrived-1]};
          default: reply_data_o <= '0;
        endcase
      end

      default: ;
    endcase
  end

  // The words that the operation moves.
  always_ff @(posedge clk_i) begin
    unique case (state)
      IDLE: begin
        address <= take ? address_of(current, WordBits'({request.count[3:0], 1'b0}))
            : ctl_address_i[AddressBits-1:0];
        left <= WordBits'(take ? 2 : 1);
        lane <= '0;
        place <= request.place;
      end
      BODY: begin
        address <= address_of(current, WordBits'(WindowWords));
        left <= WordBits'(beats << (ByteBits - 3));
      end
      default: begin
        if (state == READ || state == WRITE || copies) address <= address + 1'b1;
        if (state == READ || state == WRITE || state == COPY) left <= left - 1'b1;
        if (state == COPY || arrives) lane <= lane_ends ? '0 : lane + 1'b1;
        if (access_read_o || (arrives && lane_ends)) place <= place + 1'b1;
      end
    endcase

    copied_lane <= lane;
    write_address_o <= address;
    write_data_o <= DataBits'(copies ? access_data_i[64*copied_lane+:64] : data[127:64]);
    access_write_address_o <= place;
    if (arrives) arrived <= {read_data_i[63:0], arrived[Arrived-1:1]};
  end

  logic unused;
  assign unused = &{1'b0, request_data_i, ctl_data_i, ctl_address_i, read_data_i, data, arrived,
      beats};

`ifdef FORMAL
  logic was_read;
  always_ff @(posedge clk_i) begin
    was_read <= access_read_o;
    if (!rst_i) begin
      Room_A : assert (kept <= fresh && fresh <= CountBits'(Size));
      // The oldest packet is the first of its bucket, and no bucket with a packet is empty.
      First_A : assert (state != REMOVE || bucket.some);
      Oldest_A : assert (state != REMOVE || !sweeping || node == bucket.head);
      // Words are moved only within the current slot's window or body.
      Slot_A : assert (!((read_valid_o || write_valid_o) && op < SHOW)
          || address_of(current, '0) == ((read_valid_o ? read_address_o : write_address_o)
          & ~AddressBits'((1 << WordBits) - 1)));
      // Each word of the body buffer is written while its beat is there.
      Beat_A : assert (!copies || was_read == (copied_lane == '0));
      // A request has a valid operation. An access of the control plane stays until it is done.
      Operation_M : assume (!take || request.op != 3'(NONE));
      CtlHeld_M : assume (state == IDLE || state == CLEAR || !from_control || ctl_valid_i);
    end
  end
`endif
endmodule
