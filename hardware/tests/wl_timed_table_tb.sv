// Test bench of wl_timed_table: calls of all methods of both kinds and accesses of the control
// plane with few keys, so that chains, a full table, ends at ticks and static entries occur
// together, compared with a model of a flag, a value, a time and a duration for each key. The model
// divides times by the tick, which the module avoids. The control plane also sets the time, inserts
// entries with durations, empties the table, and looks for the entries whose times are over: each
// is found once, and the end of the next one is right. Over sizes, ticks, ages and chains, with
// and without a step that claims entries.
module wl_timed_table_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Size = {32'd1, 32'd5, 32'd16, 32'd9, 32'd30, 32'd12};
  localparam bit [Cases*32-1:0] Chains = {32'd2, 32'd2, 32'd16, 32'd8, 32'd4, 32'd8};
  localparam bit [Cases*64-1:0] Age = {64'd40, 64'd300, 64'd0, 64'd0, 64'd700, 64'd0};
  localparam bit [Cases*64-1:0] Tick = {64'd7, 64'd100, 64'd64, 64'd100, 64'd1, 64'd33};
  localparam bit [Cases-1:0] Claimed = 6'b011101;
  localparam bit [Cases-1:0] Timers = 6'b000101;
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 6'b010100;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases), .Limit(800000)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    timed_case #(
        .Size(Size[32*i+:32]), .Chains(Chains[32*i+:32]), .Age(Age[64*i+:64]),
        .Tick(Tick[64*i+:64]), .Claimed(Claimed[i]), .Timers(Timers[i])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module timed_case #(
    parameter int unsigned Size = 4,
    parameter int unsigned Chains = 4,
    parameter logic [63:0] Age = 64'd0,
    parameter logic [63:0] Tick = 64'd100,
    parameter bit Claimed = 1'b1,
    parameter bit Timers = 1'b0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned KeyBits = 6;
  localparam int unsigned ValueBits = Timers ? 1 : 12;
  localparam int unsigned MethodCount = Timers ? 4 : 11;
  localparam logic [54:0] OfExact = {5'd10, 5'd9, 5'd8, 5'd7, 5'd6, 5'd5, 5'd4, 5'd3, 5'd2, 5'd1,
      5'd0};
  localparam logic [54:0] OfTimers = 55'({5'd19, 5'd18, 5'd17, 5'd16});
  localparam logic [54:0] Methods = Timers ? OfTimers : OfExact;
  localparam int unsigned ArgumentBits = KeyBits + 64;
  localparam int unsigned SelectBits = wl_pkg::bits(MethodCount);
  localparam int unsigned RequestBits = SelectBits + ArgumentBits + 64;
  localparam int unsigned ReplyBits = 65;
  localparam int unsigned CtlBits = 128;
  localparam int unsigned Operations = 4000;
  localparam logic [63:0] Never = '1;

  logic request_valid, request_ready, reply_valid, ctl_valid, ctl_write, ctl_done;
  logic [3:0] request_tag, reply_tag;
  logic [RequestBits-1:0] request_data;
  logic [ReplyBits-1:0] reply_data;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_data, ctl_answer;

  wl_timed_table #(
      .KeyBits(KeyBits), .ValueBits(ValueBits), .Size(Size), .MethodCount(MethodCount),
      .Methods((5 * MethodCount)'(Methods)), .ArgumentBits(ArgumentBits),
      .ReplyBits(ReplyBits), .Tick(Tick), .Age(Age), .Claimed(Claimed),
      .Cuts(Timers ? ValueBits'(0) : ValueBits'(12'h021)), .TagBits(4), .CtlBits(CtlBits),
      .CtlTarget(8'd3), .Chains(Chains)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(request_valid), .request_ready_o(request_ready), .request_tag_i(request_tag),
      .request_data_i(request_data),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(8'd3),
      .ctl_address_i(ctl_address), .ctl_data_i(ctl_data),
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_answer)
  );

  // The model.
  bit there[2**KeyBits], fixed[2**KeyBits], seen_over[2**KeyBits];
  logic [ValueBits-1:0] values[2**KeyBits];
  longint unsigned touched[2**KeyBits], durations[2**KeyBits];
  longint unsigned seen, kept;
  int unsigned count, claims, lefts, finds, kept_calls;

  // The time at which an entry ends: a tick, or never.
  function automatic longint unsigned ends(int unsigned k);
    longint unsigned up, next;
    if (fixed[k] || durations[k] == Never || touched[k] + durations[k] < touched[k]) return Never;
    up = (touched[k] + durations[k] + Tick - 1) / Tick;
    next = touched[k] / Tick + 1;
    return (up > next ? up : next) * Tick;
  endfunction

  function automatic void take_out(int unsigned k);
    there[k] = 1'b0;
    count--;
  endfunction

  function automatic void put(int unsigned k, logic [ValueBits-1:0] value,
      longint unsigned duration);
    there[k] = 1'b1;
    fixed[k] = 1'b0;
    count++;
    values[k] = value;
    touched[k] = seen;
    durations[k] = duration;
  endfunction

  // Fields of 5, 5 and 2 bits (Cuts is 1 at bits 0 and 5), except for what is above.
  function automatic logic [ValueBits-1:0] add(logic [ValueBits-1:0] a, logic [ValueBits-1:0] b);
    logic [11:0] x, y;
    x = 12'(a);
    y = 12'(b);
    return ValueBits'({7'(x[11:5] + y[11:5]), 5'(x[4:0] + y[4:0])});
  endfunction

  function automatic logic [64:0] act(int unsigned method, int unsigned key,
      logic [ValueBits-1:0] expected, logic [ValueBits-1:0] value, longint unsigned nanoseconds,
      longint unsigned now);
    longint unsigned at;
    bit existed, over;
    logic [ValueBits-1:0] reply;
    act = '0;
    at = now > seen ? now : seen;
    if (method != 0 && method != 6 && method != 18) begin
      seen = at;
      for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
        if (!Claimed && there[k] && ends(k) <= seen) take_out(k);
      end
    end
    over = there[key] && ends(key) <= at;
    existed = there[key] && (Claimed || !over);
    reply = existed ? values[key] : '0;
    case (method)
      0: act = 65'({existed, reply});
      1: begin
        act = 65'({existed, reply});
        if (existed) touched[key] = seen;
      end
      2, 4: begin
        if (existed) begin
          if (method == 4) values[key] = add(values[key], value);
          touched[key] = seen;
        end else if (count < Size) put(key, value, Age == 0 ? Never : Age);
        if (there[key]) act = 65'({1'b1, existed, values[key]});
      end
      3: begin
        act = 65'(existed);
        if (existed) begin
          values[key] = value;
          touched[key] = seen;
        end
      end
      5: begin
        act = 65'({existed, reply});
        if (existed) take_out(key);
      end
      6: act = 65'({existed, existed && !fixed[key] ? 64'(at - touched[key]) : 64'd0});
      7: begin
        for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
          if (there[k] && !fixed[k] && seen - touched[k] > nanoseconds) begin
            take_out(k);
            act = act + 65'd1;
          end
        end
      end
      8: begin
        act = 65'({existed, existed && reply == expected, reply});
        if (existed) begin
          if (reply == expected) values[key] = value;
          touched[key] = seen;
        end
      end
      9: begin
        act = 65'(existed);
        if (existed) begin
          touched[key] = seen;
          if (!fixed[key]) durations[key] = nanoseconds;
          kept_calls++;
        end
      end
      10: begin
        if (existed && over) begin
          act = 65'({1'b1, reply});
          take_out(key);
          claims++;
        end
      end
      16: begin
        if (existed || count < Size) begin
          if (!existed) put(key, '0, nanoseconds);
          touched[key] = seen;
          durations[key] = nanoseconds;
          act = 65'd1;
        end
      end
      17: begin
        act = 65'(existed);
        if (existed) take_out(key);
      end
      18: begin
        act = 65'({existed, existed && ends(key) > at ? ends(key) - at : 64'd0});
        if (existed) lefts++;
      end
      default: begin
        act = 65'(existed && over);
        if (existed && over) begin
          take_out(key);
          claims++;
        end
      end
    endcase
  endfunction

  // The control plane inserts and removes entries at the table's time.
  task automatic control(bit removes, bit ages, int unsigned key, logic [ValueBits-1:0] value);
    for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
      if (!Claimed && there[k] && ends(k) <= seen) take_out(k);
    end
    if (removes) begin
      if (there[key]) take_out(key);
    end else if (there[key]) begin
      values[key] = value;
      if (ages && !fixed[key]) begin
        touched[key] = seen;
        durations[key] = kept;
      end
    end else if (count < Size) begin
      put(key, value, kept);
      fixed[key] = !ages;
    end
  endtask

  // Checks the times of an entry that the control plane has read.
  task automatic check_times();
    int unsigned number, k;
    number = 32'(ctl_address[29:0]);
    if (number >= 32'(i_dut.fresh)) begin
      if (ctl_answer !== '0) $fatal(1, "%m: no entry %0d has times", number);
      return;
    end
    // Only entries that are there and not static have times.
    if (i_dut.i_kinds.memory[number] != 2'b10) return;
    k = 32'(i_dut.i_keys.memory[number]);
    if (there[k] && ctl_answer !== {durations[k], touched[k]}) begin
      $fatal(1, "%m: the times of key %0d are %h, not %0d and %0d", k, ctl_answer, durations[k],
          touched[k]);
    end
  endtask

  task automatic check_entry();
    int unsigned k;
    bit live;
    if (!ctl_answer[KeyBits+ValueBits+2]) begin
      if (ctl_answer !== '0) $fatal(1, "%m: no entry %0d is %h", ctl_address, ctl_answer);
      return;
    end
    k = 32'(ctl_answer[ValueBits+:KeyBits]);
    live = there[k] && (Claimed || ends(k) > seen);
    // A removed entry may have the same key as a present one.
    if (ctl_answer[KeyBits+ValueBits+1]
        && (!live || ctl_answer[KeyBits+ValueBits] !== fixed[k]
        || ctl_answer[ValueBits-1:0] !== values[k])) begin
      $fatal(1, "%m: entry %0d is %h", ctl_address, ctl_answer);
    end
  endtask

  // Checks an answer to the question which entries are over at `due`. Returns whether there may be
  // more.
  longint unsigned due;
  function automatic bit check_found();
    int unsigned k;
    longint unsigned soonest;
    if (ctl_answer[64]) begin
      k = 32'(ctl_answer[KeyBits-1:0]);
      if (!there[k] || ends(k) > due || seen_over[k]) begin
        $fatal(1, "%m: key %0d, which ends at %0d, is found at %0d", k, ends(k), due);
      end
      seen_over[k] = 1'b1;
      finds++;
      return 1'b1;
    end
    soonest = Never;
    for (k = 0; k < 2 ** KeyBits; k++) begin
      if (there[k] && ends(k) <= due && !seen_over[k]) begin
        $fatal(1, "%m: key %0d, which ends at %0d, is not found at %0d", k, ends(k), due);
      end
      if (there[k] && ends(k) > due && ends(k) < soonest) soonest = ends(k);
      seen_over[k] = 1'b0;
    end
    if (soonest == Never ? ctl_answer[63:0] != Never
        : (ctl_answer[63:0] + Tick - 1) / Tick * Tick != soonest) begin
      $fatal(1, "%m: after %0d the next end is %0d, not %0d", due, ctl_answer[63:0], soonest);
    end
    return 1'b0;
  endfunction

  // Returns the earliest time that the table may have: that of its youngest entry.
  function automatic longint unsigned youngest();
    youngest = 0;
    for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
      if (there[k] && !fixed[k] && touched[k] > youngest) youngest = touched[k];
    end
  endfunction

  // One call and one access at a time; the model performs each when its reply comes.
  int unsigned done, method, key, full, number;
  logic [ValueBits-1:0] value, guess;
  logic [ArgumentBits-1:0] arguments;
  longint unsigned now, nanoseconds, clock;
  bit calling, begins, finding;
  assign done_o = done == Operations;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {request_valid, ctl_valid, calling, finding} <= '0;
      {done, count, full, claims, lefts, finds, kept_calls} = '0;
      {seen, clock, kept, due} = '0;
      for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
        there[k] = 1'b0;
        seen_over[k] = 1'b0;
      end
    end else if (!done_o) begin
      if (request_valid && request_ready) request_valid <= 1'b0;
      if (reply_valid) begin
        logic [64:0] expected;
        expected = act(number, key, guess, value, nanoseconds, now);
        if (!calling || reply_tag !== request_tag || reply_data !== expected) begin
          $fatal(1, "%m: method %0d of key %0d, value %h, %0d ns, at %0d: %h, not %h", number, key,
              value, nanoseconds, now, reply_data, expected);
        end
        calling <= 1'b0;
        done = done + 1;
        if (count == Size) full = full + 1;
        if (done === Operations && Size < 20 && full < 50) begin
          $fatal(1, "%m: the table was hardly ever full");
        end
        if (done === Operations && (Claimed ? claims < 10 || finds < 20 : kept_calls < 20)) begin
          $fatal(1, "%m: %0d entries were claimed, and %0d found", claims, finds);
        end
        if (done === Operations && Timers && lefts < 20) $fatal(1, "%m: few times were left");
      end
      // No call begins while the time is set, since it might touch an entry at a later time, or
      // while the control plane looks for entries.
      begins = !calling && !finding && !(ctl_valid && ctl_write && ctl_address[31:30] == 2'd3)
          && tb_pkg::chance(200);
      if (begins) begin
        clock += longint'(tb_pkg::chance(30) ? $urandom() % 700 : $urandom() % 12);
        method = $urandom() % MethodCount;
        // More entries are inserted than removed, and many get durations of their own.
        if (tb_pkg::chance(90)) method = Timers ? 0 : 2;
        else if (tb_pkg::chance(60)) method = Timers ? 0 : 9;
        key = tb_pkg::chance(128) ? $urandom() % (2 * Size < 64 ? 2 * Size : 64) : $urandom() % 64;
        // Entries whose times are over are claimed.
        if (Claimed && tb_pkg::chance(60)) begin
          for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
            if (there[k] && ends(k) <= clock) begin
              key = k;
              method = Timers ? 3 : 10;
            end
          end
        end
        number = Timers ? 16 + method : method;
        value = Timers ? '0 : ValueBits'($urandom());
        // Usually the value that the key has, or one that differs in a bit.
        guess = values[key];
        if (tb_pkg::chance(128)) guess ^= ValueBits'(1) << ($urandom() % ValueBits);
        nanoseconds = tb_pkg::chance(20) ? Never : tb_pkg::chance(20) ? 0
            : longint'($urandom() % 400);
        now = tb_pkg::chance(20) && clock > 50 ? clock - 50 : clock;
        calling <= 1'b1;
        request_valid <= 1'b1;
        request_tag <= 4'($urandom());
        case (number)
          7: arguments = ArgumentBits'(nanoseconds);
          8: arguments = ArgumentBits'({KeyBits'(key), guess, value});
          2, 3, 4: arguments = ArgumentBits'({KeyBits'(key), value});
          9, 16: arguments = {KeyBits'(key), nanoseconds};
          default: arguments = ArgumentBits'(KeyBits'(key));
        endcase
        request_data <= {SelectBits'(method), arguments, now};
      end

      if (ctl_valid && ctl_done) begin
        int unsigned k;
        k = 32'(ctl_data[ValueBits+:KeyBits]);
        ctl_valid <= 1'b0;
        if (ctl_write && ctl_address[31:30] == 2'd3) begin
          case (ctl_address[1:0])
            0: seen = ctl_data[63:0];
            1: begin
              due = ctl_data[63:0];
              ctl_valid <= 1'b1;
              ctl_write <= 1'b0;
              ctl_address <= 32'h4000_0000;
            end
            2: kept = ctl_data[63:0];
            default: ;
          endcase
        end
        if (ctl_write && (ctl_address[31:30] == 2'd1
            || (ctl_address[31:30] == 2'd3 && ctl_address[1:0] == 2'd3))) begin
          for (int unsigned n = 0; n < 2 ** KeyBits; n++) there[n] = 1'b0;
          count = 0;
        end else if (ctl_write && !ctl_address[30]) begin
          control(ctl_data[KeyBits+ValueBits], ctl_address[31], k, ctl_data[ValueBits-1:0]);
        end else if (!ctl_write && ctl_address[31:30] == 2'd1) begin
          if (check_found()) begin
            ctl_valid <= 1'b1;
            ctl_address <= 32'h4000_0001;
          end else finding <= 1'b0;
        end else if (!ctl_write && ctl_address[31:30] == 2'd3) begin
          if (ctl_answer !== CtlBits'(seen)) $fatal(1, "%m: the time is %0d", ctl_answer);
        end else if (!ctl_write && ctl_address[31]) check_times();
        else if (!ctl_write) check_entry();
      end else if (!ctl_valid && !finding && tb_pkg::chance(6)) begin
        bit writes;
        writes = tb_pkg::chance(Timers ? 40 : 128);
        ctl_valid <= 1'b1;
        ctl_write <= writes;
        // Timers are not static.
        ctl_address <= {tb_pkg::chance(100) || (Timers && writes), 31'($urandom() % (Size + 2))};
        ctl_data <= CtlBits'({tb_pkg::chance(150), KeyBits'($urandom()),
            Timers ? ValueBits'(0) : ValueBits'($urandom())});
      end else if (!ctl_valid && !finding && !calling && !begins) begin
        if (tb_pkg::chance(8)) begin
          ctl_valid <= 1'b1;
          ctl_write <= tb_pkg::chance(128);
          ctl_address <= 32'hc000_0000;
          // Time runs backwards only where no entry is absent since its time was over.
          ctl_data <= CtlBits'((Claimed ? youngest() : seen) + 64'($urandom() % 50));
        end else if (tb_pkg::chance(8)) begin
          ctl_valid <= 1'b1;
          ctl_write <= 1'b1;
          ctl_address <= 32'hc000_0002;
          ctl_data <= CtlBits'($urandom() % 300);
        end else if (Claimed && tb_pkg::chance(60)) begin
          finding <= 1'b1;
          ctl_valid <= 1'b1;
          ctl_write <= 1'b1;
          ctl_address <= 32'hc000_0001;
          ctl_data <= CtlBits'(tb_pkg::chance(60) ? 64'd0
              : (clock + 64'($urandom() % 400)) / Tick * Tick);
        end else if (tb_pkg::chance(1) && tb_pkg::chance(64)) begin
          ctl_valid <= 1'b1;
          ctl_write <= 1'b1;
          ctl_address <= tb_pkg::chance(128) ? 32'h4000_0000 : 32'hc000_0003;
          ctl_data <= CtlBits'({$urandom(), $urandom()});
        end
      end
    end
  end
endmodule
