// Compares one engine shell with tb_engine_core inside, fed with packets (or calls) and services,
// with a model that runs the same program on bytes in order. The simulation stops with an error
// unless every packet leaves once, with the right bytes, tag and result, and with its copies before
// it and only when they may leave; unless every call is made once; unless no packet takes longer
// than Patience cycles; and unless there is a slot in at least `Slots` of 256 cycles at full speed.
module tb_engine #(
    parameter bit Machine = 1'b0,           // 1: wl_engine_fsm
    parameter int unsigned Threads = 4,
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,
    parameter int unsigned Offloads = 2,    // if there are two or more, the highest gives no reply
    parameter int unsigned CoreStages = 0,
    parameter bit HasPacket = 1'b1,
    parameter int unsigned Scheduler = 1,
    parameter int unsigned Storage = 0,
    parameter int unsigned WindowStorage = Storage,
    parameter bit Emits = 1'b1,
    parameter bit Pieces = 1'b0,
    parameter bit Holds = 1'b0,
    parameter bit Clears = 1'b1,
    parameter bit Calls = 1'b1,
    parameter int unsigned Steps = 8,
    parameter int unsigned Delay = 24,      // longest delay of a service
    parameter int unsigned Patience = 4000,
    parameter int unsigned Slots = 0,
    parameter int unsigned Cycles = 1500,   // cycles of a phase of tb_pressure
    parameter int unsigned FullSpeed = Cycles
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int unsigned TagBits = 6;
  localparam int unsigned Tags = 2 ** TagBits;
  localparam int unsigned StepBits = 4;
  localparam int unsigned FirstStep = 5;
  localparam int unsigned InfoBits = 64;  // length, ingress, seed
  localparam int unsigned Context = HasPacket ? wl_pkg::PacketStateBits : 0;
  localparam int unsigned StateBits = Context + 40;
  localparam int unsigned ThreadBits = wl_pkg::bits(Threads);

  typedef struct packed {
    wl_pkg::result_t result;
    logic [31:0] reply;
    logic [15:0] skip;
    logic [256*8-1:0] window;  // byte k at [8k +: 8]
  } leaving_t;

  logic send, window_phase;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(Cycles), .FullSpeed(FullSpeed)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window_phase),
      .done_o
  );

  // ---- The device under test ----

  logic load_valid, load_ready, load_first, load_last;
  logic [127:0] load_data;
  logic [TagBits-1:0] load_tag, unload_tag, order_head;
  logic [InfoBits-1:0] load_info, address_info, core_info;
  logic [StateBits-1:0] load_state, address_state, core_state, next_state;
  logic unload_valid, unload_ready, unload_first, unload_last, order_drained;
  logic [127:0] unload_data;
  wl_pkg::result_t unload_result;
  logic [31:0] unload_reply;
  logic [wl_pkg::bits(Threads + 1)-1:0] idle_threads;
  logic [Threads-1:0] busy_threads;
  logic slot_valid, waiting;
  logic [StepBits-1:0] address_step, core_step, next_step;
  logic [ReadPorts*17-1:0] address_offset;
  logic [ReadPorts*Word-1:0] words;
  logic phase, commit, clear_valid;
  logic [Offloads-1:0] core_request, request_valid, request_ready, waits, replied_valid;
  logic [Offloads*32-1:0] request_data, replies;
  logic [WritePorts-1:0] write_valid;
  logic [WritePorts*8-1:0] write_address;
  logic [WritePorts*HeaderBytes-1:0] write_strobe;
  logic [WritePorts*Word-1:0] write_data;
  logic [7:0] clear_address;
  logic [8:0] clear_count;
  logic [2:0] leave;
  logic [wl_pkg::reason_bits(Pieces)-1:0] reason;
  logic [ThreadBits-1:0] request_thread, replies_thread;
  logic [Offloads*ThreadBits-1:0] replied_thread;
  for (genvar o = 0; o < Offloads; o++) begin : g_waits
    assign waits[o] = o == 0 || o + 1 < Offloads;
  end

