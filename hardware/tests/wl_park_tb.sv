// Test bench of wl_park: packets are kept, taken, discarded and moved under few keys, so that
// buckets have several keys, keys have several packets, and the park is full, and are compared with
// a plain list of packets. Times jump, come exactly to an age and run backwards. Bodies have all
// lengths, and counts that are too long; body buffer and memory are full of random bytes, and each
// access must be within what the operation moves. The control plane reads everything along the list
// by age, discards packets by key, empties and restores the park, and sets seed and time. Replies
// come after the promised cycles. Over sizes, widths, ages, lengths and latencies.
module wl_park_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Size = {32'd16, 32'd5, 32'd16, 32'd5, 32'd2, 32'd1};
  localparam bit [Cases*32-1:0] Buckets = {32'd2, 32'd8, 32'd4, 32'd8, 32'd2, 32'd2};
  localparam bit [Cases*32-1:0] KeyBits = {32'd13, 32'd1, 32'd40, 32'd40, 32'd13, 32'd1};
  localparam bit [Cases*64-1:0] Age = {64'd0, 64'd50, 64'd600, 64'd0, 64'd300, 64'd0};
  localparam bit [Cases*32-1:0] BodyBytes = {32'd40, 32'd24, 32'd64, 32'd129, 32'd100, 32'd1};
  localparam bit [Cases*32-1:0] DataBytes = {32'd16, 32'd8, 32'd64, 32'd64, 32'd16, 32'd16};
  localparam bit [Cases*32-1:0] DataBits = {32'd72, 32'd64, 32'd72, 32'd72, 32'd72, 32'd66};
  localparam bit [Cases*32-1:0] AddressBits = {32'd10, 32'd9, 32'd11, 32'd12, 32'd7, 32'd6};
  localparam bit [Cases*32-1:0] ReadLatency = {32'd4, 32'd1, 32'd9, 32'd3, 32'd9, 32'd2};
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 6'b001110;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases), .Limit(800000)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    park_case #(
        .Size(Size[32*i+:32]), .Buckets(Buckets[32*i+:32]), .KeyBits(KeyBits[32*i+:32]),
        .Age(Age[64*i+:64]), .BodyBytes(BodyBytes[32*i+:32]), .DataBytes(DataBytes[32*i+:32]),
        .DataBits(DataBits[32*i+:32]), .AddressBits(AddressBits[32*i+:32]),
        .ReadLatency(ReadLatency[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module park_case #(
    parameter int unsigned Size = 4,
    parameter int unsigned Buckets = 4,
    parameter int unsigned KeyBits = 8,
    parameter logic [63:0] Age = 64'd0,
    parameter int unsigned BodyBytes = 40,
    parameter int unsigned DataBytes = 16,
    parameter int unsigned DataBits = 72,
    parameter int unsigned AddressBits = 10,
    parameter int unsigned ReadLatency = 4
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Operations = 20000;
  localparam int unsigned PlaceBits = 5;
  localparam int unsigned Lanes = DataBytes / 8;
  localparam int unsigned BodyBeats = (BodyBytes + DataBytes - 1) / DataBytes;
  localparam int unsigned WordBits = $clog2(32 + BodyBeats * Lanes);
  localparam int unsigned IndexBits = wl_pkg::bits(Size);
  localparam int unsigned CtlBits = 185 + KeyBits + IndexBits;
  localparam int unsigned BucketBits = $clog2(Buckets);
  localparam int unsigned SeedBits = KeyBits + BucketBits - 1;
  localparam int unsigned RequestBits = 3 + KeyBits + 128 + 16 + PlaceBits + 64;
  localparam int unsigned Bits = 8 * DataBytes;
  localparam int unsigned Keys = Size < 4 ? 2 : 5;
  localparam int unsigned KEEP = 0;
  localparam int unsigned TAKE = 1;
  localparam int unsigned EXPIRE = 2;
  localparam int unsigned PUT = 3;
  localparam int unsigned GET = 4;
  localparam int unsigned STORE = 5;
  localparam int unsigned FETCH = 6;
  localparam logic [63:0] Never = '1;
  localparam logic [63:0] Scale = Age == 0 ? 64'd300 : Age;  // of times

  logic request_valid, request_ready, reply_valid, ctl_valid, ctl_write, ctl_done, hold;
  logic [3:0] request_tag, reply_tag;
  logic [RequestBits-1:0] request_data;
  logic [127:0] reply_data;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_data, ctl_answer;
  logic access_read, access_write;
  logic [PlaceBits-1:0] access_address, access_write_address;
  logic [Bits-1:0] access_data, access_write_data;
  logic read_valid, write_valid;
  logic [AddressBits-1:0] read_address, write_address;
  logic [DataBits-1:0] read_data, write_data;

  wl_park #(
      .KeyBits(KeyBits), .Size(Size), .Age(Age), .BodyBytes(BodyBytes), .DataBytes(DataBytes),
      .PlaceBits(PlaceBits), .DataBits(DataBits), .AddressBits(AddressBits),
      .ReadLatency(ReadLatency), .TagBits(4), .CtlBits(CtlBits), .CtlTarget(8'd3), .Buckets(Buckets)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(request_valid), .request_ready_o(request_ready), .request_tag_i(request_tag),
      .request_data_i(request_data),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address), .ctl_data_i(ctl_data),
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_answer),
      .access_read_o(access_read), .access_address_o(access_address), .access_data_i(access_data),
      .access_write_o(access_write), .access_write_address_o(access_write_address),
      .access_write_data_o(access_write_data),
      .read_valid_o(read_valid), .read_address_o(read_address), .read_data_i(read_data),
      .write_valid_o(write_valid), .write_address_o(write_address), .write_data_o(write_data),
      .hold_i(hold)
  );

  // The model: the packets, oldest first, the memory as it should be, and the current slot.
  logic [KeyBits-1:0] keys[Size];
  logic [63:0] since[Size];
  logic [120:0] metas[Size];
  int unsigned slots[Size];
  int unsigned count, current, fresh;
  longint unsigned seen;
  logic [63:0] want[2**AddressBits];

  // What surrounds the module.
  logic [63:0] memory[2**AddressBits];
  logic [Bits-1:0] body[2**PlaceBits];
  logic [ReadLatency-1:0][DataBits-1:0] line;
  assign read_data = line[ReadLatency-1];

  function automatic logic [63:0] random();
    return {$urandom(), $urandom()};
  endfunction

  function automatic void take_out(int unsigned number);
    count--;
    for (int unsigned k = number; k < count; k++) begin
      keys[k] = keys[k+1];
      since[k] = since[k+1];
      metas[k] = metas[k+1];
      slots[k] = slots[k+1];
    end
  endfunction

  // Appends a packet. Its slot must be free, and the next one if all slots before it are used.
  task automatic append(logic [KeyBits-1:0] key_, logic [63:0] since_, logic [120:0] meta_,
      int unsigned slot_);
    for (int unsigned k = 0; k < count; k++) begin
      if (slots[k] == slot_) $fatal(1, "%m: slot %0d is not free", slot_);
    end
    if (slot_ >= Size || (count == fresh && slot_ != fresh)) begin
      $fatal(1, "%m: slot %0d, not %0d", slot_, fresh);
    end
    if (slot_ >= fresh) fresh = slot_ + 1;
    keys[count] = key_;
    since[count] = since_;
    metas[count] = meta_;
    slots[count] = slot_;
    count++;
  endtask

  // The bucket of a key: at first the exclusive OR of its digits, each with its bits reversed, and
  // then what the control plane's seed makes of it.
  bit seeded;
  logic [SeedBits-1:0] seed;
  function automatic logic [BucketBits-1:0] bucket(logic [KeyBits-1:0] of_key);
    bucket = '0;
    for (int unsigned k = 0; k < KeyBits; k++) begin
      if (!seeded && of_key[k]) bucket ^= BucketBits'(1) << (BucketBits - 1 - k % BucketBits);
      for (int unsigned i = 0; i < BucketBits; i++) begin
        if (seeded && of_key[k] && seed[k+i]) bucket ^= BucketBits'(1) << i;
      end
    end
  endfunction

  // Discards packets that are older than `limit`. Returns their number.
  function automatic int unsigned discard(longint unsigned limit);
    discard = 0;
    while (count > 0 && seen - since[0] > limit) begin
      take_out(0);
      discard++;
    end
  endfunction

  // The call, and what it should do.
  int unsigned op, body_count, place, beats, words, base;
  logic [KeyBits-1:0] key;
  logic [127:0] data;
  logic [3:0] tag;
  longint unsigned now, clock;
  bit calling, accepted;
  int unsigned cycles;                       // since the call was accepted
  int unsigned reads, writes, loads, saves;  // accesses of the call
  int unsigned moves;                        // movements left for the packet
  int unsigned done;

  // How often something happened.
  int unsigned full, deep, old, many_old, wraps, dropped, restored, over_full, walked, backwards;

  assign done_o = done == Operations;

  // Whether a word of the memory belongs to what the call moves.
  function automatic bit is_mine(int unsigned at);
    return at >= base && at < base + words;
  endfunction

  function automatic bit is_my_beat(logic [PlaceBits-1:0] at);
    return 32'(PlaceBits'(at - PlaceBits'(place))) < beats;
  endfunction

  // Checks the cycles from the call to its reply.
  task automatic check_cycles(int unsigned promised);
    if (cycles != promised) begin
      $fatal(1, "%m: operation %0d took %0d cycles, not %0d", op, cycles, promised);
    end
  endtask

  // Checks the reply of a call, and performs it in the model.
  task automatic check_reply();
    logic [127:0] expected;
    int unsigned aged, number, ahead, least;
    expected = '0;
    aged = 0;
    if (op <= EXPIRE) begin
      if (now < seen) backwards++;
      if (now > seen) seen = now;
      if (Age != 0) aged = discard(Age);
      old += aged;
    end
    least = 5 * aged + (Age != 0 && count != 0 ? 3 : 0);
    // Calls that find no packet or no room leave the current slot as it is.
    if (op <= EXPIRE && tb_pkg::chance(30)) moves = $urandom() % 3;
    case (op)
      KEEP: begin
        if (count == Size) begin
          full++;
          least--;
        end else begin
          expected = 128'd1;
          current = 32'(i_dut.current);
          append(key, seen, data[120:0], current);
          moves = tb_pkg::chance(40) ? 0 : $urandom() % 7;
        end
        check_cycles(least + 5);
      end
      TAKE: begin
        number = 0;
        ahead = 0;
        while (number < count && keys[number] != key) begin
          if (bucket(keys[number]) == bucket(key)) ahead++;
          number++;
        end
        if (number < count) begin
          expected = 128'({1'b1, metas[number]});
          current = slots[number];
          check_cycles(least + 8 + 2 * ahead);
          if (ahead > 0) deep++;
          take_out(number);
          moves = tb_pkg::chance(40) ? 0 : $urandom() % 7;
        end else check_cycles(least + 4 + 2 * ahead);
      end
      EXPIRE: begin
        number = discard(data[63:0]);
        if (number > 1) many_old++;
        expected = 128'(number);
        least = 3 + 5 * (aged + number) + (count != 0 ? 2 : 0);
        check_cycles(least);
      end
      PUT: check_cycles(4);
      GET: begin
        expected = {want[base], want[base+1]};
        check_cycles(4 + ReadLatency);
      end
      STORE: begin
        if (beats == 0) check_cycles(3);
        else check_cycles(words + 4);
      end
      default: begin
        if (beats == 0) check_cycles(3);
        else check_cycles(words + ReadLatency + 3);
        for (int unsigned k = 0; k < words; k++) begin
          if (body[PlaceBits'(place+k/Lanes)][64*(k%Lanes)+:64] !== want[base+k]) begin
            $fatal(1, "%m: word %0d of the body is %h, not %h", k,
                body[PlaceBits'(place+k/Lanes)][64*(k%Lanes)+:64], want[base+k]);
          end
        end
      end
    endcase
    for (int unsigned k = 0; k < words; k++) begin
      if (memory[base+k] !== want[base+k]) begin
        $fatal(1, "%m: word %0d of the slot is %h, not %h", k, memory[base+k], want[base+k]);
      end
    end
    if (reads != (op == GET || op == FETCH ? words : 0)
        || writes != (op == PUT || op == STORE ? words : 0)
        || loads != (op == STORE ? beats : 0) || saves != (op == FETCH ? beats : 0)) begin
      $fatal(1, "%m: operation %0d of %0d bytes made %0d, %0d, %0d and %0d accesses", op,
          body_count, reads, writes, loads, saves);
    end
    if (reply_data !== expected) begin
      $fatal(1, "%m: operation %0d with key %h: %h, not %h", op, key, reply_data, expected);
    end
    if (reply_tag !== tag) $fatal(1, "%m: a wrong tag");
  endtask

  // Chooses a call.
  logic [KeyBits-1:0] pool[Keys];
  task automatic choose();
    int unsigned draw;
    draw = $urandom() % 100;
    key = tb_pkg::chance(12) ? KeyBits'(random()) : pool[$urandom()%Keys];
    data = {random(), random()};
    body_count = tb_pkg::chance(128) ? $urandom() % (BodyBytes + 1) : tb_pkg::chance(200)
        ? DataBytes * ($urandom() % (BodyBeats + 1)) + $urandom() % 3 : $urandom() % 65536;
    place = $urandom() % (2 ** PlaceBits);
    if (moves == 0) begin
      clock += longint'(tb_pkg::chance(2) ? random() >> 30 : tb_pkg::chance(12)
          ? 64'($urandom()) % (2 * Scale) : 64'($urandom()) % (Scale / 16));
    end
    now = clock;
    if (tb_pkg::chance(25)) now = clock - (tb_pkg::chance(128) ? 64'd60 : random() >> 30);
    // The oldest packet is often exactly as old as it may be, or a nanosecond older.
    if (Age != 0 && count > 0 && tb_pkg::chance(30)) now = since[0] + Age + 64'($urandom() % 2);
    if (moves > 0) begin
      moves--;
      op = PUT + $urandom() % 4;
      if (op <= GET && tb_pkg::chance(220)) body_count = $urandom() % 16;
    end else begin
      // The park is filled, then emptied.
      op = draw < 8 ? EXPIRE : draw < ((done / 400) % 2 == 0 ? 70 : 40) ? KEEP : TAKE;
      if (op == EXPIRE && count > 0) begin
        if (tb_pkg::chance(180)) begin
          data[63:0] = (now > seen ? now : seen) - since[$urandom()%count];
          if (tb_pkg::chance(80) && data[63:0] != 0) data[63:0] = data[63:0] - 64'd1;
        end else if (tb_pkg::chance(128)) data[63:0] = Never;
      end
    end
    beats = 0;
    words = 0;
    base = current * (2 ** WordBits);
    if (op == PUT || op == GET) begin
      words = 2;
      base += 2 * (body_count % 16);
    end else if (op == STORE || op == FETCH) begin
      beats = (body_count + DataBytes - 1) / DataBytes;
      if (beats > BodyBeats) beats = BodyBeats;
      words = beats * Lanes;
      base += 32;
      if (place + beats > 2 ** PlaceBits) wraps++;
      for (int unsigned k = 0; k < 2 ** PlaceBits; k++) begin
        for (int unsigned w = 0; w < Lanes; w++) body[k][64*w+:64] = random();
      end
    end
  endtask

  // The call is accepted: what it will write is what the memory should hold.
  task automatic begin_call();
    accepted = 1'b1;
    cycles = 0;
    {reads, writes, loads, saves} = '0;
    for (int unsigned k = 0; k < words; k++) begin
      if (op == PUT) want[base+k] = k == 0 ? data[127:64] : data[63:0];
      if (op == STORE) want[base+k] = body[PlaceBits'(place+k/Lanes)][64*(k%Lanes)+:64];
    end
  endtask

  // Checks an access of the control plane, and performs it in the model.
  bit alone;            // no call begins before the accesses are done
  int unsigned walk;    // accesses that have read the list by age; 0: it is not read
  int unsigned appends; // packets that will be appended to restore the park
  task automatic check_control();
    int unsigned number, left;
    logic [63:0] word;
    left = count;
    case ({ctl_write, ctl_address[31:30]})
      3'b000: begin
        number = 0;
        while (number < count && slots[number] != ctl_address[29:0]) number++;
        if (32'(ctl_address[29:0]) >= fresh) begin
          if (ctl_answer !== '0) $fatal(1, "%m: there is no slot %0d", ctl_address[29:0]);
        end else if (number < count) begin
          if (ctl_answer[184+KeyBits:0] !== {keys[number], since[number], metas[number]}) begin
            $fatal(1, "%m: packet %0d is %h", number, ctl_answer);
          end
          if (number + 1 < count
              && 32'(ctl_answer[185+KeyBits+:IndexBits]) !== slots[number+1]) begin
            $fatal(1, "%m: after packet %0d comes slot %0d", number,
                ctl_answer[185+KeyBits+:IndexBits]);
          end
        end
        if (walk > 0 && number != walk - 2) $fatal(1, "%m: the list leads to packet %0d", number);
      end
      3'b001: begin
        if (ctl_answer[127:32] !== {seen, count}) $fatal(1, "%m: the park is %h", ctl_answer);
        if (count > 0 && ctl_answer[31:0] !== slots[0]) $fatal(1, "%m: oldest: %h", ctl_answer);
      end
      3'b010: begin
        number = 32'(ctl_address[29:0]);
        word = number < Size * 2 ** WordBits ? want[number] : 64'd0;
        if (ctl_answer !== CtlBits'(word)) $fatal(1, "%m: word %h is %h", number, ctl_answer);
      end
      3'b011: if (ctl_answer !== '0) $fatal(1, "%m: data of nothing");
      3'b100: begin
        for (int unsigned k = 0; k < left; k++) begin
          number = left - 1 - k;
          if (keys[number] == ctl_data[KeyBits-1:0]) take_out(number);
        end
        if (left > count + 1) dropped++;
      end
      3'b101: begin
        if (ctl_address[1:0] == 2'd1) seen = ctl_data[63:0];
        else if (!ctl_address[0]) {count, fresh} = '0;
        if (ctl_address[1:0] == 2'd0) begin
          seeded = 1'b1;
          seed = ctl_data[SeedBits-1:0];
        end
      end
      3'b110: begin
        number = 32'(ctl_address[29:0]);
        if (number < Size * 2 ** WordBits && memory[number] !== ctl_data[63:0]) begin
          $fatal(1, "%m: word %h is not written", number);
        end
      end
      default: begin
        if (count == Size) over_full++;
        else begin
          append(ctl_data[185+:KeyBits], ctl_data[184:121], ctl_data[120:0], 32'(i_dut.newest));
          restored++;
        end
      end
    endcase
    if (ctl_write && ctl_answer !== '0) $fatal(1, "%m: a write has data");
  endtask

  // Chooses an access of the control plane. Some must be alone: the list must not change while it
  // is read, and no packet may wait for its movements when slots are given out or words written.
  task automatic choose_control();
    int unsigned draw;
    longint unsigned youngest, least, picked;
    draw = $urandom() % 100;
    youngest = count > 0 ? since[count-1] : 0;
    least = seen < youngest + 400 ? youngest : seen - 400;
    ctl_target <= 8'd3;
    ctl_write <= 1'b1;
    ctl_data <= CtlBits'({random(), random(), random(), random()});
    if (appends > 0) begin
      appends--;
      draw = 99;
    end else alone = !calling && moves == 0 && tb_pkg::chance(200);
    if (draw < 15) begin
      ctl_write <= 1'b0;
      ctl_address <= $urandom() % (Size + 2);
    end else if (draw < 30) begin
      ctl_write <= 1'b0;
      ctl_address <= {2'd2, 30'(tb_pkg::chance(20) ? $urandom()
          : $urandom() % (Size * 2 ** WordBits + 3))};
    end else if (draw < 35) begin
      ctl_write <= 1'b0;
      ctl_address <= {tb_pkg::chance(128), 1'b1, 30'($urandom())};
    end else if (draw < 43) begin
      ctl_address <= {2'd0, 30'($urandom())};
      ctl_data[KeyBits-1:0] <= pool[$urandom()%Keys];
    end else if (draw < 46) begin
      // Another target's access.
      ctl_target <= 8'd2;
      ctl_address <= $urandom();
      alone = 1'b0;
    end else if (draw < 52) begin
      // The park is emptied, with a new seed or without, and restored.
      ctl_address <= {2'd1, 28'($urandom()), draw < 48 ? 2'd0 : draw < 50 ? 2'd2 : 2'd3};
      if (alone && draw < 50) begin
        appends = tb_pkg::chance(100) ? Size + 2 : $urandom() % (Size + 1);
      end
    end else if (!alone) begin
      ctl_write <= 1'b0;
      ctl_address <= {2'd1, 30'($urandom())};
    end else if (draw < 65) begin
      walk = 1;
      ctl_write <= 1'b0;
      ctl_address <= {2'd1, 30'($urandom())};
    end else if (draw < 75) begin
      ctl_address <= {2'd2, 30'($urandom() % (Size * 2 ** WordBits + 3))};
    end else if (draw < 80) begin
      // Only times that no packet is later than.
      ctl_address <= {2'd1, 28'($urandom()), 2'd1};
      picked = (count > 0 ? youngest : clock - 200) + 64'($urandom() % 400);
      ctl_data[63:0] <= picked;
    end else begin
      ctl_address <= {2'd3, 30'($urandom())};
      picked = least + 64'($urandom()) % (seen - least + 64'd1);
      ctl_data[184:121] <= picked;
      ctl_data[185+:KeyBits] <= pool[$urandom()%Keys];
    end
  endtask

  always @(posedge clk_i) begin
    // The memory, with random words where nothing is read, and random bits above a word.
    line[0] <= DataBits'({random(), random()});
    if (read_valid === 1'b1) line[0][63:0] <= memory[read_address];
    for (int unsigned k = 1; k < ReadLatency; k++) line[k] <= line[k-1];
    if (access_read === 1'b1) access_data <= body[access_address];

    if (rst_i) begin
      {request_valid, ctl_valid, hold} <= '0;
      {calling, accepted, alone, seeded} = '0;
      {op, done, count, current, fresh, moves, walk, appends, cycles} = '0;
      {words, beats, base} = '0;
      {full, deep, old, many_old, wraps, dropped, restored, over_full, walked, backwards} = '0;
      seen = 0;
      clock = (random() >> 1) + 64'h1_0000_0000_0000;
      for (int unsigned k = 0; k < Keys; k++) pool[k] = KeyBits'(random());
      if (KeyBits == 1) for (int unsigned k = 0; k < Keys; k++) pool[k] = KeyBits'(k);
      for (int unsigned k = 0; k < 2 ** AddressBits; k++) begin
        memory[k] = random();
        want[k] = memory[k];
      end
      for (int unsigned w = 0; w < Lanes; w++) access_data[64*w+:64] <= random();
    end else if (!done_o) begin
      cycles++;

      // Accesses: of the call that was accepted, or else of the control plane.
      if (read_valid) begin
        reads++;
        if (accepted ? !(op == GET || op == FETCH) || !is_mine(32'(read_address))
            : !ctl_valid || ctl_write || ctl_address !== {2'd2, 30'(read_address)}) begin
          $fatal(1, "%m: word %h is read", read_address);
        end
      end
      if (write_valid) begin
        writes++;
        if (accepted ? !(op == PUT || op == STORE) || !is_mine(32'(write_address))
            : !ctl_valid || !ctl_write || ctl_address !== {2'd2, 30'(write_address)}) begin
          $fatal(1, "%m: word %h is written", write_address);
        end
        if (!accepted) want[write_address] = ctl_data[63:0];
        if (write_data >> 64 != '0) $fatal(1, "%m: %h has too many bits", write_data);
        memory[write_address] = write_data[63:0];
      end
      if (access_read) begin
        loads++;
        if (!accepted || op != STORE || !is_my_beat(access_address)) begin
          $fatal(1, "%m: beat %h is read", access_address);
        end
      end
      if (access_write) begin
        saves++;
        if (!accepted || op != FETCH || !is_my_beat(access_write_address)) begin
          $fatal(1, "%m: beat %h is written", access_write_address);
        end
        body[access_write_address] = access_write_data;
      end

      if (reply_valid) begin
        if (!accepted) $fatal(1, "%m: a reply to nothing");
        check_reply();
        calling = 1'b0;
        accepted = 1'b0;
        words = 0;
        beats = 0;
        done = done + 1;
        if (done == Operations) begin
          for (int unsigned k = 0; k < 2 ** AddressBits; k++) begin
            if (memory[k] !== want[k]) $fatal(1, "%m: word %h is %h", k, memory[k]);
          end
          if (full < 5 || (Size > 1 && deep < 10) || (Age != 0 && old < 50)
              || (Size > 2 && (many_old < 10 || dropped < 5)) || (BodyBeats > 1 && wraps < 20)
              || restored < 20 || over_full < 1 || walked < 20 || backwards < 100) begin
            $fatal(1, "%m: too seldom: %0d %0d %0d %0d %0d %0d %0d %0d %0d %0d", full, deep, old,
                many_old, wraps, dropped, restored, over_full, walked, backwards);
          end
        end
      end

      // The control plane.
      if (ctl_done && !(ctl_valid && ctl_target == 8'd3)) $fatal(1, "%m: done with nothing");
      if (!ctl_done && ctl_answer !== '0) $fatal(1, "%m: data of nothing");
      if (ctl_valid && ctl_done) begin
        check_control();
        ctl_valid <= 1'b0;
        if (walk > 0 && walk <= count) begin
          ctl_valid <= 1'b1;
          ctl_address <= walk == 1 ? ctl_answer[31:0] : 32'(ctl_answer[185+KeyBits+:IndexBits]);
          walk++;
        end else begin
          if (walk > 1) walked++;
          walk = 0;
          if (appends == 0) alone = 1'b0;
        end
      end else if (ctl_valid && ctl_target != 8'd3) begin
        if (tb_pkg::chance(20)) ctl_valid <= 1'b0;
      end else if (!ctl_valid && (appends > 0 || tb_pkg::chance(12))) begin
        ctl_valid <= 1'b1;
        choose_control();
      end

      if (request_valid && request_ready) begin
        if (hold) $fatal(1, "%m: a request is accepted in spite of hold_i");
        // What follows is no part of the request.
        request_valid <= 1'b0;
        request_tag <= ~tag;
        request_data <= ~request_data;
        begin_call();
      end

      if (!calling && !alone && tb_pkg::chance(done % 1000 < 300 ? 256 : 100)) begin
        choose();
        calling = 1'b1;
        request_valid <= 1'b1;
        tag = 4'($urandom());
        request_tag <= tag;
        request_data <= {3'(op), key, data, 16'(body_count), PlaceBits'(place), now};
      end
      hold <= tb_pkg::chance(30);
    end
  end
endmodule
