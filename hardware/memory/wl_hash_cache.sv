`include "wl_reset.svh"

// A cluster's cache in front of a remote table: the first level of the MPLS lookup (the paper,
// section 4.2).
//
//   cycle 0: request    1: block RAM is read    2: keys are compared
//         3: a miss goes to the table    8: the reply of a hit
//
// A key may be in `Bins` entries, those of its set; the hash of the key selects one of `Sets` sets.
// A miss is sent on to the table with its tag. The reply goes to the requester and fills the first
// empty bin, or else the bins in turn. The set is the lowest digit of the key, of log2(Sets) bits,
// exclusive or a hash of the upper bits: bit i of it is the exclusive OR of the upper bits k for
// which bit i + k of a seed is one. So consecutive keys do not collide, and who does not know the
// seed cannot choose keys that do. As the set determines the lowest digit, an entry holds only the
// upper bits of its key.
//
// Contract
//   Data: the table's element; zero for an index out of range. The control plane writes the table,
//   not the cache: the cache observes the bus. Every request that is taken after a write is done
//   sees what was written, and an element is never a mix of old and new. Packets must not write the
//   table.
//   Order and latency: a request whose key is cached or out of range is answered exactly
//   `HitLatency` cycles after it was taken; the others as soon as the table has replied and no such
//   reply is due. Replies with different tags are unordered, each request has exactly one reply,
//   and a tag may be used again only after its reply. Two misses of one key are two requests to the
//   table.
//   Seed: a write of the control plane to the table with bit 31 of the address set, which is out of
//   the table's range, empties the cache and takes the bits below as the seed. After a reset the
//   hash is the exclusive OR of the upper digits.
//   Throughput: one request a cycle, whatever else misses or waits, with these exceptions: one
//   cycle for each write of the control plane, at most one cycle in 16 when the reply of a miss
//   finds no gap between those of hits, and `Sets` cycles after reset and after a new seed, in
//   which the cache is emptied.
// The control bus: the cache must see an access no later than (the table's least time from access
// to done, three or more) - 3 cycles after the table does, and must not see its end before the
// table is done.
// Request: {index}. Reply: the value. Downstream: the same.
// Timing: block RAM, a comparison, a multiplexer; nothing else between registers.
//
// Parameters
//   KeyBits       bits of an index that is in range
//   Size          elements of the table, at most 2^31
//   ValueBits     bits of an element
//   IndexBits     bits of the index in a request
//   TagBits       bits of a tag; at most one request for each tag is under way
//   Bins          entries of a set
//   Sets          sets; a power of two
//   HitLatency    cycles from a request to its reply on a hit; at least four
//   CtlTarget     number of the table on the control bus
module wl_hash_cache #(
    parameter int unsigned KeyBits = 20,
    parameter int unsigned Size = 1 << KeyBits,
    parameter int unsigned ValueBits = 36,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned TagBits = 5,
    parameter int unsigned Bins = 2,
    parameter int unsigned Sets = 256,
    parameter int unsigned HitLatency = 8,
    parameter logic [7:0] CtlTarget = 8'd0
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                 request_valid_i,
    output logic                 request_ready_o,
    input  logic [  TagBits-1:0] request_tag_i,
    input  logic [IndexBits-1:0] request_data_i,

    output logic                 reply_valid_o,
    output logic [  TagBits-1:0] reply_tag_o,
    output logic [ValueBits-1:0] reply_data_o,

    // The table.
    output logic                 miss_valid_o,
    input  logic                 miss_ready_i,
    output logic [  TagBits-1:0] miss_tag_o,
    output logic [IndexBits-1:0] miss_data_o,
    input  logic                 fill_valid_i,
    input  logic [  TagBits-1:0] fill_tag_i,
    input  logic [ValueBits-1:0] fill_data_i,

    // The control bus, which the cache only observes.
    input logic        ctl_valid_i,
    input logic        ctl_write_i,
    input logic [ 7:0] ctl_target_i,
    input logic [31:0] ctl_address_i,  // index; a seed if bit 31 is set
    input logic        ctl_done_i,     // the access is done; a pulse

    output logic hit_o,  // for statistics: a request hits or misses
    output logic miss_o
);
  localparam int unsigned Tags = 1 << TagBits;
  localparam int unsigned SetBits = $clog2(Sets);
  localparam int unsigned AddressBits = wl_pkg::bits(Sets);
  localparam int unsigned UpperBits = KeyBits > SetBits ? KeyBits - SetBits : 1;
  localparam int unsigned BinBits = wl_pkg::bits(Bins);
  localparam int unsigned Patience = 15;

  if (Bins < 1 || Sets < 1 || Sets != 1 << SetBits) begin : g_illegal_sets
    $fatal(1, "wl_hash_cache: Bins must be at least one, and Sets a power of two");
  end
  if (KeyBits < 1 || ValueBits < 1 || TagBits < 1 || IndexBits < KeyBits
      || IndexBits > 32) begin : g_illegal
    $fatal(1,
        "wl_hash_cache: KeyBits, ValueBits, TagBits must be 1 or more, IndexBits KeyBits to 32");
  end
  if (Size < 1 || 64'(Size) > 64'd1 << KeyBits || 64'(Size) > 64'd1 << 31) begin : g_illegal_size
    $fatal(1, "wl_hash_cache: KeyBits must hold each index of the Size elements, at most 2^31");
  end
  if (HitLatency < 4) begin : g_illegal_latency
    $fatal(1, "wl_hash_cache: a hit takes at least four cycles");
  end

  // A hash of the upper bits needs as many bits of the seed as a key has, less one.
  localparam int unsigned SeedBits = SetBits > 0 && KeyBits > SetBits ? KeyBits - 1 : 1;
  logic [SeedBits-1:0] seed;

  // The exclusive OR of the upper digits, each with its bits reversed.
  function automatic logic [SeedBits-1:0] digits();
    logic [SeedBits-1:0] made;
    for (int unsigned k = 0; k < SeedBits; k++) begin
      made[k] = k % (SetBits + 32'(SetBits == 0)) == SetBits - 32'(SetBits != 0);
    end
    return made;
  endfunction
  localparam logic [SeedBits-1:0] FirstSeed = digits();

  function automatic logic [AddressBits-1:0] set_of(logic [SeedBits-1:0] seed_now,
      logic [KeyBits-1:0] key);
    logic [AddressBits-1:0] set;
    set = '0;
    for (int unsigned i = 0; i < SetBits; i++) begin
      if (i < KeyBits) set[i] = key[i];
      for (int unsigned k = SetBits; k < KeyBits; k++) set[i] ^= key[k] & seed_now[i+k-SetBits];
    end
    return set;
  endfunction
  function automatic logic [UpperBits-1:0] upper_of(logic [KeyBits-1:0] key);
    return KeyBits > SetBits ? UpperBits'(key >> SetBits) : '0;
  endfunction

  // After reset and for a new seed, all sets are emptied. No request is taken in the cycle in which
  // the seed changes, nor while the sets are emptied, so none is looked up with one seed in sets
  // that were filled with another.
  logic sweeping, reseeds;
  logic [AddressBits-1:0] sweep;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      sweeping <= 1'b1;
      sweep <= '0;
      seed <= FirstSeed;
    end else if (reseeds) begin
      sweeping <= 1'b1;
      sweep <= '0;
      seed <= SeedBits'(ctl_address_i[30:0]);
    end else if (sweeping) begin
      sweeping <= sweep != AddressBits'(Sets - 1);
      sweep <= sweep + 1'b1;
    end
  end

  // A write of the control plane to the table, from its request until it is done. It enters as an
  // operation that empties the entry of its key.
  logic changing, entered, empty_key;
  assign changing  = ctl_valid_i && ctl_write_i && ctl_target_i == CtlTarget;
  assign reseeds   = changing && !entered && ctl_address_i[31];
  assign empty_key = changing && !entered && !sweeping;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) entered <= 1'b0;
    else if (ctl_done_i || !changing) entered <= 1'b0;
    else if (empty_key || reseeds) entered <= 1'b1;
  end

  logic make_gap;
  assign request_ready_o = !sweeping && !empty_key && !make_gap;

  // Cycle 1.
  logic a_valid, a_empty, a_in;
  logic [TagBits-1:0] a_tag;
  logic [KeyBits-1:0] a_key;
  logic [31:0] index;
  assign index = empty_key ? ctl_address_i : 32'(request_data_i);
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      a_valid <= 1'b0;
      a_empty <= 1'b0;
    end else begin
      a_valid <= request_valid_i && request_ready_o;
      a_empty <= empty_key;
    end
  end
  always_ff @(posedge clk_i) begin
    a_tag <= request_tag_i;
    a_key <= index[KeyBits-1:0];
    a_in  <= {1'b0, index} < 33'(Size);
  end

  // Cycle 2.
  logic b_valid, b_empty, b_in;
  logic [TagBits-1:0] b_tag;
  logic [KeyBits-1:0] b_key;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      b_valid <= 1'b0;
      b_empty <= 1'b0;
    end else begin
      b_valid <= a_valid;
      b_empty <= a_empty;
    end
  end
  always_ff @(posedge clk_i) begin
    b_tag <= a_tag;
    b_key <= a_key;
    b_in  <= a_in;
  end

  typedef struct packed {
    logic full;
    logic [UpperBits-1:0] upper;  // upper bits of the key
    logic [ValueBits-1:0] value;
  } entry_t;
  logic [Bins-1:0] b_full, b_match;
  logic [Bins*ValueBits-1:0] b_values;
  logic [Bins-1:0] write;
  logic [AddressBits-1:0] write_set;
  entry_t write_entry;
  for (genvar k = 0; k < Bins; k++) begin : g_bin
    entry_t entry;
    wl_ram_block #(
        .Width($bits(entry_t)),
        .Depth(Sets)
    ) i_ram (
        .clk_i,
        .write_i(write[k]),
        .write_address_i(write_set),
        .write_data_i(write_entry),
        .read_i(a_valid || a_empty),
        .read_address_i(set_of(seed, a_key)),
        .read_data_o(entry)
    );
    assign b_full[k] = entry.full;
    assign b_values[k*ValueBits+:ValueBits] = entry.value;
    assign b_match[k] = entry.full && entry.upper == upper_of(b_key);
  end

  // The value of the bin that matches, and the bin that a miss will fill.
  logic [ValueBits-1:0] b_value;
  logic [BinBits-1:0] b_bin, turn;
  always_comb begin
    b_value = '0;
    b_bin   = turn;
    for (int unsigned k = Bins; k > 0; k--) begin
      if (b_match[k-1]) b_value = b_values[(k-1)*ValueBits+:ValueBits];
      if (!b_full[k-1]) b_bin = BinBits'(k - 1);
    end
    if (!b_in) b_value = '0;
  end

  // Cycle 3.
  logic c_hit, c_miss, c_empty;
  logic [TagBits-1:0] c_tag;
  logic [KeyBits-1:0] c_key;
  logic [ValueBits-1:0] c_value;
  logic [BinBits-1:0] c_bin;
  logic [Bins-1:0] c_match;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      c_hit   <= 1'b0;
      c_miss  <= 1'b0;
      c_empty <= 1'b0;
    end else begin
      c_hit   <= b_valid && (!b_in || b_match != '0);
      c_miss  <= b_valid && b_in && b_match == '0;
      c_empty <= b_empty && b_in;
    end
  end
  always_ff @(posedge clk_i) begin
    c_tag   <= b_tag;
    c_key   <= b_key;
    c_value <= b_value;
    c_bin   <= b_bin;
    c_match <= b_match;
  end
  assign hit_o  = c_hit;
  assign miss_o = c_miss;

  // Misses go to the table, and into a memory that is read when the table replies.
  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic [KeyBits-1:0] key;
  } miss_t;
  typedef struct packed {
    logic [KeyBits-1:0] key;
    logic [BinBits-1:0] bin;  // the bin that the reply will fill
  } place_t;
  logic miss_room;
  miss_t missed, asked;
  place_t missing, filled;
  assign missed.tag  = c_tag;
  assign missed.key  = c_key;
  assign missing.key = c_key;
  assign missing.bin = c_bin;
  assign miss_tag_o  = asked.tag;
  logic [wl_pkg::bits(Tags+1)-1:0] miss_fill, fill_fill;
  assign miss_data_o = IndexBits'(asked.key);
  wl_fifo #(
      .Width($bits(miss_t)),
      .Depth(Tags)
  ) i_misses (
      .clk_i,
      .rst_i,
      .in_valid_i(c_miss),
      .in_ready_o(miss_room),
      .in_data_i(missed),
      .out_valid_o(miss_valid_o),
      .out_ready_i(miss_ready_i),
      .out_data_o(asked),
      .fill_o(miss_fill)
  );
  wl_ram_lut #(
      .Width($bits(place_t)),
      .Depth(Tags)
  ) i_missed (
      .clk_i,
      .write_i(c_miss),
      .write_address_i(c_tag),
      .write_data_i(missing),
      .read_address_i(fill_tag_i),
      .read_data_o(filled)
  );

  // A reply that may predate a change is delivered to its requester, but not cached.
  logic [Tags-1:0] fresh;
  always_ff @(posedge clk_i) begin
    if (changing) fresh <= '0;
    else if (c_miss) fresh[c_tag] <= 1'b1;
  end

  logic f_valid;
  place_t f_place;
  logic [ValueBits-1:0] f_value;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) f_valid <= 1'b0;
    else f_valid <= fill_valid_i && fresh[fill_tag_i] && !changing;
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    // The turn advances once for each fill, so that concurrent misses of one key fill the same bin.
    if (rst_i) turn <= '0;
    else if (f_valid) turn <= turn == BinBits'(Bins - 1) ? '0 : turn + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    f_place <= filled;
    f_value <= fill_data_i;
  end

  // Emptying has priority over filling: a reply that is not cached only causes another miss.
  always_comb begin
    write_set   = sweeping ? sweep : set_of(seed, c_empty ? c_key : f_place.key);
    write_entry.full = !(sweeping || c_empty);
    write_entry.upper = upper_of(f_place.key);
    write_entry.value = f_value;
    for (int unsigned k = 0; k < Bins; k++) begin
      write[k] = sweeping || (c_empty ? c_match[k] : f_valid && f_place.bin == BinBits'(k));
    end
  end

  // Replies: hits at their fixed time, replies of the table in the gaps between them.
  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic [ValueBits-1:0] value;
  } reply_t;
  logic d_hit, late_valid, late_ready, late_room;
  reply_t c_reply, d_reply, fill, late;
  assign c_reply.tag = c_tag;
  assign c_reply.value = c_value;
  assign fill.tag = fill_tag_i;
  assign fill.value = fill_data_i;
  wl_delay #(
      .Width (1),
      .Cycles(HitLatency - 4),
      .Reset (1'b1)
  ) i_hit (
      .clk_i,
      .rst_i,
      .data_i(c_hit),
      .data_o(d_hit)
  );
  wl_delay #(
      .Width ($bits(reply_t)),
      .Cycles(HitLatency - 4)
  ) i_value (
      .clk_i,
      .rst_i,
      .data_i(c_reply),
      .data_o(d_reply)
  );
  wl_fifo #(
      .Width($bits(reply_t)),
      .Depth(Tags)
  ) i_late (
      .clk_i,
      .rst_i,
      .in_valid_i(fill_valid_i),
      .in_ready_o(late_room),
      .in_data_i(fill),
      .out_valid_o(late_valid),
      .out_ready_i(late_ready),
      .out_data_o(late),
      .fill_o(fill_fill)
  );
  assign late_ready = !d_hit;

  logic [3:0] waited;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      reply_valid_o <= 1'b0;
      waited <= '0;
    end else begin
      reply_valid_o <= d_hit || late_valid;
      waited <= late_valid && !late_ready ? waited + 1'b1 : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    make_gap <= waited == 4'(Patience);
    reply_tag_o  <= d_hit ? d_reply.tag : late.tag;
    reply_data_o <= d_hit ? d_reply.value : late.value;
  end

  logic unused;
  assign unused = &{1'b0, index, miss_room, late_room, miss_fill, fill_fill};

`ifdef FORMAL
  logic [Tags-1:0] f_asked, f_missed;  // tags under way; those that wait for the table
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      f_asked  <= '0;
      f_missed <= '0;
    end else begin
      if (reply_valid_o) f_asked[reply_tag_o] <= 1'b0;
      if (request_valid_i && request_ready_o) f_asked[request_tag_i] <= 1'b1;
      if (fill_valid_i) f_missed[fill_tag_i] <= 1'b0;
      if (miss_valid_o && miss_ready_i) f_missed[miss_tag_o] <= 1'b1;

      if (request_valid_i && request_ready_o) TagOnce_M : assume (!f_asked[request_tag_i]);
      if (fill_valid_i) FillAsked_M : assume (f_missed[fill_tag_i]);
      if (c_miss) MissRoom_A : assert (miss_room);
      if (fill_valid_i) LateRoom_A : assert (late_room);
      if (reply_valid_o) Reply_A : assert (f_asked[reply_tag_o]);
      if (miss_valid_o) Miss_A : assert (f_asked[miss_tag_o] && !f_missed[miss_tag_o]);
    end
  end
`endif
endmodule