`define SHELL \
      .Threads(Threads), .StateBits(StateBits), .InfoBits(InfoBits), .StepBits(StepBits), \
      .ReadPorts(ReadPorts), \
      .WritePorts(WritePorts), .HeaderBytes(HeaderBytes), .Offloads(Offloads), \
      .CoreStages(CoreStages), .TagBits(TagBits), \
      .HasPacket(HasPacket), \
      .Emits(Emits), .Pieces(Pieces), .Holds(Holds), .Clears(Clears), .Scheduler(Scheduler), \
      .Storage(Storage), \
      .WindowStorage(WindowStorage), .FirstStep(FirstStep), .ReplyLsb(Context), \
      .ReplyBits(32) \
  ) i_shell ( \
      .clk_i, .rst_i, .load_valid_i(load_valid), .load_ready_o(load_ready), \
      .load_first_i(load_first), .load_last_i(load_last), \
      .load_data_i(load_data), .load_tag_i(load_tag), .load_info_i(load_info), \
      .load_state_i(load_state), \
      .unload_valid_o(unload_valid), .unload_ready_i(unload_ready), .unload_first_o(unload_first), \
      .unload_last_o(unload_last), \
      .unload_data_o(unload_data), .unload_tag_o(unload_tag), .unload_result_o(unload_result), \
      .unload_reply_o(unload_reply), \
      .order_head_i(order_head), .order_drained_i(order_drained), .idle_o(idle_threads), \
      .busy_o(busy_threads), .slot_valid_o(slot_valid), \
      .wait_o(waiting), .address_step_o(address_step), .address_state_o(address_state), \
      .address_info_o(address_info), \
      .address_offset_i(address_offset), .core_step_o(core_step), .core_state_o(core_state), \
      .core_info_o(core_info), \
      .core_words_o(words), .core_phase_o(phase), .core_request_valid_i(core_request), \
      .core_commit_i(commit), \
      .core_step_i(next_step), .core_state_i(next_state), .core_write_valid_i(write_valid), \
      .core_write_address_i(write_address), .core_write_strobe_i(write_strobe), \
      .core_write_data_i(write_data), \
      .core_clear_valid_i(clear_valid), .core_clear_address_i(clear_address), \
      .core_clear_count_i(clear_count), \
      .core_exit_i(leave), .core_reason_i(reason), .waits_i(waits), \
      .request_valid_o(request_valid), \
      \
      .request_ready_i(request_ready), .request_thread_o(request_thread), \
      .replies_thread_o(replies_thread), \
      .replied_valid_i(replied_valid), .replied_thread_i(replied_thread)
  if (Machine) begin : g_machine
    wl_engine_fsm #(`SHELL);
  end else begin : g_threads
    wl_engine_mt #(`SHELL);
  end
