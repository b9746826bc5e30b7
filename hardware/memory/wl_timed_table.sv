`include "wl_reset.svh"

// Table of keys whose times end at ticks, as a service: the `timer` kind, and the `exact` kind with
// a `tick` (docs/offloads.md), in block RAM.
//
//   head of the key's chain --> entry --> next entry ...
//                           --> found, or end of the chain --> change --> reply
//
// Keys are in chains as in `wl_exact_table`, with the same hash and seed. An entry has the time at
// which it was touched last and a duration. Ticks are the multiples of Tick. A duration ends at the
// first tick that is not before its end and that is later than its beginning; with a duration of
// zero taken as one, that is the first tick from `touched + duration` on. So the time of an entry
// is over if that sum is at most the latest tick. The latest tick changes seldom: it is found by
// dividing the time by Tick, bit by bit, when an operation comes after the next tick.
//
// Contract
//   Data: one operation after the other, each as its kind defines it; those of packets in the order
//   in which they are taken. The control plane inserts static entries, removes entries and reads
//   them by number, and finds the entries whose times are over, each in one operation among the
//   others; to restore a state, it also sets the table's time and inserts entries that are not
//   static.
//   Time: the latest time of the calls that changed something.
//   End of an entry: if a step claims entries (Claimed), an entry stays until it is claimed or
//   removed. Otherwise no operation finds an entry whose time is over; it keeps its place until its
//   key is inserted again or the place is needed.
//   Latency: 6 cycles for a key at the head of its chain, and 2 more for each entry before it. For
//   the first operation after a tick and for `left`, 66 more. If a key is inserted into a table in
//   which no place is free, and for `expire`, 3 for each entry that was ever used, and for each
//   entry that is removed, 6 and those of its chain; for an insertion at most once in a tick.
//   Throughput: one operation at a time.
//   After a reset the table is empty; Chains cycles pass before the first operation. The same holds
//   after the control plane has emptied the table or set the seed. The seed after a reset is that
//   of `wl_exact_table`.
// Timing: between two registers there are at most the addition of two times, or the comparison of
// two times and an entry's value.
//
// Request: {method, if there are several; arguments, zero-extended on the left; the time, 64 bits}.
// Methods have the numbers of the `exact` kind, and 16 more than those of the `timer` kind.
// Control, by bits 31 and 30 of the address:
//   0    a write inserts {0, key, value} as a static entry or removes {1, key, any}. A read returns
//        {1, live, static, key, value} of the entry whose number the address is; past the last
//        entry that was ever used all bits are zero.
//   1    a write empties the table and sets the seed, KeyBits + log2(Chains) - 1 bits. A read looks
//        for an entry whose time is over at the time `due`: if address bit 0 is zero from the first
//        entry on, or else after the entry that the last such read found. It returns {1, key}, with
//        the 1 at bit max(KeyBits, 64); or else the first `touched + duration` of all entries
//        from the first on that are not over, 64 bits, all ones if there is none.
//   2    a write inserts {0, key, value} as an entry that packets touched at the table's time, with
//        the duration `kept`. A read returns {duration, time of the last touch}, 64 bits each, of
//        the entry whose number the address is.
//   3    a write sets, by address bits 1 and 0: 0 the table's time, 1 `due`, 2 `kept`. With 3 it
//        empties the table. A read returns the table's time.
//
// Parameters
//   KeyBits, ValueBits   bits of a key and of a value; timers have values of one bit, a zero
//   Size                 entries
//   MethodCount          methods that are called
//   Methods              their numbers, 5 bits each, method 0 lowest
//   ArgumentBits         bits of the longest arguments
//   ReplyBits            bits of the longest reply
//   Tick                 nanoseconds from one tick to the next
//   Age                  duration of a new entry in nanoseconds; 0: it does not end
//   Claimed              a step claims the entries whose times are over
//   Cuts                 where the fields of a value begin (`wl_field_add`)
//   TagBits              bits of the tag that a reply repeats
//   CtlBits, CtlTarget   those of the control bus
//   Chains               chains; a power of two
module wl_timed_table #(
    parameter int unsigned KeyBits = 32,
    parameter int unsigned ValueBits = 32,
    parameter int unsigned Size = 1024,
    parameter int unsigned MethodCount = 1,
    parameter logic [5*MethodCount-1:0] Methods = '0,
    parameter int unsigned ArgumentBits = KeyBits,
    parameter int unsigned ReplyBits = 1 + ValueBits,
    parameter logic [63:0] Tick = 64'd1000000,
    parameter logic [63:0] Age = 64'd0,
    parameter bit Claimed = 1'b0,
    parameter logic [ValueBits-1:0] Cuts = '0,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 128 + KeyBits + ValueBits,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Chains = 2 ** $clog2(Size),
    localparam int unsigned SelectBits = MethodCount > 1 ? wl_pkg::bits(MethodCount) : 0,
    localparam int unsigned RequestBits = SelectBits + ArgumentBits + 64
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic                 reply_valid_o,
    output logic [  TagBits-1:0] reply_tag_o,
    output logic [ReplyBits-1:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // zero unless a read is done
);
  localparam int unsigned FoundBit = KeyBits > 64 ? KeyBits : 64;

  if (KeyBits < 1 || ValueBits < 1 || Size < 1) begin : g_illegal
    $fatal(1, "wl_timed_table: KeyBits, ValueBits and Size must be at least one");
  end
  if (CtlBits < 3 + KeyBits + ValueBits || CtlBits < FoundBit + 1 || CtlBits < 128) begin : g_ctl
    $fatal(1, "wl_timed_table: CtlBits hold an entry, a key that was found, and two times");
  end
  if (MethodCount < 1 || MethodCount > 11) begin : g_illegal_methods
    $fatal(1, "wl_timed_table: there must be one to eleven methods");
  end
  if (ReplyBits < 1 || Chains < 2 || 2 ** $clog2(Chains) != Chains) begin : g_illegal_chains
    $fatal(1,
        "wl_timed_table: a reply has a bit at least, and Chains is a power of two, at least 2");
  end
  if (CtlBits < KeyBits + $clog2(Chains) - 1) begin : g_illegal_seed
    $fatal(1, "wl_timed_table: CtlBits hold a seed, KeyBits + log2(Chains) - 1 bits");
  end
  if (Tick == 0) begin : g_illegal_tick
    $fatal(1, "wl_timed_table: Tick must be at least one nanosecond");
  end

  localparam int unsigned IndexBits = wl_pkg::bits(Size);
  localparam int unsigned CountBits = wl_pkg::bits(Size + 1);
  localparam int unsigned ChainBits = wl_pkg::bits(Chains);
  localparam int unsigned SeedBits = KeyBits + ChainBits - 1;
  localparam logic [63:0] Never = '1;
  localparam logic [63:0] Duration = Age == 0 ? Never : Age;

  // The kind of an operation: a method, or an access of the control plane.
  typedef enum logic [4:0] {
    LOOKUP = 5'd0,
    TOUCH = 5'd1,
    INSERT = 5'd2,
    UPDATE = 5'd3,
    ACCUMULATE = 5'd4,
    REMOVE = 5'd5,
    AGE = 5'd6,
    EXPIRE = 5'd7,
    COMPARE_SWAP = 5'd8,
    KEEP = 5'd9,
    CLAIM = 5'd10,
    SET = 5'd16,
    CANCEL = 5'd17,
    LEFT = 5'd18,
    END = 5'd19,
    LOAD = 5'd24,
    UNLOAD = 5'd25,
    RESTORE = 5'd26,
    SHOW = 5'd27,
    FIND = 5'd28
  } method_e;

  // Whether a method is called.
  function automatic bit has(method_e method);
    has = 1'b0;
    for (int unsigned k = 0; k < MethodCount; k++) has |= Methods[5*k+:5] == method;
  endfunction
  localparam bit Swaps = has(COMPARE_SWAP);
  // Whether entries have durations of their own.
  localparam bit Keeps = has(KEEP) || has(SET);
  localparam bit Divides = has(LEFT);

  typedef enum logic [4:0] {
    CLEAR,    // the chains are emptied
    IDLE,     // an operation is accepted
    HEAD,     // the head of the key's chain is read
    FIRST,    // the first entry is read
    COMPARE,  // the entry's key is compared
    WALK,     // on a match the entry is changed; otherwise the next one is read
    MISS,     // no entry matches: a free one is read
    PUT,      // the free entry gets the key
    FREE,     // a removed entry returns to the free list
    DIVIDE,   // the remainder of a time is found, a bit a cycle
    TICKED,   // the latest tick is known
    ROUND,    // the end of an entry's time is rounded up
    UNTIL,    // the time that is left is found
    SCAN,     // an entry is read by its number
    SCANNED,  // its end is computed
    TEST,     // it is tested
    SHOWN,    // an access of the control plane is done
    REPLY
  } state_e;

  // A link to an entry, or a null link.
  typedef struct packed {
    logic some;
    logic [IndexBits-1:0] index;
  } link_t;

  // The exclusive OR of the key's digits of ChainBits bits, each with its bits reversed.
  function automatic logic [SeedBits-1:0] digits();
    logic [SeedBits-1:0] made;
    for (int unsigned k = 0; k < SeedBits; k++) made[k] = k % ChainBits == ChainBits - 1;
    return made;
  endfunction
  localparam logic [SeedBits-1:0] FirstSeed = digits();

  function automatic logic [ChainBits-1:0] chain_of(logic [SeedBits-1:0] seed,
      logic [KeyBits-1:0] key);
    logic [ChainBits-1:0] chain;
    for (int unsigned i = 0; i < ChainBits; i++) chain[i] = ^(key & seed[i+:KeyBits]);
    return chain;
  endfunction

  state_e state;
  method_e method;
  logic from_control;
  logic sweeping;    // an entry is removed to make room, or since it is old
  logic counts;      // the removed entry counts as expired
  logic swept;       // no entry is over that was touched before the tick `swept_tick`
  logic [SeedBits-1:0] seed;
  logic emptied;     // the table will be emptied
  logic [TagBits-1:0] tag;
  logic [KeyBits-1:0] key, wanted;
  logic [ValueBits-1:0] value;
  logic [63:0] nanoseconds;  // the duration of a call
  logic [63:0] older_than;
  logic [63:0] now, seen, at;  // the call's time; the table's; the later of both
  logic [63:0] tick, swept_tick;  // the latest tick
  logic [64:0] gap;            // from that tick to `at`
  logic [63:0] due, kept;
  logic [ChainBits-1:0] chain;
  logic [IndexBits-1:0] node, victim;
  link_t previous, first, free;
  logic [CountBits-1:0] used, fresh;  // entries in the table; entries that were ever used
  logic [CountBits-1:0] number;       // the entry that is scanned
  logic [CountBits-1:0] cursor;       // the entry after the last one that the control plane found
  logic [63:0] soonest;               // the first end of the scanned entries that are not over
  logic [31:0] expired;
  logic [ValueBits-1:0] expected;
  logic is_the_one, is_expected, found, existed, stored;

  // ---- Memories ----

  logic [IndexBits-1:0] read_node;
  logic read_entry, read_head;

  logic head_write, next_write;
  logic [ChainBits-1:0] head_address;
  logic [IndexBits-1:0] next_address;
  link_t head_data, head, next_data, next;
  wl_ram_block #(
      .Width($bits(link_t)),
      .Depth(Chains)
  ) i_heads (
      .clk_i,
      .write_i(head_write),
      .write_address_i(head_address),
      .write_data_i(head_data),
      .read_i(read_head),
      .read_address_i(chain),
      .read_data_o(head)
  );
  wl_ram_block #(
      .Width($bits(link_t)),
      .Depth(Size)
  ) i_next (
      .clk_i,
      .write_i(next_write),
      .write_address_i(next_address),
      .write_data_i(next_data),
      .read_i(read_entry),
      .read_address_i(read_node),
      .read_data_o(next)
  );

  logic key_write, value_write;
  logic [KeyBits-1:0] entry_key;
  logic [ValueBits-1:0] value_data, entry_value, sum;
  wl_ram_block #(
      .Width(KeyBits),
      .Depth(Size)
  ) i_keys (
      .clk_i,
      .write_i(key_write),
      .write_address_i(node),
      .write_data_i(key),
      .read_i(read_entry),
      .read_address_i(read_node),
      .read_data_o(entry_key)
  );
  wl_ram_block #(
      .Width(ValueBits),
      .Depth(Size)
  ) i_values (
      .clk_i,
      .write_i(value_write),
      .write_address_i(node),
      .write_data_i(value_data),
      .read_i(read_entry),
      .read_address_i(read_node),
      .read_data_o(entry_value)
  );
  wl_field_add #(
      .Width(ValueBits),
      .Cuts (Cuts)
  ) i_sum (
      .a_i  (entry_value),
      .b_i  (value),
      .sum_o(sum)
  );

  // Whether an entry is in the table, and whether it is static.
  typedef struct packed {
    logic there;
    logic is_static;
  } kind_t;
  logic kind_write;
  kind_t kind_data, entry_kind;
  wl_ram_block #(
      .Width($bits(kind_t)),
      .Depth(Size)
  ) i_kinds (
      .clk_i,
      .write_i(kind_write),
      .write_address_i(node),
      .write_data_i(kind_data),
      .read_i(read_entry),
      .read_address_i(read_node),
      .read_data_o(entry_kind)
  );

  logic touched_write, duration_write;
  logic [63:0] touched, duration, duration_data;
  wl_ram_block #(
      .Width(64),
      .Depth(Size)
  ) i_touched (
      .clk_i,
      .write_i(touched_write),
      .write_address_i(node),
      .write_data_i(seen),
      .read_i(read_entry),
      .read_address_i(read_node),
      .read_data_o(touched)
  );
  if (Keeps) begin : g_durations
    wl_ram_block #(
        .Width(64),
        .Depth(Size)
    ) i_durations (
        .clk_i,
        .write_i(duration_write),
        .write_address_i(node),
        .write_data_i(duration_data),
        .read_i(read_entry),
        .read_address_i(read_node),
        .read_data_o(duration)
    );
  end else begin : g_one_duration
    assign duration = Duration;
    logic unused;
    assign unused = &{duration_write, duration_data, nanoseconds, kept};
  end

  // ---- Requests and control accesses ----

  typedef struct packed {
    logic [wl_pkg::bits(MethodCount)-1:0] select;
    logic [ArgumentBits-1:0] arguments;
    logic [63:0] at;
  } request_t;
  request_t request;
  assign request = $bits(request_t)'(request_data_i);

  // The arguments of the methods: a key and a value, a key with an expected and a new value, a key
  // and a duration, only a key, or an age.
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [ValueBits-1:0] value;
  } pair_t;
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [ValueBits-1:0] expected;
    logic [ValueBits-1:0] value;
  } swap_t;
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [63:0] nanoseconds;
  } span_t;
  pair_t both;
  swap_t swap;
  span_t span;
  logic [KeyBits-1:0] only_key;
  logic [63:0] only_time;
  assign both = $bits(pair_t)'(request.arguments);
  assign swap = $bits(swap_t)'(request.arguments);
  assign span = $bits(span_t)'(request.arguments);
  assign only_key = KeyBits'(request.arguments);
  assign only_time = 64'(request.arguments);

  // What the control plane writes to an entry, and reads of it.
  typedef struct packed {
    logic removes;
    pair_t pair;
  } change_t;
  typedef struct packed {
    logic used;
    logic live;
    logic is_static;
    pair_t pair;
  } shown_t;
  change_t change;
  shown_t shown;
  assign change = ctl_data_i[$bits(change_t)-1:0];
  assign shown.used = 1'b1;
  assign shown.live = found;
  assign shown.is_static = entry_kind.is_static;
  assign shown.pair.key = entry_key;
  assign shown.pair.value = entry_value;

  // The accesses of the control plane, by their addresses.
  logic of_entry, of_seed, of_time;
  logic [1:0] of_what;
  assign of_entry = !ctl_address_i[30];
  assign of_seed = ctl_address_i[31:30] == 2'd1;
  assign of_time = ctl_address_i[31:30] == 2'd3;
  assign of_what = ctl_address_i[1:0];
  logic is_used;
  assign is_used = 32'(ctl_address_i[29:0]) < 32'(fresh);

  logic is_control, take;
  method_e asked;
  assign is_control = ctl_valid_i && ctl_target_i == CtlTarget && !ctl_done_o && !emptied;
  assign take = request_valid_i && request_ready_o;
  always_comb begin
    asked = method_e'(Methods[4:0]);
    for (int unsigned k = 1; k < MethodCount; k++) begin
      if (32'(request.select) == k) asked = method_e'(Methods[5*k+:5]);
    end
  end

  // The control plane gets every second operation if it requests one.
  logic control_turn;
  assign request_ready_o = state == IDLE && !(is_control && control_turn) && !emptied;

  // ---- Times ----

  // A call that changes something advances the table's time.
  logic advances;
  assign advances = !from_control && method != LOOKUP && method != AGE && method != LEFT;

  // The entry's time is over at the latest tick, or at the time that the control plane asks for.
  logic [64:0] ends;
  logic [63:0] passed, limit;  // since the last touch
  logic is_over, is_live, is_old;
  assign limit = method == FIND ? due : tick;
  assign is_over = entry_kind.there && !entry_kind.is_static && !ends[64] && ends[63:0] != Never
      && ends[63:0] <= limit;
  assign is_live = Claimed || !is_over;
  assign is_old = method == EXPIRE && entry_kind.there && !entry_kind.is_static
      && passed > older_than;

  // The latest tick is another one.
  logic has_ticked;
  assign has_ticked = !sweeping && (gap[64] || gap[63:0] >= Tick);

  // The division: a bit of the dividend joins the remainder in each cycle.
  logic [63:0] dividend, remainder;
  logic [64:0] longer;
  logic [6:0] bits_left;
  logic rounds;  // an entry's end is divided, not the time
  assign longer = {remainder, dividend[63]};

  logic [64:0] until_ns;
  logic [63:0] left;

  // ---- One operation after the other ----

  logic hit, takes_out, touches, revives, makes, is_full, makes_room;
  assign hit = state == WALK && is_the_one;
  assign takes_out = hit && (sweeping || method == UNLOAD
      || (is_live && (method == REMOVE || method == CANCEL))
      || (Claimed && is_over && (method == CLAIM || method == END)));
  // The entry's key is inserted, and its time is over.
  assign makes = method == INSERT || method == ACCUMULATE || method == SET || method == LOAD
      || method == RESTORE;
  assign revives = hit && !sweeping && makes && !is_live;
  assign touches = hit && !sweeping && is_live && !entry_kind.is_static
      && (method == TOUCH || method == INSERT || method == UPDATE || method == ACCUMULATE
      || method == COMPARE_SWAP || method == KEEP || method == SET || method == RESTORE);
  assign is_full = used == CountBits'(Size);
  // Entries whose times are over give room to others.
  assign makes_room = makes && is_full && !Claimed && !(swept && swept_tick == tick);

  always_comb begin
    read_head = state == HEAD;
    read_entry = 1'b0;
    read_node = node;
    unique case (state)
      FIRST: begin
        read_entry = 1'b1;
        read_node = method == SHOW ? ctl_address_i[IndexBits-1:0] : head.index;
      end
      WALK: begin
        read_entry = !is_the_one && method != SHOW;
        read_node = next.index;
      end
      MISS: begin
        read_entry = 1'b1;
        read_node = free.index;
      end
      SCAN: begin
        read_entry = 1'b1;
        read_node = number[IndexBits-1:0];
      end
      default: ;
    endcase

    head_write = state == CLEAR || state == PUT || (takes_out && !previous.some);
    head_address = chain;
    head_data = state == CLEAR ? '0 : state == PUT ? {1'b1, node} : next;

    next_write = state == PUT || state == FREE || (takes_out && previous.some);
    next_address = takes_out ? previous.index : node;
    next_data = state == PUT ? first : state == FREE ? free : next;

    key_write = state == PUT;
    value_write = state == PUT || revives || (hit && !sweeping && is_live && (method == UPDATE
        || method == ACCUMULATE || method == LOAD || method == RESTORE
        || (method == COMPARE_SWAP && is_expected)));
    value_data = state == WALK && method == ACCUMULATE && is_live ? sum : value;
    kind_write = state == PUT || takes_out || revives;
    kind_data.there = !takes_out;
    kind_data.is_static = method == LOAD;

    touched_write = state == PUT || touches || revives;
    duration_write = state == PUT || revives
        || (touches && (method == KEEP || method == SET || method == RESTORE));
    duration_data = method == KEEP || method == SET ? nanoseconds
        : method == RESTORE ? kept : Duration;
  end

  // The state: where the operation is, the lists, the times, and what the control plane has set.
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= CLEAR;
      chain <= '0;
      emptied <= 1'b0;
      {used, fresh} <= '0;
      free <= '0;
      seed <= FirstSeed;
      control_turn <= 1'b1;
      {reply_valid_o, ctl_done_o} <= '0;
      ctl_data_o <= '0;
      {seen, tick, due, kept} <= '0;
      {swept, swept_tick, cursor} <= '0;
    end else begin
      reply_valid_o <= 1'b0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
      unique case (state)
        CLEAR: begin
          chain <= chain + 1'b1;
          if (chain == '1) state <= IDLE;
        end

        IDLE: begin
          if (take) control_turn <= 1'b1;
          else if (is_control) control_turn <= 1'b0;
          if (emptied) begin
            state <= CLEAR;
            chain <= '0;
            emptied <= 1'b0;
            {used, fresh} <= '0;
            free <= '0;
            swept <= 1'b0;
          end else if (take) begin
            state <= HEAD;
            chain <= chain_of(seed, wanted);
          end else if (is_control) begin
            chain <= chain_of(seed, wanted);
            if (of_entry) state <= state_e'(ctl_write_i || is_used ? HEAD : SHOWN);
            else state <= state_e'(!ctl_write_i && of_seed ? SCAN : SHOWN);
          end
        end

        HEAD: begin
          state <= FIRST;
          if (advances && now > seen) seen <= now;
        end

        FIRST: state <= state_e'(method == SHOW || (head.some && (sweeping || method != EXPIRE))
            ? COMPARE : MISS);
        COMPARE: state <= state_e'(has_ticked ? DIVIDE : WALK);

        WALK: begin
          if (method == SHOW) state <= SHOWN;
          else if (!is_the_one) state <= state_e'(next.some ? COMPARE : MISS);
          else if (takes_out) state <= FREE;
          else state <= state_e'(Divides && method == LEFT ? DIVIDE : REPLY);
        end

        MISS: begin
          if (has_ticked) state <= DIVIDE;
          else if (method == EXPIRE || makes_room) state <= SCAN;
          else state <= state_e'(makes && !is_full ? PUT : REPLY);
        end

        PUT: begin
          used <= used + 1'b1;
          if (free.some) free <= next;
          else fresh <= fresh + 1'b1;
          state <= REPLY;
        end

        FREE: begin
          free <= {1'b1, node};
          used <= used - 1'b1;
          state <= state_e'(sweeping ? SCAN : REPLY);
        end

        DIVIDE: if (bits_left == 7'd1) state <= state_e'(Divides && rounds ? ROUND : TICKED);
        TICKED: begin
          tick <= at - remainder;
          state <= HEAD;
        end
        ROUND: state <= UNTIL;
        UNTIL: state <= REPLY;

        SCAN: begin
          if (number != fresh) state <= SCANNED;
          else if (method == FIND) state <= SHOWN;
          else if (method == EXPIRE) state <= REPLY;
          else begin
            state <= HEAD;
            chain <= chain_of(seed, key);
            swept <= 1'b1;
            swept_tick <= tick;
          end
        end
        SCANNED: state <= TEST;
        TEST: begin
          chain <= chain_of(seed, entry_key);
          if (method == FIND) state <= state_e'(is_over ? SHOWN : SCAN);
          else state <= state_e'((is_over && !Claimed) || is_old ? HEAD : SCAN);
        end

        SHOWN: begin
          state <= IDLE;
          ctl_done_o <= 1'b1;
          if (ctl_write_i) begin
            if (of_seed) seed <= ctl_data_i[SeedBits-1:0];
            emptied <= of_seed || (of_time && of_what == 2'd3);
            if (of_time && of_what == 2'd0) begin
              seen <= ctl_data_i[63:0];
              swept <= 1'b0;
            end
            if (of_time && of_what == 2'd1) due <= ctl_data_i[63:0];
            if (of_time && of_what == 2'd2) kept <= ctl_data_i[63:0];
          end else if (of_time) ctl_data_o <= CtlBits'(seen);
          else if (of_seed) begin
            cursor <= number;
            ctl_data_o <= found ? CtlBits'({1'b1, FoundBit'(entry_key)}) : CtlBits'(soonest);
          end else if (is_used) begin
            ctl_data_o <= ctl_address_i[31] ? CtlBits'({duration, touched}) : CtlBits'(shown);
          end
        end

        REPLY: begin
          state <= IDLE;
          ctl_done_o <= from_control;
          reply_valid_o <= !from_control;
        end

        default: state <= CLEAR;
      endcase
    end
  end

  // The operation's data.
  always_ff @(posedge clk_i) begin
    unique case (state)
      IDLE: begin
        from_control <= !take;
        tag <= request_tag_i;
        {found, existed, stored, sweeping, expired} <= '0;
        previous <= '0;
        rounds <= 1'b0;
        if (take) begin
          method <= asked;
          key <= wanted;
          value <= asked == SET ? ValueBits'(0) : both.value;
          if (Swaps) expected <= swap.expected;
          nanoseconds <= span.nanoseconds;
          older_than <= only_time;
          now <= request.at;
          number <= '0;
        end else if (is_control) begin
          method <= method_e'(!ctl_write_i ? (of_seed ? FIND : SHOW)
              : change.removes ? UNLOAD : ctl_address_i[31] ? RESTORE : LOAD);
          key <= change.pair.key;
          value <= change.pair.value;
          now <= '0;
          number <= '0;
          if (of_seed && !ctl_write_i) begin
            if (ctl_address_i[0]) number <= cursor;
            else soonest <= Never;
          end
        end
      end

      HEAD: at <= now < seen ? seen : now;

      FIRST: begin
        first <= head;
        node <= head.index;
        gap <= {1'b0, at} - {1'b0, tick};
        {dividend, remainder} <= {at, 64'd0};
        bits_left <= 7'd64;
        previous <= '0;
      end

      COMPARE: begin
        is_the_one <= sweeping ? node == victim : entry_key == key;
        is_expected <= Swaps && entry_value == expected;
        ends <= {1'b0, touched} + {1'b0, duration[63:1], duration[0] || duration == 0};
        passed <= at - touched;
      end

      WALK: begin
        if (!is_the_one) begin
          if (method != SHOW) begin
            previous <= {1'b1, node};
            node <= next.index;
          end
        end
        if (method == SHOW) found <= entry_kind.there && is_live;
        else if (is_the_one && takes_out) found <= 1'b1;
        else if (is_the_one) begin
          found <= is_live && method != CLAIM && method != END;
          existed <= is_live;
          stored <= 1'b1;
        end
        if (!sweeping && is_the_one && is_live) begin
          if (method == ACCUMULATE) value <= sum;
          else if (method != UPDATE && method != LOAD && method != RESTORE) value <= entry_value;
        end
        if (Divides) begin
          {dividend, remainder} <= {ends[63:0], 64'd0};
          bits_left <= 7'd64;
          rounds <= 1'b1;
        end
      end

      MISS: node <= free.some ? free.index : fresh[IndexBits-1:0];
      PUT: stored <= 1'b1;
      FREE: begin
        if (sweeping) begin
          expired <= expired + 32'(counts);
          found <= 1'b0;
        end
        sweeping <= 1'b0;
      end

      DIVIDE: begin
        remainder <= longer >= {1'b0, Tick} ? 64'(longer - {1'b0, Tick}) : longer[63:0];
        dividend <= dividend << 1;
        bits_left <= bits_left - 1'b1;
      end
      ROUND: until_ns <= ends + (remainder == 0 ? 65'd0 : {1'b0, Tick - remainder});
      UNTIL: begin
        // What lies beyond time never ends.
        if (ends[64] || until_ns[64] || ends[63:0] == Never) left <= Never - at;
        else left <= until_ns[63:0] > at ? until_ns[63:0] - at : '0;
      end

      SCANNED: begin
        ends <= {1'b0, touched} + {1'b0, duration[63:1], duration[0] || duration == 0};
        passed <= at - touched;
        number <= number + 1'b1;
        victim <= number[IndexBits-1:0];
      end
      TEST: begin
        if (method == FIND) begin
          found <= is_over;
          if (entry_kind.there && !entry_kind.is_static && !is_over && !ends[64]
              && ends[63:0] < soonest) begin
            soonest <= ends[63:0];
          end
        end else begin
          sweeping <= (is_over && !Claimed) || is_old;
          counts <= !(is_over && !Claimed);
        end
      end

      REPLY: begin
        reply_tag_o <= tag;
        unique case (method)
          INSERT, ACCUMULATE: begin
            reply_data_o <= ReplyBits'({stored, existed, stored ? value : ValueBits'(0)});
          end
          SET: reply_data_o <= ReplyBits'(stored);
          UPDATE, KEEP, CANCEL, END: reply_data_o <= ReplyBits'(found);
          AGE: begin
            reply_data_o <= ReplyBits'({found, found && !entry_kind.is_static ? passed : 64'd0});
          end
          LEFT: reply_data_o <= ReplyBits'({found, found ? left : 64'd0});
          EXPIRE: reply_data_o <= ReplyBits'(expired);
          COMPARE_SWAP: begin
            reply_data_o <= ReplyBits'({found, found && is_expected,
                found ? value : ValueBits'(0)});
          end
          default: reply_data_o <= ReplyBits'({found, found ? value : ValueBits'(0)});
        endcase
      end

      default: ;
    endcase
  end

  // The key of the operation, valid already in the cycle in which the operation arrives.
  always_comb begin
    if (!take) wanted = change.pair.key;
    else begin
      unique case (asked)
        INSERT, UPDATE, ACCUMULATE: wanted = both.key;
        COMPARE_SWAP: wanted = swap.key;
        KEEP, SET: wanted = span.key;
        default: wanted = only_key;
      endcase
    end
  end

  logic unused;
  assign unused = &{request, swap, both, span, only_key, only_time, ctl_address_i, ctl_data_i,
      request_data_i, expired, expected, older_than, value, left, until_ns, rounds};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Room_A : assert (used <= CountBits'(Size) && fresh <= CountBits'(Size) && used <= fresh);
      // A request always has a valid method.
      Method_M : assume (!take || 32'(request.select) < MethodCount);
    end
  end
`endif
endmodule
