// Test bench of wl_hash_cache in front of a table that replies late and in any order, while the
// control plane changes the table: no stale and no partial value, every request answered once, hits
// at their fixed time, full rate.
module wl_hash_cache_tb;
  localparam int unsigned Cases = 9;
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));

  // All keys fit: once each key has been requested, every request hits.
  hash_cache_case #(
      .KeyBits(3), .Sets(8), .Bins(1)
  ) i_fits (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  hash_cache_case #(
      .KeyBits(5), .Sets(64), .Bins(2), .Idle(50), .Slow(90)
  ) i_fits_idle (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  // The table changes.
  hash_cache_case #(
      .KeyBits(3), .Sets(8), .Bins(1), .Control(30)
  ) i_change (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  hash_cache_case #(
      .KeyBits(2), .Sets(1), .Bins(3), .Control(80), .Slow(70)
  ) i_one_set (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  hash_cache_case #(
      .KeyBits(8), .Sets(4), .Bins(4), .Control(20), .Idle(30), .Slow(50), .Size(200)
  ) i_collide (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  hash_cache_case #(
      .KeyBits(4), .Sets(2), .Bins(2), .Control(60), .Idle(80), .Slow(95)
  ) i_slow (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
  // One tag, one entry, one key.
  hash_cache_case #(
      .KeyBits(1), .Size(1), .Sets(1), .Bins(1), .TagBits(1), .HitLatency(4), .Control(20)
  ) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[6]));
  // More requests are under way than a hit takes cycles: hits leave no gap for the other replies
  // except those that the cache makes.
  hash_cache_case #(
      .KeyBits(6), .Sets(32), .Bins(1), .TagBits(6), .Hot(98), .Slow(20)
  ) i_hot (.clk_i(clk), .rst_i(rst), .done_o(done[7]));
  hash_cache_case #(
      .KeyBits(6), .Sets(16), .Bins(2), .TagBits(6), .HitLatency(20), .Hot(70), .Control(50),
      .Skew(2)
  ) i_late (.clk_i(clk), .rst_i(rst), .done_o(done[8]));
endmodule