`undef SHELL

  tb_engine_core #(
      .StateBits(StateBits), .InfoBits(InfoBits), .StepBits(StepBits), .ReadPorts(ReadPorts),
      .WritePorts(WritePorts),
      .HeaderBytes(HeaderBytes), .Offloads(Offloads), .CoreStages(CoreStages),
      .HasPacket(HasPacket), .Emits(Emits), .Pieces(Pieces), .Clears(Clears), .Calls(Calls),
      .Steps(Steps)
  ) i_core (
      .clk_i, .waits_i(waits), .address_step_i(address_step), .address_state_i(address_state),
      .address_info_i(address_info),
      .address_offset_o(address_offset), .step_i(core_step), .state_i(core_state),
      .info_i(core_info), .words_i(words),
      .replies_i(replies), .phase_i(phase), .request_valid_o(core_request),
      .request_data_o(request_data), .commit_o(commit),
      .step_o(next_step), .state_o(next_state), .write_valid_o(write_valid),
      .write_address_o(write_address),
      .write_strobe_o(write_strobe), .write_data_o(write_data), .clear_valid_o(clear_valid),
      .clear_address_o(clear_address),
      .clear_count_o(clear_count), .exit_o(leave), .reason_o(reason)
  );

  // ---- Services: replies come after a delay, in any order between threads and offloads ----

  logic [Offloads-1:0][31:0] calls, called_sum;  // calls made, and the sum of their data
  int unsigned refused;
  for (genvar o = 0; o < Offloads; o++) begin : g_offload
    logic valid, ready;
    logic [ThreadBits-1:0] thread, reply_thread;
    logic [31:0] data, reply;
    wl_request_queue #(
        .Width(32), .Threads(Threads), .Depth(o == 0 || o + 1 < Offloads ? Threads : 2)
    ) i_queue (
        .clk_i, .rst_i, .push_valid_i(request_valid[o]), .push_ready_o(request_ready[o]),
        .push_thread_i(request_thread),
        .push_data_i(request_data[32*o+:32]), .request_valid_o(valid), .request_ready_i(ready),
        .request_thread_o(thread),
        .request_data_o(data)
    );
    wl_reply_store #(.Width(32), .Threads(Threads), .Storage(Storage)) i_store (
        .clk_i, .reply_valid_i(replied_valid[o]), .reply_thread_i(reply_thread),
        .reply_data_i(reply),
        .read_thread_i(replies_thread), .read_data_o(replies[32*o+:32])
    );
    assign replied_thread[o*ThreadBits+:ThreadBits] = reply_thread;

    logic [Threads-1:0] owed;
    logic [Threads-1:0][31:0] answer;
    logic [Threads-1:0][7:0] delay;
    int unsigned pick;
    always_ff @(posedge clk_i) begin
      replied_valid[o] <= 1'b0;
      if (rst_i) begin
        ready <= 1'b0;
        owed <= '0;
        calls[o] <= '0;
        called_sum[o] <= '0;
        reply_thread <= '0;
        reply <= '0;
      end else begin
        ready <= tb_pkg::chance(waits[o] ? 192 : 24);
        for (int unsigned t = 0; t < Threads; t++) if (delay[t] != '0) delay[t] <= delay[t] - 8'd1;
        if (valid && ready) begin
          calls[o] <= calls[o] + 1;
          called_sum[o] <= called_sum[o] + data;
          if (waits[o]) begin
            if (owed[thread]) $fatal(1, "%m: thread %0d calls again before its reply", thread);
            owed[thread]   <= 1'b1;
            answer[thread] <= i_core.service(data, o);
            delay[thread]  <= 8'($urandom() % (Delay + 1));
          end
        end
        pick = $urandom() % Threads;
        if (owed[pick] && delay[pick] == '0) begin
          owed[pick] <= 1'b0;
          replied_valid[o] <= 1'b1;
          reply_thread <= ThreadBits'(pick);
          reply <= answer[pick];
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) refused <= 0;
    else if (request_ready != '1) refused <= refused + 1;
  end

  // ---- Packets in ----

  // The expected output of each tag: its copies, at most one a step, and its end.
  localparam int unsigned Deep = 64;
  leaving_t expected[Tags*Deep];
  int unsigned foretold[Tags], left[Tags];  // how many were expected since reset, and left
  int unsigned since[Tags];  // cycle in which the packet with the tag arrived
  logic [Tags-1:0] out;
  int unsigned cycle, sent, arrived, rows, row;
  logic [Offloads-1:0][31:0] model_calls, model_sum;
  int unsigned copies, pushes, pieces;

  logic [31:0] seed;
  logic [15:0] length;
  logic [127:0][7:0] bytes;  // the bytes to load; those past the packet's end are arbitrary
  assign load_info = {seed, 16'h1234, length};
  assign load_first = row == 0;
  assign load_last = row + 1 == rows;
  always_comb begin
    for (int unsigned k = 0; k < 16; k++) load_data[8*(15-k)+:8] = bytes[(16*row+k)%128];
  end
  assign load_state = {8'd0, seed + 32'd9};

  // The model: computes the expected output for a packet, in order.
  task automatic run();
    logic [255:0][7:0] window;
    int unsigned size;
    logic [31:0] acc, read;
    logic [7:0] n, front;
    logic [15:0] total, first, count;
    logic [StepBits-1:0] step;
    logic [ReadPorts*Word-1:0] got;
    logic [Offloads-1:0] asks;
    logic [Offloads*32-1:0] answers;
    logic [HeaderBytes-1:0] strobe;
    logic [Word-1:0] data;
    logic [16:0] from;
    int change;
    leaving_t leaving;

    window = '0;
    size = !HasPacket ? 0 : length < 128 ? 32'(length) : 128;
    for (int unsigned k = 0; k < size; k++) window[k] = bytes[k];
    acc = HasPacket ? '0 : seed + 32'd9;
    n = '0;
    front = 8'(wl_pkg::WindowFront);
    total = length;
    step = StepBits'(FirstStep);
    forever begin
      got = '0;
      for (int unsigned p = 0; p < ReadPorts; p++) begin
        from = i_core.offset(seed, step, n, acc, p);
        for (int unsigned k = 0; k < HeaderBytes; k++) begin
          if (32'(from) + k < size) got[Word*p+8*(HeaderBytes-1-k)+:8] = window[8'(32'(from)+k)];
        end
      end
      read = i_core.fold(got);
      asks = i_core.guards(seed, step, n, read);
      for (int unsigned o = 0; o < Offloads; o++) begin
        answers[32*o+:32] = i_core.service(i_core.argument(acc, read, o), o);
        if (asks[o]) begin
          model_calls[o] += 1;
          model_sum[o] += i_core.argument(acc, read, o);
        end
      end
      acc = i_core.next_acc(acc, read, answers, asks & waits);
      leaving = '0;
      if (HasPacket) begin
        change = i_core.resize(seed, step, n, 9'(size));
        window = change > 0 ? window << (8 * change) : window >> (-8 * change);
        size = 32'(int'(size) + change);
        if (change > 0) pushes += 1;
        front -= 8'(change);
        total += 16'(change);
        for (int unsigned w = 0; w < WritePorts; w++) begin
          strobe = i_core.write_strobe(seed, step, n, w, 9'(size));
          data   = i_core.write_data(acc, w);
          for (int unsigned k = 0; k < HeaderBytes; k++) begin
            if (strobe[k]) begin
              window[8'(32'(i_core.write_offset(seed, step, n, w))+k)] =
                  data[8*(HeaderBytes-1-k)+:8];
            end
          end
        end
        leaving.result.kind = wl_pkg::EXIT_NEXT;
        leaving.result.reason = i_core.reason(seed, step, n);
        leaving.result.egress = acc[15:0];
        leaving.result.start = front[3:0];
        leaving.result.window = 9'(size);
        leaving.result.length = total;
        leaving.result.more = 1'b0;
        leaving.window = window;
        {first, count} = i_core.extent(seed, step, n, 9'(size), total);
        if (Pieces) begin
          leaving.result.length = count;
          leaving.result.window = 9'(32'(first) >= size ? 0
              : 32'(first) + 32'(count) > size ? size - 32'(first) : 32'(count));
          leaving.result.start = leaving.result.window == '0 ? '0 : 4'(front + 8'(first));
          leaving.skip = 32'(first) > size ? first - 16'(size) : '0;
          leaving.window = window >> (8 * first);
          if (count != total) pieces += 1;
        end
      end
      leaving.result.kind = i_core.ending(seed, step, n);
      leaving.result.more = wl_pkg::is_copy(leaving.result.kind);
      leaving.reply = acc;
      step = i_core.next_step(seed, step, n);
      n += 8'd1;
      if (leaving.result.more) copies += 1;
      if (leaving.result.kind != wl_pkg::EXIT_NEXT) begin
        expected[Deep*32'(load_tag)+foretold[load_tag]%Deep] = leaving;
        foretold[load_tag] = foretold[load_tag] + 1;
        if (foretold[load_tag] - left[load_tag] > Deep) begin
          $fatal(1, "%m: more is expected than the model stores");
        end
      end
      if (leaving.result.kind != wl_pkg::EXIT_NEXT && !leaving.result.more) break;
    end
  endtask

  always_ff @(posedge clk_i) begin
    cycle <= cycle + 1;
    if (rst_i) begin
      cycle <= 0;
      load_valid <= 1'b0;
      load_tag <= '0;
      row <= 0;
      rows <= 1;
      sent <= 0;
      model_calls = '0;
      model_sum = '0;
      copies = 0;
      pushes = 0;
      pieces = 0;
    end else if (load_valid && load_ready && !load_last) begin
      row <= row + 1;
      load_valid <= !tb_pkg::chance(idle);
    end else if (load_valid && !load_ready) begin
      // A row that is offered stays.
    end else if (!load_valid && row != 0) begin
      load_valid <= !tb_pkg::chance(idle);
    end else begin
      // After the last row of a packet another packet may follow. Tags are assigned in a ring; a
      // tag is not reused before its packet has left.
      logic [TagBits-1:0] tag;
      tag = load_tag;
      if (load_valid) begin
        tag = load_tag + 1'b1;
        sent <= sent + 1;
      end
      load_tag <= tag;
      row <= 0;
      load_valid <= 1'b0;
      if (send && !tb_pkg::chance(idle) && tag + 1'b1 != order_head) begin
        logic [31:0] random;
        logic [15:0] size;
        logic [1023:0] fresh;
        random = $urandom();
        size = random[9:8] == '0 ? 16'(random[31:20]) : 16'(random[31:25]) + 16'd1;
        if (random[15:10] == '0) size = '0;
        length <= size;
        seed   <= $urandom();
        for (int unsigned k = 0; k < 32; k++) fresh[32*k+:32] = $urandom();
        bytes <= fresh;
        rows <= !HasPacket || size == '0 ? 1 : size >= 128 ? 8 : (32'(size) + 15) / 16;
        load_valid <= 1'b1;
      end
    end
    if (load_valid && load_ready && load_first && !rst_i) begin
      since[load_tag] = cycle;
      run();
    end
  end

  // ---- Packets out ----

  logic midway, stalled;
  int unsigned lag;     // Holds: cycles for which a copy is still in the pipe
  logic held, was_low;  // Holds: a copy is under way; the order has not been drained since it left
  logic [3:0] unload_row;
  logic [TagBits-1:0] tag_before;
  logic [128+TagBits+wl_pkg::ResultBits+1:0] beat, beat_before;
  assign beat = {unload_data, unload_tag, unload_result, unload_first, unload_last};
  always_ff @(posedge clk_i) begin
    order_drained <= Holds ? lag == 0 : tb_pkg::chance(160);
    if (lag != 0) lag <= lag - 1;
    if (!order_drained) was_low <= 1'b1;
    else if (was_low) held <= 1'b0;
    if (Holds && unload_valid && unload_ready && unload_last && unload_result.more) begin
      order_drained <= 1'b0;
      lag <= $urandom() % 60;
      held <= 1'b1;
      was_low <= 1'b0;
    end
    unload_ready  <= !rst_i && !tb_pkg::chance(stall);
    if (rst_i) begin
      order_head <= '0;
      out = '0;
      arrived = 0;
      midway = 1'b0;
      stalled <= 1'b0;
      unload_row <= '0;
      lag <= 0;
      held <= 1'b0;
    end else begin
      stalled <= unload_valid && !unload_ready;
      beat_before <= beat;
      if (stalled && (!unload_valid || beat !== beat_before)) begin
        $fatal(1, "%m: what was offered has changed");
      end
      if (unload_valid && !stalled && unload_first && unload_result.more
          && unload_tag !== order_head) begin
        $fatal(1, "%m: a copy of %0d leaves before its turn, %0d", unload_tag, order_head);
      end
      if (held && unload_valid && !stalled && unload_tag === order_head) begin
        $fatal(1, "%m: tag %0d continues before its copy has left", unload_tag);
      end
      if (unload_valid && unload_ready) check();
      if (out[order_head]) begin
        out[order_head] = 1'b0;
        order_head <= order_head + 1'b1;
      end
      for (int unsigned t = 0; t < Tags; t++) begin
        if (foretold[t] !== left[t] && cycle - since[t] > Patience) begin
          $fatal(1, "%m: packet with tag %0d starves", t);
        end
      end
    end
  end

  int unload_row_count;

  task automatic check();
    leaving_t leaving;
    logic [31:0] last_row, at;
    bit any;
    if (unload_first === midway) $fatal(1, "%m: packets are mixed");
    if (midway && unload_tag !== tag_before) begin
      $fatal(1, "%m: rows of tag %0d among those of %0d", unload_tag, tag_before);
    end
    if (foretold[unload_tag] === left[unload_tag]) begin
      $fatal(1, "%m: nothing with tag %0d should leave", unload_tag);
    end
    leaving = expected[Deep*32'(unload_tag)+left[unload_tag]%Deep];
    any = HasPacket && leaving.result.window != '0 && leaving.result.kind != wl_pkg::EXIT_DROP
        && leaving.result.kind != wl_pkg::EXIT_DONE;
    last_row = any ? (32'(leaving.result.window) - 1) / 16 : 0;
    at = unload_first ? 32'd0 : 32'(unload_row_count) + 32'd1;
    if (unload_result !== leaving.result) begin
      $fatal(1, "%m: tag %0d: result %p, not %p", unload_tag, unload_result, leaving.result);
    end
    if (!HasPacket && unload_reply !== leaving.reply) begin
      $fatal(1, "%m: tag %0d: reply %h, not %h", unload_tag, unload_reply, leaving.reply);
    end
    if (unload_last !== (at === last_row)) begin
      $fatal(1, "%m: tag %0d: row %0d of %0d, last %b", unload_tag, at, last_row + 1, unload_last);
    end
    for (int k = 0; any && k < 16; k++) begin
      int position;
      position = 16 * at + (k + 16 - 32'(leaving.result.start)) % 16;
      if (position < 32'(leaving.result.window)
          && unload_data[8*(15-k)+:8] !== 8'(leaving.window >> (8 * position))) begin
        $fatal(1, "%m: tag %0d: byte %0d is %h, not %h", unload_tag, position,
            unload_data[8*(15-k)+:8],
               8'(leaving.window >> (8 * position)));
      end
    end
    if (Pieces && leaving.result.window == '0 && unload_data[127:112] !== leaving.skip
        && leaving.result.kind != wl_pkg::EXIT_DROP && leaving.result.kind != wl_pkg::EXIT_DONE)
    begin
      $fatal(1, "%m: tag %0d: skips %0d bytes, not %0d", unload_tag, unload_data[127:112],
          leaving.skip);
    end
    unload_row_count = at;
    midway = !unload_last;
    tag_before = unload_tag;
    if (unload_last) begin
      left[unload_tag] = left[unload_tag] + 1;
      if (!leaving.result.more) begin
        if (foretold[unload_tag] !== left[unload_tag]) begin
          $fatal(1, "%m: tag %0d ends before its copies", unload_tag);
        end
        if (Scheduler === 0 && unload_tag !== order_head) begin
          $fatal(1, "%m: tag %0d overtakes %0d", unload_tag, order_head);
        end
        out[unload_tag] = 1'b1;
        arrived = arrived + 1;
      end
    end
  endtask

  // ---- Summary ----

  int unsigned full_cycles, full_slots, most_idle;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      full_cycles <= 0;
      full_slots <= 0;
    end else begin
      if (window_phase) begin
        full_cycles <= full_cycles + 1;
        if (slot_valid) full_slots <= full_slots + 1;
      end
      if ($countones(busy_threads) + int'(idle_threads) !== Threads) begin
        $fatal(1, "%m: threads %b have packets, %0d have none", busy_threads, idle_threads);
      end
      if (waiting && slot_valid) $fatal(1, "%m: waits in spite of a slot");
      if (done_o) begin
        if (sent !== arrived || sent < 40) $fatal(1, "%m: sent %0d, arrived %0d", sent, arrived);
        if (32'(idle_threads) !== Threads) begin
          $fatal(1, "%m: %0d threads of %0d idle at the end", idle_threads, Threads);
        end
        if (calls !== model_calls || called_sum !== model_sum) begin
          $fatal(1, "%m: calls %p, not %p", calls, model_calls);
        end
        if (Calls && (calls[0] < 50 || (Offloads > 1 && refused === 0))) begin
          $fatal(1, "%m: calls %p, refused %0d", calls, refused);
        end
        if (HasPacket && ((Emits && copies < 10) || (Clears && pushes < 10))) begin
          $fatal(1, "%m: copies %0d, pushes %0d", copies, pushes);
        end
        if (Pieces && pieces < 10) $fatal(1, "%m: %0d copies of some bytes", pieces);
        if (full_slots * 256 < full_cycles * Slots) begin
          $fatal(1, "%m: slots in %0d of %0d cycles", full_slots, full_cycles);
        end
      end
    end
  end
endmodule
