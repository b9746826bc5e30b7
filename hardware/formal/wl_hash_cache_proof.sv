// Proof of wl_hash_cache in front of any table that keeps the contract of a service, for any writes
// of the control plane: a reply is an element at some time between the request and the reply, and
// so never one that was overwritten before the request. For one bin of one set by induction, for
// all time: invariants say where the request of each tag is, and when an entry may differ from the
// table. For more bins and sets bounded: every run of the number of cycles from reset that
// wl_hash_cache_proof.sby sets.
module wl_hash_cache_proof #(
    parameter int unsigned KeyBits = 1,
    parameter int unsigned Bins = 1,
    parameter int unsigned Sets = 1,
    // 1: a table that never waits, and one tag: fewer runs, so that longer ones can be checked.
    parameter bit Prompt = 1'b0
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic request_tag_i,
    input logic [KeyBits-1:0] request_key_i,
    input logic miss_ready_i,
    input logic [1:0] look_up_i,  // the table reads the element for the request of a tag now
    input logic fill_valid_i,
    input logic fill_tag_i,
    input logic ctl_valid_i,
    input logic [KeyBits-1:0] ctl_key_i,
    input logic ctl_effect_i,  // the write takes effect now
    input logic ctl_done_i
);
  localparam int unsigned ValueBits = 1;
  localparam int unsigned Keys = 1 << KeyBits;

  logic request_ready, reply_valid, reply_tag, reply_data, miss_valid, miss_tag, hit, miss;
  logic [KeyBits-1:0] miss_key;
  logic fill_data;
  wl_hash_cache #(
      .KeyBits(KeyBits), .ValueBits(ValueBits), .IndexBits(KeyBits), .TagBits(1), .Bins(Bins),
      .Sets(Sets), .HitLatency(4)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i,
      .request_data_i(request_key_i),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .miss_valid_o(miss_valid), .miss_ready_i, .miss_tag_o(miss_tag), .miss_data_o(miss_key),
      .fill_valid_i, .fill_tag_i, .fill_data_i(fill_data),
      .ctl_valid_i, .ctl_write_i(1'b1), .ctl_target_i(8'd0), .ctl_address_i(32'(ctl_key_i)),
      .ctl_done_i,
      .hit_o(hit), .miss_o(miss)
  );

  // The table, of one bit an element: a write inverts the element, so that old and new differ.
  logic [Keys-1:0] element;
  logic [1:0] at_table, looked_up, looked;
  logic [KeyBits-1:0] key0, key1;
  assign fill_data = looked[fill_tag_i];

  // The permitted replies to a request: bit v for value v.
  logic [1:0] allowed0, allowed1;
  logic writing, effected;      // a write of the control plane is under way; it has taken effect
  logic [1:0] age;              // cycles of the write, up to three
  logic was_ctl;
  logic [KeyBits-1:0] was_key;
  logic started = 1'b0;

  // Returns the values of an element that a request of this cycle may see.
  function automatic logic [1:0] visible(logic [KeyBits-1:0] key);
    visible = 2'b01 << element[key];
    if (ctl_valid_i && ctl_key_i == key && effected) visible = 2'b11;
    if (ctl_valid_i && ctl_key_i == key && ctl_done_i) visible = 2'b01 << element[key];
  endfunction

  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    if (Prompt) begin
      Prompt_M : assume (miss_ready_i && look_up_i == 2'b11 && !request_tag_i
          && fill_valid_i == (at_table[0] && looked_up[0]));
      Tag_M : assume (!fill_tag_i && rst_i == !started);
    end
    was_ctl <= !rst_i && ctl_valid_i && !ctl_done_i;
    was_key <= ctl_key_i;
    if (rst_i) begin
      at_table <= '0;
      looked_up <= '0;
      effected <= 1'b0;
      age <= '0;
      NoCtl_M : assume (!ctl_valid_i);
    end else begin
      // The bus, with the behaviour of `wl_table`.
      if (was_ctl) Held_M : assume (ctl_valid_i && ctl_key_i == was_key);
      if (ctl_effect_i) Effect_M : assume (ctl_valid_i && !effected);
      if (ctl_done_i) Done_M : assume (ctl_valid_i && effected && age == 2'd3);
      age <= !ctl_valid_i || ctl_done_i ? '0 : age == 2'd3 ? 2'd3 : age + 1'b1;
      effected <= ctl_valid_i && !ctl_done_i && (effected || ctl_effect_i);
      if (ctl_effect_i) element[ctl_key_i] <= !element[ctl_key_i];

      // The table replies with what it has read.
      if (fill_valid_i) Fill_M : assume (at_table[fill_tag_i] && looked_up[fill_tag_i]);
      if (miss_valid && miss_ready_i) begin
        at_table[miss_tag]  <= 1'b1;
        looked_up[miss_tag] <= 1'b0;
        Key_A : assert (miss_key == (miss_tag ? key1 : key0));
      end
      for (int unsigned t = 0; t < 2; t++) begin
        if (at_table[t] && !looked_up[t] && look_up_i[t]) begin
          looked_up[t] <= 1'b1;
          looked[t] <= element[t == 1 ? key1 : key0];
        end
      end
      if (fill_valid_i) at_table[fill_tag_i] <= 1'b0;

      // The permitted replies: all values that were visible in any cycle since the request.
      allowed0 <= allowed0 | visible(key0);
      allowed1 <= allowed1 | visible(key1);
      if (request_valid_i && request_ready) begin
        if (request_tag_i) begin
          key1 <= request_key_i;
          allowed1 <= visible(request_key_i);
        end else begin
          key0 <= request_key_i;
          allowed0 <= visible(request_key_i);
        end
      end
      if (reply_valid) Value_A : assert (reply_tag ? allowed1[reply_data] : allowed0[reply_data]);
    end
  end

  // ---- Invariants, for one set of one bin, and replies of hits without a further delay ----
  if (Bins == 1 && Sets == 1) begin : g_inductive
    // The places of each tag: a stage of the cache, the queue to the table, the table, the queue of
    // late replies, and the reply.
    logic [1:0][6:0] places;
    for (genvar t = 0; t < 2; t++) begin : g_tag
      logic key;
      logic [1:0] allowed, in_misses, in_late;
      assign key = t == 1 ? key1 : key0;
      assign allowed = t == 1 ? allowed1 : allowed0;
      for (genvar i = 0; i < 2; i++) begin : g_queue
        logic miss_place, late_place;  // the words that are the oldest, and after it
        logic [1:0] missed, late;      // {tag, key}; {tag, value}
        assign miss_place = i_dut.i_misses.g_ram.head + 1'(i);
        assign late_place = i_dut.i_late.g_ram.head + 1'(i);
        assign missed = i_dut.i_misses.g_ram.i_ram.memory[miss_place];
        assign late = i_dut.i_late.g_ram.i_ram.memory[late_place];
        assign in_misses[i] = i < 32'(i_dut.i_misses.fill_o) && missed[1] == 1'(t);
        assign in_late[i] = i < 32'(i_dut.i_late.fill_o) && late[1] == 1'(t);
        always_ff @(posedge clk_i) begin
          if (!rst_i && started) begin
            MissKey_A : assert (!in_misses[i] || missed[0] == key);
            Late_A : assert (!in_late[i] || allowed[late[0]]);
          end
        end
      end
      assign places[t] = {
        i_dut.a_valid && i_dut.a_tag == 1'(t), i_dut.b_valid && i_dut.b_tag == 1'(t),
        (i_dut.c_hit || i_dut.c_miss) && i_dut.c_tag == 1'(t), |in_misses, at_table[t], |in_late,
        reply_valid && reply_tag == 1'(t)
      };
      always_ff @(posedge clk_i) begin
        if (!rst_i && started) begin
          Place_A : assert ($onehot0(places[t]) && |places[t] == i_dut.f_asked[t]
              && !(&in_misses) && !(&in_late));
          Keys_A : assert (!(places[t][6] && i_dut.a_key != key)
              && !(places[t][5] && i_dut.b_key != key) && !(places[t][4] && i_dut.c_key != key));
          Missed_A : assert (i_dut.f_missed[t] == at_table[t] && (!(places[t][3] || at_table[t])
              || i_dut.i_missed.memory[t][1] == key));
          // What a write has changed, those see who asked before.
          Old_A : assert (!(i_dut.f_asked[t] && ctl_valid_i && effected && ctl_key_i == key)
              || allowed[!element[key]]);
          Looked_A : assert (!at_table[t] || !looked_up[t]
              || (allowed[looked[t]] && (!i_dut.fresh[t] || looked[t] == element[key])));
          Hit_A : assert (!(i_dut.c_hit && places[t][4]) || allowed[i_dut.c_value]);
          Read_A : assert (!(places[t][5] && i_dut.b_match != '0) || allowed[i_dut.b_value]);
        end
      end
    end

    logic full, upper, value, stale;
    logic slow;  // the write began in the sweep
    always_ff @(posedge clk_i) begin
      slow <= !rst_i && ctl_valid_i && !ctl_done_i && (slow || i_dut.sweeping);
    end
    logic [2:0] emptying;
    assign {full, upper, value} = i_dut.g_bin[0].i_ram.memory[0];
    assign emptying = {i_dut.a_empty, i_dut.b_empty, i_dut.c_empty};
    assign stale = ctl_valid_i && ctl_key_i == upper && effected
        && (!i_dut.entered || emptying != '0);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        In_A : assert ((!i_dut.a_valid || i_dut.a_in) && (!i_dut.b_valid || i_dut.b_in));
        Sweep_A : assert (!i_dut.sweeping || (age == '0 && !i_dut.entered && i_dut.f_asked == '0
            && !i_dut.f_valid));
        // A write enters in its first cycle, or if that is the sweep, in its second.
        Begun_A : assert (was_ctl == (age != '0) && (!effected || was_ctl));
        Slow_A : assert (!slow || (was_ctl && !full && !i_dut.f_valid));
        Entered_A : assert (i_dut.entered == (age > 2'(slow)));
        Emptying_A : assert ($onehot0(emptying) && i_dut.a_empty == (age == 2'(slow) + 2'd1)
            && (slow ? !i_dut.b_empty || age == 2'd3 : i_dut.b_empty == (age == 2'd2)));
        // One that ends early has found nothing to empty.
        Emptied_A : assert (!i_dut.c_empty || age == 2'd3
            || (age == '0 && !full && !i_dut.f_valid));
        EmptyKey_A : assert ((!i_dut.a_empty || (i_dut.a_key == was_key && i_dut.a_in))
            && (!i_dut.b_empty || (i_dut.b_key == was_key && i_dut.b_in))
            && (!i_dut.c_empty || age == '0 || i_dut.c_key == was_key));
        Gone_A : assert (age != 2'd3 || emptying != '0 || !full || upper != was_key);
        Entry_A : assert (i_dut.sweeping || !full || value == element[upper] || stale);
        BRead_A : assert (!i_dut.b_empty || {i_dut.b_full[0], i_dut.g_bin[0].entry.upper}
            == {full, upper} || !full);
        Match_A : assert (!i_dut.c_empty || !full || upper != i_dut.c_key || i_dut.c_match[0]);
        Fill_A : assert (!i_dut.f_valid || i_dut.f_value == element[i_dut.f_place.key]);
        NoFill_A : assert (!i_dut.f_valid || age == '0);
        Queues_A : assert (1'(i_dut.i_misses.g_ram.tail - i_dut.i_misses.g_ram.head)
            == i_dut.i_misses.fill_o[0] && 1'(i_dut.i_late.g_ram.tail
            - i_dut.i_late.g_ram.head) == i_dut.i_late.fill_o[0]);
      end
    end
  end
endmodule