module hash_cache_case #(
    parameter int unsigned KeyBits = 4,
    parameter int unsigned Size = 1 << KeyBits,
    parameter int unsigned TagBits = 5,
    parameter int unsigned Bins = 2,
    parameter int unsigned Sets = 4,
    parameter int unsigned HitLatency = 8,
    parameter int unsigned Idle = 0,     // percent of cycles without a request
    parameter int unsigned Hot = 0,      // percent of requests for one of four keys
    parameter int unsigned Slow = 30,    // percent of cycles in which the table is idle
    // Percent of cycles in which an idle control master begins a write.
    parameter int unsigned Control = 0,
    // Cycles by which the cache sees the control bus later than the table.
    parameter int unsigned Skew = 0,
    parameter int unsigned Cycles = 6000
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Tags = 1 << TagBits;
  localparam int unsigned VersionBits = 16;
  localparam int unsigned ValueBits = 2 * VersionBits + KeyBits;
  // The minimum, from the request of the control plane to done.
  localparam int unsigned TableLatency = 3 + Skew;
  localparam logic [7:0] Target = 8'd5;

  function automatic logic percent(int unsigned p);
    return $urandom() % 100 < p;
  endfunction
  // A value contains its key and version, and shows whether it is whole.
  function automatic logic [ValueBits-1:0] value(int unsigned key, logic [VersionBits-1:0] version);
    return {version, KeyBits'(key), ~version};
  endfunction

  logic request_valid, request_ready, reply_valid, miss_valid, miss_ready, fill_valid, hit, miss;
  logic [TagBits-1:0] request_tag, reply_tag, miss_tag, fill_tag;
  logic [31:0] request_data, miss_data;
  logic [ValueBits-1:0] reply_data, fill_data;
  logic ctl_valid, ctl_done;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic ctl_write;

  // The cache's view of the bus.
  localparam int unsigned BusBits = 1 + 1 + 8 + 32;
  logic [BusBits-1:0] bus, bus_late;
  assign bus = {ctl_valid, ctl_write, ctl_target, ctl_address};
  wl_delay #(
      .Width(BusBits), .Cycles(Skew), .Reset(1'b1)
  ) i_skew (.clk_i, .rst_i, .data_i(bus), .data_o(bus_late));
  logic done_late;
  wl_delay #(
      .Width(1), .Cycles(Skew), .Reset(1'b1)
  ) i_done_skew (.clk_i, .rst_i, .data_i(ctl_done), .data_o(done_late));

  wl_hash_cache #(
      .KeyBits(KeyBits), .Size(Size), .ValueBits(ValueBits), .TagBits(TagBits), .Bins(Bins),
      .Sets(Sets),
      .HitLatency(HitLatency), .CtlTarget(Target)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(request_valid), .request_ready_o(request_ready), .request_tag_i(request_tag),
      .request_data_i(request_data), .reply_valid_o(reply_valid), .reply_tag_o(reply_tag),
      .reply_data_o(reply_data),
      .miss_valid_o(miss_valid), .miss_ready_i(miss_ready), .miss_tag_o(miss_tag),
      .miss_data_o(miss_data),
      .fill_valid_i(fill_valid), .fill_tag_i(fill_tag), .fill_data_i(fill_data),
      .ctl_valid_i(bus_late[BusBits-1]), .ctl_write_i(bus_late[BusBits-2]),
      .ctl_target_i(bus_late[39:32]),
      .ctl_address_i(bus_late[31:0]), .ctl_done_i(done_late), .hit_o(hit), .miss_o(miss)
  );

  // The table: versions of its elements, and the oldest version that a request may still see.
  logic [VersionBits-1:0] version[Size], oldest[Size];

  // Requests under way, by tag.
  logic [Tags-1:0] asked, missed, at_table, looked_up, must_hit;
  int unsigned key_of[Tags], asked_at[Tags], answered_at[Tags];
  logic [VersionBits-1:0] oldest_of[Tags];
  logic [ValueBits-1:0] looked[Tags];
  logic [Size-1:0] cached;  // what must hit if the table does not change and all keys fit

  int unsigned cycle, taken, replied, hits, refused, late, writes, seeds, ctl_wait, tag, key;
  logic found, filled;
  int unsigned filled_key;  // filled in the cycle before: a request in this cycle hits

  always @(posedge clk_i) begin
    if (rst_i) begin
      {request_valid, miss_ready, fill_valid, ctl_valid, ctl_write, ctl_done, done_o} <= '0;
      {cycle, taken, replied, hits, refused, late, writes, seeds, ctl_wait} <= '0;
      {asked, missed, at_table, looked_up, must_hit, cached, filled} = '0;
      for (int unsigned k = 0; k < Size; k++) begin
        version[k] = '0;
        oldest[k] = '0;
      end
      ctl_target <= '0;
      ctl_address <= '0;
      request_tag <= '0;
      request_data <= '0;
      fill_tag <= '0;
      fill_data <= '0;
    end else if (!done_o) begin
      cycle <= cycle + 1;
      if (cycle > Sets + 4 && !request_ready) refused <= refused + 1;

      if (reply_valid) begin
        logic [VersionBits-1:0] got;
        replied <= replied + 1;
        got = reply_data[ValueBits-1-:VersionBits];
        key = key_of[reply_tag];
        if (!asked[reply_tag]) $fatal(1, "%m: a reply that nobody waits for");
        if (missed[reply_tag]) begin
          if (!looked_up[reply_tag]) $fatal(1, "%m: a reply before the table's");
          late <= late + 1;
          // The limit is the time at which a gap was made for each reply that waits.
          if (cycle - answered_at[reply_tag] > 17 * Tags + HitLatency) begin
            $fatal(1, "%m: an answer is kept back");
          end
        end else begin
          hits <= hits + 1;
          if (cycle - asked_at[reply_tag] !== HitLatency) begin
            $fatal(1, "%m: a hit after %0d cycles", cycle - asked_at[reply_tag]);
          end
        end
        if (key >= Size) begin
          if (reply_data !== '0) $fatal(1, "%m: an element that there is not");
        end else begin
          if (reply_data !== value(key, got)) $fatal(1, "%m: key %0d gets %h", key, reply_data);
          if (got < oldest_of[reply_tag] || got > version[key]) begin
            $fatal(1, "%m: key %0d gets version %0d, not %0d to %0d", key, got,
                oldest_of[reply_tag], version[key]);
          end
        end
        {asked[reply_tag], missed[reply_tag], looked_up[reply_tag]} = '0;
      end

      // The table accepts requests, looks some up, and replies.
      if (miss_valid && miss_ready) begin
        if (!asked[miss_tag] || missed[miss_tag] || miss_data !== key_of[miss_tag]) begin
          $fatal(1, "%m: a miss that is none");
        end
        if (must_hit[miss_tag]) $fatal(1, "%m: key %0d was in the cache", miss_data);
        missed[miss_tag] = 1'b1;
        at_table[miss_tag] = 1'b1;
      end
      miss_ready <= !percent(Slow);
      tag = $urandom() % Tags;
      if (at_table[tag] && !looked_up[tag] && !percent(Slow / 2)) begin
        looked[tag] = value(key_of[tag], version[key_of[tag]]);
        looked_up[tag] = 1'b1;
      end
      fill_valid <= 1'b0;
      if (!percent(Slow)) begin
        found = 1'b0;
        for (int unsigned k = 0; k < Tags && !found; k++) begin
          tag = (tag + 1) % Tags;
          if (at_table[tag] && looked_up[tag]) begin
            found = 1'b1;
            at_table[tag] = 1'b0;
            answered_at[tag] = cycle;
            fill_valid <= 1'b1;
            fill_tag <= TagBits'(tag);
            fill_data <= looked[tag];
          end
        end
      end

      // The control plane writes the table, some cycles before the write is done.
      ctl_done <= 1'b0;
      if (ctl_done) begin
        ctl_valid <= 1'b0;
      end else if (ctl_valid && ctl_target == Target) begin
        ctl_wait <= ctl_wait - 1;
        if (ctl_wait == 2 && ctl_write && !ctl_address[31]) begin
          version[ctl_address] = version[ctl_address] + 1'b1;
        end
        if (ctl_wait == 1) begin
          ctl_done <= 1'b1;
          if (ctl_write) writes <= writes + 1;
          if (ctl_write && ctl_address[31]) seeds <= seeds + 1;
        end
      end else if (ctl_valid) begin
        ctl_valid <= !percent(50);
      end
      if ((!ctl_valid || (ctl_done && percent(50))) && percent(Control)) begin
        ctl_valid <= cycle < Cycles;
        ctl_write <= percent(80);
        ctl_target <= percent(80) ? Target : Target + 1'b1;
        // Sometimes a new seed.
        ctl_address <= percent(3) ? 32'h8000_0000 | $urandom() : $urandom() % Size;
        ctl_wait <= TableLatency + $urandom() % 4 * ($urandom() % 4);
      end
      // Requests from the cycle of done on see the new version.
      if (ctl_done && ctl_target == Target && ctl_write && !ctl_address[31]) begin
        oldest[ctl_address] = version[ctl_address];
      end

      if (request_valid && request_ready) begin
        taken <= taken + 1;
        asked[request_tag] = 1'b1;
        key_of[request_tag] = request_data;
        asked_at[request_tag] = cycle;
        must_hit[request_tag] = Control == 0 && KeyBits <= $clog2(Sets) && request_data < Size
            && cached[request_data%Size];
        oldest_of[request_tag] = request_data < Size ? oldest[request_data] : '0;
      end
      if (filled) cached[filled_key] = 1'b1;
      filled = fill_valid;
      filled_key = key_of[fill_tag] % Size;
      if (!request_valid || request_ready) begin
        request_valid <= 1'b0;
        tag = $urandom() % Tags;
        for (int unsigned k = 0; k < Tags && asked[tag]; k++) tag = (tag + 1) % Tags;
        if (!asked[tag] && cycle < Cycles && !percent(Idle)) begin
          request_valid <= 1'b1;
          request_tag   <= TagBits'(tag);
          request_data  <= percent(5) ? $urandom() : percent(Hot) ? $urandom() % 4 % Size
              : $urandom() % Size;
        end
      end

      if (cycle == Cycles + 3000) begin
        if (taken !== replied || asked !== '0) begin
          $fatal(1, "%m: %0d requests, %0d replies", taken, replied);
        end
        // Every gap was made for a write, for a reply that waited long or to empty the cache.
        if (refused > writes + late + seeds * (Sets + 1)) begin
          $fatal(1, "%m: %0d cycles refused for %0d writes and %0d late replies", refused, writes,
              late);
        end
        if (hits < 10 || hits === taken) $fatal(1, "%m: only %0d hits of %0d", hits, taken);
        if (Control > 0 && seeds < 2) $fatal(1, "%m: only %0d seeds", seeds);
        if (Control > 0 && writes < 100) $fatal(1, "%m: only %0d writes", writes);
        if (KeyBits <= $clog2(Sets) && Control === 0 && Idle === 0 && Tags > HitLatency
            && taken + 500 < Cycles) begin
          $fatal(1, "%m: only %0d requests at full rate", taken);
        end
        done_o <= 1'b1;
      end
    end
  end
endmodule
