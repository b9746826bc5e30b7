// Test bench of wl_exact_table: calls of all methods and accesses of the control plane with few
// keys, so that chains, a full table, expiry and static entries occur together, compared with a
// model of a flag, a value and a time for each key; the control plane also sets the time and
// inserts entries that age, and sets the seed, which empties the table. Over sizes, ages and
// chains, and with a single method. Keys that collide with one seed are found all the same, and do
// not collide with another.
module wl_exact_table_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Size = {32'd1, 32'd5, 32'd16, 32'd9, 32'd30};
  localparam bit [Cases*32-1:0] Chains = {32'd2, 32'd2, 32'd16, 32'd8, 32'd4};
  localparam bit [Cases*64-1:0] Age = {64'd40, 64'd300, 64'd0, 64'd0, 64'd1000};
  localparam bit [Cases-1:0] HasTime = 5'b11011;
  localparam bit [Cases*32-1:0] MethodCount = {32'd9, 32'd8, 32'd6, 32'd9, 32'd9};

  logic clk, rst;
  logic [Cases-1:0] done;
  logic seeds_done;
  tb_end #(.Cases(Cases + 1)) i_end (.clk_o(clk), .rst_o(rst), .done_i({seeds_done, done}));
  exact_seed_case i_seeds (.clk_i(clk), .rst_i(rst), .done_o(seeds_done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    exact_case #(
        .Size(Size[32*i+:32]), .Chains(Chains[32*i+:32]), .Age(Age[64*i+:64]), .HasTime(HasTime[i]),
        .MethodCount(MethodCount[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module exact_case #(
    parameter int unsigned Size = 4,
    parameter int unsigned Chains = 4,
    parameter logic [63:0] Age = 64'd0,
    parameter bit HasTime = 1'b1,
    parameter int unsigned MethodCount = 8
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned KeyBits = 6;
  localparam int unsigned ValueBits = 12;
  localparam int unsigned ArgumentBits = MethodCount >= 8 ? 64 : KeyBits + ValueBits;
  localparam int unsigned TimeBits = HasTime ? 64 : 0;
  localparam int unsigned SelectBits = wl_pkg::bits(MethodCount);
  localparam int unsigned RequestBits = SelectBits + ArgumentBits + TimeBits;
  localparam int unsigned ReplyBits = MethodCount >= 8 ? 65 : 2 + ValueBits;
  localparam int unsigned Operations = 3000;

  logic request_valid, request_ready, reply_valid, ctl_valid, ctl_write, ctl_done;
  logic [3:0] request_tag, reply_tag;
  logic [RequestBits-1:0] request_data;
  logic [ReplyBits-1:0] reply_data;
  logic [31:0] ctl_address;
  logic [63:0] ctl_data, ctl_answer;

  wl_exact_table #(
      .KeyBits(KeyBits), .ValueBits(ValueBits), .Size(Size), .MethodCount(MethodCount),
      .Methods((4 * MethodCount)'(36'h876543210)), .ArgumentBits(ArgumentBits),
      .ReplyBits(ReplyBits), .HasTime(HasTime), .Age(Age),
      .Cuts(12'h021), .TagBits(4), .CtlBits(64), .CtlTarget(8'd3), .Chains(Chains)
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
  bit there[2**KeyBits], fixed[2**KeyBits];
  logic [ValueBits-1:0] values[2**KeyBits];
  longint unsigned touched[2**KeyBits];
  longint unsigned seen;
  int unsigned count, swaps;

  function automatic int unsigned expire(longint unsigned limit);
    expire = 0;
    for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
      if (there[k] && !fixed[k] && seen - touched[k] > limit) begin
        there[k] = 1'b0;
        count--;
        expire++;
      end
    end
  endfunction

  // Fields of 5, 5 and 2 bits (Cuts is 1 at bits 0 and 5), except for what is above.
  function automatic logic [ValueBits-1:0] add(logic [ValueBits-1:0] a, logic [ValueBits-1:0] b);
    return {7'(a[11:5] + b[11:5]), 5'(a[4:0] + b[4:0])};
  endfunction

  function automatic logic [64:0] act(int unsigned method, int unsigned key,
      logic [ValueBits-1:0] expected, logic [ValueBits-1:0] value, longint unsigned older,
      longint unsigned now);
    longint unsigned at;
    bit existed;
    logic [ValueBits-1:0] reply;
    act = '0;
    at = now > seen ? now : seen;
    if (method != 0 && method != 6 && HasTime) begin
      seen = at;
      if (Age != 0) void'(expire(Age));
    end
    existed = there[key] && (!HasTime || fixed[key] || Age == 0 || at - touched[key] <= Age);
    reply = existed ? values[key] : '0;
    case (method)
      0: act = 65'({existed, reply});
      1: begin
        act = 65'({existed, reply});
        if (existed) touched[key] = seen;
      end
      2, 4: begin
        if (existed || count < Size) begin
          if (!existed) begin
            there[key] = 1'b1;
            fixed[key] = 1'b0;
            count++;
            values[key] = value;
          end else if (method == 4) values[key] = add(values[key], value);
          touched[key] = seen;
          act = 65'({1'b1, existed, values[key]});
        end
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
        if (existed) begin
          there[key] = 1'b0;
          count--;
        end
      end
      6: act = 65'({existed, existed && !fixed[key] ? 64'(at - touched[key]) : 64'd0});
      8: begin
        act = 65'({existed, existed && reply == expected, reply});
        if (existed) begin
          if (reply == expected) begin
            values[key] = value;
            swaps = swaps + 1;
          end
          touched[key] = seen;
        end
      end
      default: act = 65'(expire(older));
    endcase
  endfunction

  task automatic control(bit removes, bit ages, int unsigned key, logic [ValueBits-1:0] value);
    if (removes) begin
      if (there[key]) count--;
      there[key] = 1'b0;
    end else if (there[key] && ages) begin
      touched[key] = seen;
    end else if (there[key] || count < Size) begin
      if (!there[key]) count++;
      there[key]   = 1'b1;
      fixed[key]   = !ages;
      values[key]  = value;
      touched[key] = seen;
    end
  endtask

  // Checks a time that the control plane has read.
  task automatic check_time();
    int unsigned number;
    logic [63:0] expected;
    number = 32'(ctl_address[29:0]);
    expected = '0;
    if (ctl_address[30]) expected = HasTime ? seen : '0;
    else if (HasTime && number < 32'(i_dut.fresh)) begin
      // Only entries that are there and age have a time.
      if (i_dut.i_kinds.memory[number] != 2'b10) return;
      expected = touched[i_dut.i_keys.memory[number]];
    end
    if (ctl_answer !== expected) begin
      $fatal(1, "%m: time %h is %0d, not %0d", ctl_address, ctl_answer, expected);
    end
  endtask

  // Returns the earliest time that the table may have: that of its youngest entry.
  function automatic longint unsigned youngest();
    youngest = 0;
    for (int unsigned k = 0; k < 2 ** KeyBits; k++) begin
      if (there[k] && !fixed[k] && touched[k] > youngest) youngest = touched[k];
    end
  endfunction

  // One call and one access at a time; the model performs each when its reply comes.
  int unsigned done, method, key, full;
  logic [ValueBits-1:0] value, guess;
  logic [ArgumentBits-1:0] arguments;
  longint unsigned now, older, clock;
  bit calling, begins;
  assign done_o = done == Operations;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {request_valid, ctl_valid, calling} <= '0;
      {done, count, full, swaps} = '0;
      {seen, clock} = '0;
      for (int unsigned k = 0; k < 2 ** KeyBits; k++) there[k] = 1'b0;
    end else if (!done_o) begin
      if (request_valid && request_ready) request_valid <= 1'b0;
      if (reply_valid) begin
        logic [64:0] expected;
        expected = act(method, key, guess, value, older, now);
        if (!calling || reply_tag !== request_tag || reply_data !== ReplyBits'(expected)) begin
          $fatal(1, "%m: method %0d of key %0d, value %h, at %0d: %h, not %h", method, key, value,
              now, reply_data, expected);
        end
        calling <= 1'b0;
        done = done + 1;
        if (count == Size) full = full + 1;
        if (done === Operations && Size < 20 && full < 50) begin
          $fatal(1, "%m: the table was hardly ever full");
        end
        if (done === Operations && MethodCount == 9 && Size > 4 && swaps < 5) begin
          $fatal(1, "%m: few values were swapped");
        end
      end
      // No call begins while the time is set, since it might touch an entry at a later time.
      begins = !calling && !(ctl_valid && ctl_address[31:30] == 2'd3) && tb_pkg::chance(200);
      if (begins) begin
        clock += longint'(tb_pkg::chance(30) ? $urandom() % 700 : $urandom() % 12);
        method = $urandom() % MethodCount;
        // More entries are inserted than removed.
        if (tb_pkg::chance(90)) method = 2;
        key = tb_pkg::chance(128) ? $urandom() % (2 * Size < 64 ? 2 * Size : 64) : $urandom() % 64;
        value = ValueBits'($urandom());
        // Usually the value that the key has, or one that differs in a bit.
        guess = values[key];
        if (tb_pkg::chance(128)) guess ^= ValueBits'(1) << ($urandom() % ValueBits);
        older = longint'($urandom() % 200);
        now = tb_pkg::chance(20) && clock > 50 ? clock - 50 : clock;
        calling <= 1'b1;
        request_valid <= 1'b1;
        request_tag <= 4'($urandom());
        arguments = method == 7 ? ArgumentBits'(older)
            : method == 8 ? ArgumentBits'({KeyBits'(key), guess, value})
            : method == 2 || method == 3 || method == 4 ? ArgumentBits'({KeyBits'(key), value})
                : ArgumentBits'(KeyBits'(key));
        request_data <= HasTime ? RequestBits'({SelectBits'(method), arguments, now})
            : RequestBits'({SelectBits'(method), arguments});
      end

      if (ctl_valid && ctl_done) begin
        int unsigned k;
        k = 32'(ctl_data[ValueBits+:KeyBits]);
        ctl_valid <= 1'b0;
        if (ctl_write && ctl_address[31:30] == 2'd3) seen = HasTime ? ctl_data : '0;
        else if (ctl_write && ctl_address[31:30] == 2'd1) begin
          for (int unsigned n = 0; n < 2 ** KeyBits; n++) there[n] = 1'b0;
          count = 0;
        end else if (ctl_write) begin
          control(ctl_data[KeyBits+ValueBits], ctl_address[31], k, ctl_data[ValueBits-1:0]);
        end else if (ctl_address[31]) check_time();
        else if (ctl_answer[KeyBits+ValueBits+2]) begin
          int unsigned shown;
          bit live;
          shown = 32'(ctl_answer[ValueBits+:KeyBits]);
          live = there[shown]
              && (!HasTime || Age == 0 || fixed[shown] || seen - touched[shown] <= Age);
          // A removed entry may have the same key as a present one.
          if (ctl_answer[KeyBits+ValueBits+1]
              && (!live || ctl_answer[KeyBits+ValueBits] !== fixed[shown]
              || ctl_answer[ValueBits-1:0] !== values[shown])) begin
            $fatal(1, "%m: entry %0d is %h", ctl_address, ctl_answer);
          end
        end else if (ctl_answer !== '0) begin
          $fatal(1, "%m: no entry %0d is %h", ctl_address, ctl_answer);
        end
      end else if (!ctl_valid && tb_pkg::chance(6)) begin
        ctl_valid <= 1'b1;
        ctl_write <= tb_pkg::chance(128);
        ctl_address <= {tb_pkg::chance(100), 31'($urandom() % (Size + 2))};
        ctl_data <= 64'({tb_pkg::chance(150), KeyBits'($urandom()), ValueBits'($urandom())});
      end else if (!ctl_valid && !calling && !begins && tb_pkg::chance(6)) begin
        ctl_valid <= 1'b1;
        ctl_write <= tb_pkg::chance(128);
        ctl_address <= 32'hc000_0000;
        ctl_data <= youngest() + 64'($urandom() % 50);
      end else if (!ctl_valid && !calling && !begins && tb_pkg::chance(1)
          && tb_pkg::chance(64)) begin
        ctl_valid <= 1'b1;
        ctl_write <= 1'b1;
        ctl_address <= 32'h4000_0000;
        ctl_data <= {$urandom(), $urandom()};
      end
    end
  end
endmodule

// Keys that all collide after a reset are as far apart as any others with a random seed.
module exact_seed_case (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned KeyBits = 32;
  localparam int unsigned ChainBits = 6;
  localparam int unsigned Keys = 48;

  logic request_valid, request_ready, reply_valid, ctl_valid, ctl_done;
  logic [KeyBits-1:0] request_data;
  logic [8:0] reply_data;
  logic [31:0] ctl_address;
  logic [63:0] ctl_data;

  wl_exact_table #(
      .KeyBits(KeyBits), .ValueBits(8), .Size(64), .TagBits(1), .CtlBits(64),
      .Chains(2 ** ChainBits)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(request_valid), .request_ready_o(request_ready), .request_tag_i(1'b0),
      .request_data_i(request_data),
      .reply_valid_o(reply_valid), .reply_tag_o(), .reply_data_o(reply_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(1'b1), .ctl_target_i(8'd0), .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_data),
      .ctl_done_o(ctl_done), .ctl_data_o()
  );

  // The lowest two digits of a key are equal, and the others zero.
  function automatic logic [KeyBits-1:0] key_of(int unsigned number);
    return KeyBits'({ChainBits'(number), ChainBits'(number)});
  endfunction

  // Signals change at the falling edge.
  task automatic write(input logic [31:0] address, input logic [63:0] data);
    @(negedge clk_i);
    ctl_valid = 1'b1;
    ctl_address = address;
    ctl_data = data;
    do @(posedge clk_i); while (!ctl_done);
    @(negedge clk_i);
    ctl_valid = 1'b0;
  endtask

  // Looks a key up, and returns the cycles that this takes.
  task automatic look_up(input int unsigned number, input logic [8:0] expected,
      output int unsigned cycles);
    @(negedge clk_i);
    request_valid = 1'b1;
    request_data = key_of(number);
    do @(posedge clk_i); while (!request_ready);
    @(negedge clk_i);
    request_valid = 1'b0;
    cycles = 0;
    do begin
      @(posedge clk_i);
      cycles++;
    end while (!reply_valid);
    if (reply_data != expected) $fatal(1, "key %0d is %h, not %h", number, reply_data, expected);
  endtask

  // Inserts all keys, looks each one up, and returns the most cycles that this takes.
  task automatic longest(output int unsigned cycles);
    int unsigned taken;
    cycles = 0;
    for (int unsigned k = 0; k < Keys; k++) write('0, 64'({1'b0, key_of(k), 8'(k + 1)}));
    for (int unsigned k = 0; k < Keys + 1; k++) begin
      look_up(k, k < Keys ? {1'b1, 8'(k + 1)} : '0, taken);
      if (taken > cycles) cycles = taken;
    end
  endtask

  int unsigned unseeded, seeded, ignored;
  initial begin
    {request_valid, ctl_valid, done_o} = '0;
    do @(posedge clk_i); while (rst_i);
    longest(unseeded);
    write(32'h4000_0000, 64'h19_7a6f_03c5);
    // The new seed has emptied the table.
    look_up(3, '0, ignored);
    longest(seeded);
    if (unseeded < 2 * Keys || seeded > 6 + 2 * 6) begin
      $fatal(1, "%0d cycles, and %0d with a seed", unseeded, seeded);
    end
    done_o = 1'b1;
  end
endmodule
