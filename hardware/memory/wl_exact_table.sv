`include "wl_reset.svh"

// Table from keys to values as a service: the `exact` kind (docs/offloads.md), with ageing, in
// block RAM.
//
//   head of the key's chain --> entry --> next entry ...
//                           --> found, or end of the chain --> change --> reply
//
// Each key hashes to a chain of entries. The hash is linear, with a seed that the control plane
// sets: bit i of the chain is the exclusive OR of the key's bits k for which bit i + k of the seed
// is one. For a random seed two keys share a chain with probability 1 / Chains, whatever the keys:
// who does not know the seed cannot choose keys that make long chains. Entries that age form a list
// in the order in which they were touched, which is the order in which they expire. A key therefore
// always finds a place while the table holds fewer than Size entries, whatever the keys.
//
// Contract
//   Data: one operation after the other, each as `exact` defines it; those of packets in the order
//   in which they are taken. The control plane inserts static entries, removes entries and reads
//   them by number, each in one operation among the others; to restore a state, it also sets the
//   table's time and inserts entries that age from that time on.
//   Time: the latest time of the calls that changed something. The next call that changes something
//   removes expired entries.
//   Latency: 6 cycles for a key at the head of its chain, 2 more for each entry before it, and 3
//   more if the entry is touched or created; for each entry that has expired, 3 cycles and those of
//   its chain.
//   Throughput: one operation at a time.
//   After a reset the table is empty; Chains cycles pass before the first operation. The same holds
//   after the control plane has set the seed. The seed after a reset is always the same: the chain
//   is then the exclusive OR of the key's digits, so that consecutive keys do not collide.
// Timing: between two registers there are at most an entry's value and a field addition, or the
// comparison of two times.
//
// Request: {method, if there are several; arguments, zero-extended on the left; the time, 64 bits,
// if HasTime}.
// Control, by bits 31 and 30 of the address; the bits below are the number of an entry in a read,
// and any in a write:
//   0    a write inserts {0, key, value} as a static entry or removes {1, key, any}. A read returns
//        {1, live, static, key, value}; past the last entry that was ever used all bits are zero.
//   1    a write empties the table and sets the seed, KeyBits + log2(Chains) - 1 bits.
//   2    a write inserts {0, key, value} as an entry that packets touched at the table's time. A
//        read returns the time at which the entry was touched, 64 bits (zero without HasTime).
//   3    a write sets the table's time, and a read returns it (zero without HasTime).
//
// Parameters
//   KeyBits, ValueBits   bits of a key and of a value
//   Size                 entries
//   MethodCount          methods that are called
//   Methods              their numbers in the kind, 4 bits each, method 0 lowest
//   ArgumentBits         bits of the longest arguments
//   ReplyBits            bits of the longest reply
//   HasTime              requests carry the time: entries age, or their age is read
//   Age                  nanoseconds after which an untouched entry expires; 0: never
//   Cuts                 where the fields of a value begin (`wl_field_add`)
//   TagBits              bits of the tag that a reply repeats
//   CtlBits, CtlTarget   those of the control bus; the data hold an entry, a seed and, if HasTime,
//                        a time
//   Chains               chains; a power of two
module wl_exact_table #(
    parameter int unsigned KeyBits = 32,
    parameter int unsigned ValueBits = 32,
    parameter int unsigned Size = 1024,
    parameter int unsigned MethodCount = 1,
    parameter logic [4*MethodCount-1:0] Methods = '0,
    parameter int unsigned ArgumentBits = KeyBits,
    parameter int unsigned ReplyBits = 1 + ValueBits,
    parameter bit HasTime = 1'b0,
    parameter logic [63:0] Age = 64'd0,
    parameter logic [ValueBits-1:0] Cuts = '0,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 3 + KeyBits + ValueBits,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Chains = 2 ** $clog2(Size),
    localparam int unsigned SelectBits = MethodCount > 1 ? wl_pkg::bits(MethodCount) : 0,
    localparam int unsigned RequestBits = SelectBits + ArgumentBits + (HasTime ? 64 : 0)
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
  if (KeyBits < 1 || ValueBits < 1 || Size < 1
      || CtlBits < 3 + KeyBits + ValueBits) begin : g_illegal
    $fatal(1,
        "wl_exact_table: KeyBits, ValueBits and Size must be at least one, CtlBits hold an entry");
  end
  if (MethodCount < 1 || MethodCount > 9) begin : g_illegal_methods
    $fatal(1, "wl_exact_table: there must be one to nine methods");
  end
  if (ReplyBits < 1 || Chains < 2 || 2 ** $clog2(Chains) != Chains) begin : g_illegal_chains
    $fatal(1,
        "wl_exact_table: a reply has a bit at least, and Chains is a power of two, at least 2");
  end
  if (CtlBits < KeyBits + $clog2(Chains) - 1) begin : g_illegal_seed
    $fatal(1, "wl_exact_table: CtlBits hold a seed, KeyBits + log2(Chains) - 1 bits");
  end
  if (HasTime && CtlBits < 64) begin : g_illegal_time
    $fatal(1, "wl_exact_table: CtlBits hold a time, 64 bits, if requests bring it (HasTime)");
  end
  if (!HasTime && Age != 0) begin : g_illegal_age
    $fatal(1, "wl_exact_table: entries age only if requests bring the time (HasTime)");
  end

  localparam int unsigned IndexBits = wl_pkg::bits(Size);
  localparam int unsigned CountBits = wl_pkg::bits(Size + 1);
  localparam int unsigned ChainBits = wl_pkg::bits(Chains);
  localparam int unsigned SeedBits = KeyBits + ChainBits - 1;

  // The kind of an operation: a method of the kind, or an access of the control plane.
  typedef enum logic [3:0] {
    LOOKUP = 4'd0,
    TOUCH = 4'd1,
    INSERT = 4'd2,
    UPDATE = 4'd3,
    ACCUMULATE = 4'd4,
    REMOVE = 4'd5,
    AGE = 4'd6,
    EXPIRE = 4'd7,
    COMPARE_SWAP = 4'd8,
    LOAD = 4'd9,
    UNLOAD = 4'd10,
    SHOW = 4'd11
  } method_e;

  // Whether `COMPARE_SWAP` is among the methods.
  function automatic bit swaps();
    swaps = 1'b0;
    for (int unsigned k = 0; k < MethodCount; k++) begin
      swaps |= Methods[4*k+:4] == COMPARE_SWAP;
    end
  endfunction
  localparam bit Swaps = swaps();

  typedef enum logic [3:0] {
    CLEAR,    // the chains are emptied
    IDLE,     // an operation is accepted
    OLDEST,   // the oldest entry is read
    EXPIRED,  // the oldest entry is tested for expiry
    HEAD,     // the head of the key's chain is read
    FIRST,    // the first entry is read
    COMPARE,  // the entry's key is compared
    WALK,     // on a match the entry is changed; otherwise the next one is read
    MISS,     // no entry matches: a free one is read
    PUT,      // the free entry gets the key
    FREE,     // a removed entry returns to the free list
    LINK,     // an entry is appended to the young end of the list
    LINKED,
    SHOWN,    // an entry was read for the control plane
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
  logic from_control, sweeping, expiring_older;
  logic [SeedBits-1:0] seed;
  logic reseeded;  // the seed has changed: the table will be emptied
  logic [TagBits-1:0] tag;
  logic [KeyBits-1:0] key, wanted;
  logic [ValueBits-1:0] value;
  logic [63:0] older_than, now, seen;  // `now`: the call's time; `seen`: the table's
  logic [ChainBits-1:0] chain;
  logic [IndexBits-1:0] node, victim;
  link_t previous, first, free, oldest, newest;
  logic [CountBits-1:0] used, fresh;  // entries in the table; entries that were ever used
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

  logic older_write, newer_write, touched_write;
  logic [IndexBits-1:0] older_address, newer_address;
  link_t older_data, newer_data, older, newer;
  logic [63:0] touched, age;
  if (HasTime) begin : g_time
    wl_ram_block #(
        .Width($bits(link_t)),
        .Depth(Size)
    ) i_older (
        .clk_i,
        .write_i(older_write),
        .write_address_i(older_address),
        .write_data_i(older_data),
        .read_i(read_entry),
        .read_address_i(read_node),
        .read_data_o(older)
    );
    wl_ram_block #(
        .Width($bits(link_t)),
        .Depth(Size)
    ) i_newer (
        .clk_i,
        .write_i(newer_write),
        .write_address_i(newer_address),
        .write_data_i(newer_data),
        .read_i(read_entry),
        .read_address_i(read_node),
        .read_data_o(newer)
    );
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
  end else begin : g_no_time
    assign {older, newer, touched} = '0;
    logic unused;
    assign unused = &{older_write, newer_write, touched_write, older_address, newer_address,
        older_data, newer_data};
  end

  // ---- Requests and control accesses ----

  // A request. Without a choice of methods it calls number 0, and without time it comes at zero.
  typedef struct packed {
    logic [wl_pkg::bits(MethodCount)-1:0] select;
    logic [ArgumentBits-1:0] arguments;
    logic [63:0] at;
  } request_t;
  request_t request;
  if (HasTime) begin : g_timed
    assign request = $bits(request_t)'(request_data_i);
  end else begin : g_timeless
    assign request = $bits(request_t)'({request_data_i, 64'd0});
  end

  // The arguments of the methods that take a key and a value.
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [ValueBits-1:0] value;
  } pair_t;

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

  logic is_control, of_time, of_seed, take;
  assign of_time = ctl_address_i[31:30] == 2'd3;
  assign of_seed = ctl_address_i[31:30] == 2'd1;
  method_e asked;
  assign is_control = ctl_valid_i && ctl_target_i == CtlTarget && !ctl_done_o && !reseeded;
  assign take = request_valid_i && request_ready_o;
  always_comb begin
    asked = method_e'(Methods[3:0]);
    for (int unsigned k = 1; k < MethodCount; k++) begin
      if (32'(request.select) == k) asked = method_e'(Methods[4*k+:4]);
    end
  end

  // A call that changes something first removes expired entries.
  logic sweeps;
  logic [63:0] control_time;
  assign sweeps = HasTime && asked != LOOKUP && asked != AGE;
  if (HasTime) begin : g_call_time
    assign control_time = ctl_data_i[63:0];
  end else begin : g_no_call_time
    assign control_time = '0;
  end

  // The control plane gets every second operation if it requests one.
  logic control_turn;
  assign request_ready_o = state == IDLE && !(is_control && control_turn) && !reseeded;

  // The arguments as the methods have them: a key and a value, only one of them, an age, or a key
  // with an expected and a new value.
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [ValueBits-1:0] expected;
    logic [ValueBits-1:0] value;
  } swap_t;
  swap_t swap;
  pair_t both;
  logic [KeyBits-1:0] only_key;
  logic [63:0] only_age;
  assign swap = $bits(swap_t)'(request.arguments);
  assign both = $bits(pair_t)'(request.arguments);
  assign only_key = KeyBits'(request.arguments);
  assign only_age = 64'(request.arguments);

  // ---- Age of an entry ----

  logic is_live, has_expired;
  logic [63:0] limit;
  assign limit = expiring_older ? older_than : Age;
  if (HasTime) begin : g_age
    logic [63:0] at;
    // Compared one cycle ahead: both are known long before an entry of the call is read.
    logic is_late;
    always_ff @(posedge clk_i) is_late <= now < seen;
    assign at = state == EXPIRED || is_late || method == SHOW ? seen : now;
    assign age = entry_kind.is_static ? '0 : at - touched;
    assign is_live = Age == 0 || age <= Age;
    assign has_expired = age > limit;
  end else begin : g_no_age
    assign age = '0;
    assign is_live = 1'b1;
    assign has_expired = 1'b0;
    logic unused;
    assign unused = &{limit, now, seen, touched};
  end

  assign shown.used = 1'b1;
  assign shown.live = entry_kind.there && is_live;
  assign shown.is_static = entry_kind.is_static;
  assign shown.pair.key = entry_key;
  assign shown.pair.value = entry_value;

  // ---- One operation after the other ----

  logic hit, takes_out, touches, makes, is_full;
  assign hit = state == WALK && is_the_one;
  assign takes_out = hit && (sweeping || method == REMOVE || method == UNLOAD);
  assign touches = method == TOUCH || method == INSERT || method == UPDATE || method == ACCUMULATE
      || method == COMPARE_SWAP;
  assign is_full = used == CountBits'(Size);
  assign makes = (method == INSERT || method == ACCUMULATE || method == LOAD) && !is_full;

  // The entry leaves the list of ageing entries.
  logic unlinks;
  assign unlinks = HasTime && hit && !entry_kind.is_static
      && (takes_out || touches || method == LOAD);

  always_comb begin
    read_head = state == HEAD;
    read_entry = 1'b0;
    read_node = node;
    unique case (state)
      IDLE: begin
        read_entry = is_control && !ctl_write_i;
        read_node = ctl_address_i[IndexBits-1:0];
      end
      OLDEST: begin
        read_entry = 1'b1;
        read_node = oldest.index;
      end
      FIRST: begin
        read_entry = 1'b1;
        read_node = head.index;
      end
      WALK: begin
        read_entry = !is_the_one;
        read_node = next.index;
      end
      MISS: begin
        read_entry = 1'b1;
        read_node = free.index;
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
    value_write = state == PUT
        || (hit && !sweeping && (method == UPDATE || method == ACCUMULATE || method == LOAD
        || (method == COMPARE_SWAP && is_expected)));
    value_data = state == WALK && method == ACCUMULATE ? sum : value;
    kind_write = state == PUT || takes_out || (hit && method == LOAD);
    kind_data.there = !takes_out;
    kind_data.is_static = method == LOAD;

    older_write = (unlinks && newer.some) || state == LINK;
    older_address = state == LINK ? node : newer.index;
    older_data = state == LINK ? newest : older;
    newer_write = (unlinks && older.some) || (state == LINK && newest.some) || state == LINKED;
    newer_address = state == LINK ? newest.index : state == LINKED ? node : older.index;
    newer_data = state == LINK ? {1'b1, node} : state == LINKED ? '0 : newer;
    touched_write = state == LINK;
  end

  logic [63:0] reply_age;
  // The state: where the operation is, the lists, and what the control plane has set.
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= CLEAR;
      chain <= '0;
      reseeded <= 1'b0;
      {used, fresh} <= '0;
      {free, oldest, newest} <= '0;
      seed <= FirstSeed;
      control_turn <= 1'b1;
      {reply_valid_o, ctl_done_o} <= '0;
      ctl_data_o <= '0;
      {seen, now} <= '0;
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
          if (reseeded) state <= CLEAR;
          if (take) begin
            now <= request.at;
            state <= state_e'(sweeps ? OLDEST : HEAD);
            // Time never decreases.
            if (sweeps && request.at > seen) seen <= request.at;
          end else if (is_control) begin
            state <= state_e'(ctl_write_i && !of_time && !of_seed ? HEAD : SHOWN);
            if (ctl_write_i && of_time) seen <= control_time;
          end
        end

        OLDEST: begin
          state <= state_e'(oldest.some && (Age != 0 || expiring_older) ? EXPIRED
              : method != EXPIRE || expiring_older ? HEAD : OLDEST);
          if (method == EXPIRE && !(oldest.some && (Age != 0 || expiring_older))
              && expiring_older) begin
            state <= REPLY;
          end
        end

        EXPIRED: begin
          state <= HEAD;
          if (!has_expired && method == EXPIRE) state <= state_e'(expiring_older ? REPLY : OLDEST);
        end

        HEAD: state <= FIRST;
        FIRST: state <= state_e'(head.some ? COMPARE : MISS);
        COMPARE: state <= WALK;

        WALK: begin
          if (!is_the_one) state <= state_e'(next.some ? COMPARE : MISS);
          else if (takes_out) state <= FREE;
          else state <= state_e'(HasTime && touches && !entry_kind.is_static ? LINK : REPLY);
          if (unlinks) begin
            if (!older.some) oldest <= newer;
            if (!newer.some) newest <= older;
          end
        end

        MISS: state <= state_e'(makes ? PUT : REPLY);

        PUT: begin
          used <= used + 1'b1;
          if (free.some) free <= next;
          else fresh <= fresh + 1'b1;
          state <= state_e'(HasTime && method != LOAD ? LINK : REPLY);
        end

        FREE: begin
          free <= {1'b1, node};
          used <= used - 1'b1;
          state <= state_e'(sweeping ? OLDEST : REPLY);
        end

        LINK: begin
          if (!newest.some) oldest <= {1'b1, node};
          newest <= {1'b1, node};
          state <= LINKED;
        end

        LINKED: state <= REPLY;

        SHOWN: begin
          state <= IDLE;
          ctl_done_o <= 1'b1;
          if (ctl_write_i && of_seed) begin
            seed <= ctl_data_i[SeedBits-1:0];
            reseeded <= 1'b1;
          end
          if (!ctl_write_i && of_time) ctl_data_o <= CtlBits'(seen);
          else if (!ctl_write_i && !of_seed && 32'(ctl_address_i[29:0]) < 32'(fresh)) begin
            ctl_data_o <= ctl_address_i[31] ? CtlBits'(touched) : CtlBits'(shown);
          end
        end

        REPLY: begin
          state <= IDLE;
          ctl_done_o <= from_control;
          reply_valid_o <= !from_control;
        end

        default: state <= CLEAR;
      endcase

      if (state == IDLE && reseeded) begin
        chain <= '0;
        reseeded <= 1'b0;
        {used, fresh} <= '0;
        {free, oldest, newest} <= '0;
      end else if (state == IDLE || state == OLDEST || (state == EXPIRED && has_expired)) begin
        // The chain of the operation's key, or of the entry that expires, one cycle before HEAD
        // reads it. If the oldest entry has not expired, it is still that of the key, from OLDEST.
        chain <= chain_of(seed, wanted);
      end
    end
  end

  // The operation's data.
  always_ff @(posedge clk_i) begin
    unique case (state)
      IDLE: begin
        from_control <= !take;
        tag <= request_tag_i;
        {found, existed, stored, sweeping, expiring_older, expired} <= '0;
        previous <= '0;
        if (take) begin
          method <= asked;
          key <= wanted;
          value <= both.value;
          if (Swaps) expected <= swap.expected;
          older_than <= only_age;
        end else if (is_control) begin
          method <= method_e'(!ctl_write_i ? SHOW
              : change.removes ? UNLOAD : ctl_address_i[31] ? INSERT : LOAD);
          key <= change.pair.key;
          value <= change.pair.value;
        end
      end

      OLDEST: begin
        {sweeping, found} <= '0;
        previous <= '0;
        victim <= oldest.index;
        if (method == EXPIRE && !(oldest.some && (Age != 0 || expiring_older))) begin
          expiring_older <= 1'b1;
        end
      end

      EXPIRED: begin
        sweeping <= has_expired;
        if (!has_expired && method == EXPIRE) expiring_older <= 1'b1;
      end

      FIRST: begin
        first <= head;
        node <= head.index;
      end

      COMPARE: begin
        is_the_one <= sweeping ? node == victim : entry_key == key;
        is_expected <= Swaps && entry_value == expected;
      end

      WALK: begin
        if (!is_the_one) begin
          previous <= {1'b1, node};
          node <= next.index;
        end else if (takes_out) begin
          found <= 1'b1;
        end else begin
          found <= is_live;
          existed <= 1'b1;
          stored <= 1'b1;
          reply_age <= age;
        end
        if (!sweeping) begin
          if (is_the_one && method == ACCUMULATE) value <= sum;
          else if (is_the_one && method != UPDATE && method != LOAD) value <= entry_value;
        end
      end

      MISS: node <= free.some ? free.index : fresh[IndexBits-1:0];
      PUT: stored <= 1'b1;
      FREE: expired <= expired + 32'(expiring_older);

      REPLY: begin
        reply_tag_o <= tag;
        unique case (method)
          INSERT, ACCUMULATE: begin
            reply_data_o <= ReplyBits'({stored, existed, stored ? value : ValueBits'(0)});
          end
          UPDATE: reply_data_o <= ReplyBits'(found);
          AGE: reply_data_o <= ReplyBits'({found, found ? reply_age : 64'd0});
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

  // The key of the operation, valid already in the cycle in which the operation arrives; while the
  // oldest entry is tested, the key of that entry.
  always_comb begin
    wanted = state == EXPIRED ? entry_key : key;
    if (state == IDLE) begin
      if (!take) wanted = change.pair.key;
      else begin
        unique case (asked)
          INSERT, UPDATE, ACCUMULATE: wanted = both.key;
          COMPARE_SWAP: wanted = swap.key;
          default: wanted = only_key;
        endcase
      end
    end
  end

  logic unused;
  assign unused = &{request, swap, both, only_key, only_age, ctl_address_i, ctl_data_i,
      request_data_i, expired, expected, reply_age, older_than, value};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Room_A : assert (used <= CountBits'(Size) && fresh <= CountBits'(Size) && used <= fresh);
      List_A : assert (state != IDLE || oldest.some == newest.some);
      // A request always has a valid method.
      Method_M : assume (!take || 32'(request.select) < MethodCount);
    end
  end
`endif
endmodule
