// Test bench of a pipelined engine of three steps with artificial logic: wl_pipeline_load, _step
// (_read, _write), _call and _unload. The information of a packet selects what each step does with
// it; the expected output is computed at the entrance. Over packets inside, headroom, bytes of a
// word, register stages, and whether offloads reply; the service replies in order, after any time.
module wl_pipeline_tb;
  localparam int unsigned Cases = 7;
  localparam bit [Cases*32-1:0] Packets = {32'd64, 32'd2, 32'd1, 32'd3, 32'd64, 32'd64, 32'd64};
  localparam bit [Cases*32-1:0] Headrooms =
      {32'd64, 32'd16, 32'd16, 32'd128, 32'd0, 32'd32, 32'd48};
  localparam bit [Cases*32-1:0] Stages = {32'd1, 32'd0, 32'd0, 32'd1, 32'd2, 32'd3, 32'd0};
  localparam bit [Cases*32-1:0] Widths = {32'd8, 32'd4, 32'd16, 32'd16, 32'd16, 32'd16, 32'd16};
  localparam bit [Cases-1:0] Replies = 7'b1111011;
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 7'b0100110;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    pipeline_case #(
        .Packets(Packets[32*i+:32]),
        .Headroom(Headrooms[32*i+:32]),
        .HeaderBytes(Widths[32*i+:32]),
        .Stages(Stages[32*i+:32]),
        .Replies(Replies[i])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module pipeline_case #(
    parameter int unsigned Packets = 4,
    parameter int unsigned Headroom = 16,
    parameter int unsigned HeaderBytes = 16,
    parameter int unsigned Stages = 1,
    parameter bit Replies = 1'b1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Steps = 3;
  localparam int unsigned Bytes = Headroom + 128;
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int unsigned StateBits = wl_pkg::PacketStateBits + 32;
  // Length, port; 8 bits for each step: skip it (the second), call, offset (4 bits), 2 bits of
  // exit; then 5 bits of a push, and 5 of the write address.
  localparam int unsigned InfoBits = 32 + 8 * Steps + 10;
  localparam int unsigned RecordBits = 8 * Bytes + InfoBits + 2 + 3 + 24 + StateBits;
  typedef logic [255:0][7:0] bytes_t;  // bytes of a window, the first in the lowest bits

  // The expected packet when it leaves.
  typedef struct packed {
    bytes_t data;
    logic [8:0] window;
    logic [15:0] length;
    logic [2:0] exit;
    logic [23:0] reason;
  } expected_t;
  logic [$bits(expected_t)-1:0] expected[$];

  function automatic logic [31:0] fold(logic [Word-1:0] word);
    fold = 32'h5bd1e995;
    for (int unsigned i = 0; i < HeaderBytes / 4; i++) fold ^= word[32*i+:32];
  endfunction
  function automatic int unsigned most(int unsigned a, int unsigned b);
    return a < b ? a : b;
  endfunction

  // Models the steps: step k reads the word at its offset, calls, and adds the reply to the sum;
  // step 0 pushes; each step except the second writes.
  function automatic expected_t model(bytes_t header, logic [InfoBits-1:0] info);
    logic [31:0] sum;
    bytes_t data;
    logic [7:0] todo;
    logic [Word-1:0] word;
    int unsigned at, count;
    bit ended;
    sum = '0;
    ended = 1'b0;
    data = header;
    model.length = info[15:0];
    model.window = 9'(most(32'(info[15:0]), 128));
    model.exit = wl_pkg::EXIT_NEXT;
    model.reason = '0;
    for (int unsigned k = 0; k < Steps; k++) begin
      todo = info[32+8*k+:8];
      if (!ended && !(todo[0] && k == 1)) begin
        for (int unsigned b = 0; b < HeaderBytes; b++) begin
          at = 32'(todo[5:2]) * 9 + b;
          word[8*(HeaderBytes-1-b)+:8] = at < 32'(model.window) ? data[at] : '0;
        end
        if (todo[1] && Replies) sum += fold(word);
        if (k == 0) begin
          count = most(32'(info[InfoBits-1-:5]), Headroom);
          data = data << (8 * count);
          model.window += 9'(count);
          model.length += 16'(count);
        end
        if (k != 1) begin
          for (int unsigned b = 0; b < HeaderBytes; b++) begin
            at = 32'(info[InfoBits-6-:5]) + b;
            if (at < 32'(model.window) && word[b] == 1'b0) begin
              data[at] = word[8*(HeaderBytes-1-b)+:8] ^ sum[7:0];
            end
          end
        end
        if (k == Steps - 1 || todo[7:6] == 2'd3) begin
          model.exit = todo[6] ? wl_pkg::EXIT_FINISH : wl_pkg::EXIT_TO_CPU;
          if (todo[7] && k == Steps - 1) model.exit = wl_pkg::EXIT_DROP;
          model.reason = {8'(k), 16'(sum)};
          ended = 1'b1;
        end
      end
    end
    model.data = data;
  endfunction

  // ---- Stimulus ----

  logic send, window, over;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(400)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window),
      .done_o(over)
  );

  logic header_valid, header_ready, header_first, header_last;
  logic [511:0] header_data;
  logic [InfoBits-1:0] header_info;
  bytes_t fresh;
  logic [15:0] length;
  int unsigned entered, left_count, short_entered;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      header_valid <= 1'b0;
      entered <= 0;
      short_entered <= 0;
    end else if (!header_valid || header_ready) begin
      header_valid <= 1'b0;
      if (header_valid && header_last && window) short_entered <= short_entered + 1;
      if (header_valid && !header_last) begin
        header_valid <= 1'b1;
        header_first <= 1'b0;
        header_last  <= 1'b1;
        header_data  <= fresh[127:64];
      end else if (send && !tb_pkg::chance(idle)) begin
        bytes_t header;
        logic [InfoBits-1:0] info;
        // At full speed all packets enter and leave as one beat.
        logic [15:0] size;
        header = '0;
        info = InfoBits'({$urandom(), $urandom(), $urandom()});
        size = window || !tb_pkg::chance(128) ? 16'(1 + $urandom() % 64) : 16'($urandom() % 200);
        if (idle == 0 && stall == 0) begin
          size = 16'(1 + $urandom() % 16);
          info[InfoBits-1-:5] = 5'(info[InfoBits-1-:5] % 16);
        end
        for (int unsigned b = 0; b < 128; b++) if (16'(b) < size) header[b] = 8'($urandom());
        info[15:0] = size;
        expected.push_back(model(header, info));
        entered <= entered + 1;
        header_valid <= 1'b1;
        header_first <= 1'b1;
        header_last <= size <= 16'd64;
        header_data <= header[63:0];
        header_info <= info;
        fresh <= header;
      end
    end
  end

  // ---- The pipeline ----

  logic left;
  logic [Steps-1:0] rooms;
  logic [wl_pkg::bits(Packets+1)-1:0] free;
  logic [Steps:0] valid;
  logic [Steps:0][RecordBits-1:0] records;
  logic [8*Bytes-1:0] loaded;
  logic [InfoBits-1:0] loaded_info;
  wl_pipeline_load #(.Packets(Packets), .Headroom(Headroom), .InfoBits(InfoBits)) i_load (
      .clk_i, .rst_i,
      .header_valid_i(header_valid), .header_ready_o(header_ready), .header_data_i(header_data),
      .header_first_i(header_first),
      .header_last_i(header_last), .header_info_i(header_info), .room_i(&rooms), .left_i(left),
      .valid_o(valid[0]), .window_o(loaded), .info_o(loaded_info), .free_o(free)
  );
  assign records[0] = {loaded, loaded_info, 2'd0, 3'd0, 24'd0, 32'd0, 16'd0, loaded_info[15:0],
      loaded_info[15:0] > 16'd128 ? 9'd128 : loaded_info[8:0], 8'd128};

  int unsigned asked;
  for (genvar k = 0; k < Steps; k++) begin : g_step
    localparam bit Writes = k != 1;
    logic [StateBits-1:0] address_state, request_state, edit_state, state, next;
    logic [InfoBits-1:0] address_info, request_info, edit_info, info;
    logic [Word-1:0] request_words, edit_words, word, asked_word;
    logic [31:0] reply, edit_reply, r;
    logic request_valid, issue, reply_valid, take;
    logic [1:0] step;
    logic [2:0] ends;
    logic [31:0] sum;
    logic [HeaderBytes-1:0] strobe;
    logic [Word-1:0] data;
    logic [7:0] front;
    logic [8:0] count, length_now;
    wl_pipeline_step #(
        .Packets(Packets), .Headroom(Headroom), .StateBits(StateBits), .InfoBits(InfoBits),
        .StepBits(2), .Step(k),
        .WritePorts(k == 1 ? 0 : 1), .HeaderBytes(HeaderBytes), .Clears(k == 0),
        .FrontFixed(k == 0), .Waits(Replies), .ReplyBits(32),
        .RequestStages(Stages), .EditStages(Stages)
    ) i_step (
        .clk_i, .rst_i, .valid_i(valid[k]), .record_i(records[k]), .valid_o(valid[k+1]),
        .record_o(records[k+1]),
        .address_state_o(address_state), .address_info_o(address_info),
        .address_offset_i(17'(address_info[34+8*k+:4]) * 17'd9),
        .request_state_o(request_state), .request_info_o(request_info),
        .request_words_o(request_words),
        .request_valid_i(request_valid), .issue_valid_o(issue),
        .reply_valid_i(reply_valid), .reply_take_o(take), .replies_i(Replies), .reply_data_i(reply),
        .edit_state_o(edit_state), .edit_info_o(edit_info), .edit_words_o(edit_words),
        .edit_replies_o(edit_reply),
        .edit_step_i(step), .edit_state_i(next), .edit_exit_i(ends),
        .edit_reason_i({8'(k), sum[15:0]}),
        .edit_write_valid_i(Writes), .edit_write_address_i(8'(front + 8'(info[InfoBits-6-:5]))),
        .edit_write_strobe_i(strobe),
        .edit_write_data_i(data), .edit_clear_valid_i(count != 0), .edit_clear_address_i(front),
        .edit_clear_count_i(count)
    );
    wl_delay #(.Width(Word + 1), .Cycles(Stages)) i_request (
        .clk_i, .rst_i, .data_i({request_info[33+8*k], request_words}),
        .data_o({request_valid, asked_word})
    );
    // The edit logic, with its inputs delayed by its stages.
    wl_delay #(.Width(StateBits + InfoBits + Word + 32), .Cycles(Stages)) i_edit (
        .clk_i, .rst_i, .data_i({edit_state, edit_info, edit_words, edit_reply}),
        .data_o({state, info, word, r})
    );
    logic [7:0] todo;
    assign todo = info[32+8*k+:8];
    assign sum = state[wl_pkg::PacketStateBits+:32] + (Replies && todo[1] ? r : '0);
    assign count = k == 0 ? 9'(most(32'(info[InfoBits-1-:5]), Headroom)) : '0;
    assign front = state[7:0] - count[7:0];
    assign length_now = state[16:8] + count;
    // The next step that the packet does not skip.
    assign step = k == 0 && !info[40] ? 2'd1 : 2'd2;
    always_comb begin
      ends = wl_pkg::EXIT_NEXT;
      if (k == Steps - 1 || todo[7:6] == 2'd3) begin
        ends = todo[6] ? wl_pkg::EXIT_FINISH : wl_pkg::EXIT_TO_CPU;
      end
      if (k == Steps - 1 && todo[7]) ends = wl_pkg::EXIT_DROP;
      for (int unsigned b = 0; b < HeaderBytes; b++) begin
        strobe[b] = 32'(info[InfoBits-6-:5]) + b < 32'(length_now) && !word[b];
        data[8*(HeaderBytes-1-b)+:8] = word[8*(HeaderBytes-1-b)+:8] ^ sum[7:0];
      end
    end
    assign next = {sum, state[48:33], state[32:17] + 16'(count), length_now, front};

    // The service replies in order, at random times.
    logic ask, told, ready;
    logic [Word-1:0] ask_data;
    logic [31:0] told_data;
    logic [31:0] answers[$];
    wl_pipeline_call #(.Packets(Packets), .RequestBits(Word), .ReplyBits(Replies ? 32 : 0)) i_call (
        .clk_i, .rst_i, .issue_valid_i(issue), .issue_data_i(asked_word), .room_o(rooms[k]),
        .request_valid_o(ask), .request_ready_i(ready), .request_data_o(ask_data),
        .reply_valid_i(told), .reply_data_i(told_data), .head_valid_o(reply_valid),
        .head_take_i(take), .head_data_o(reply)
    );
    always_ff @(posedge clk_i) begin
      ready <= !rst_i && !tb_pkg::chance(stall);
      told  <= 1'b0;
      if (!rst_i && ask && ready) answers.push_back(fold(ask_data));
      if (!rst_i && answers.size() != 0 && !tb_pkg::chance(stall)) begin
        told <= Replies;
        told_data <= answers.pop_front();
        if (k == 0) asked <= asked + 1;
      end
      if (rst_i && k == 0) asked <= 0;
    end
  end

  logic beat_valid, beat_ready, beat_last;
  logic [511:0] beat_data;
  logic [wl_pkg::ResultBits-1:0] beat_result;
  wl_pipeline_unload #(.Packets(Packets), .Headroom(Headroom)) i_unload (
      .clk_i, .rst_i, .valid_i(valid[Steps]), .window_i(records[Steps][RecordBits-1-:8*Bytes]),
      .front_i(records[Steps][7:0]),
      .length_i(records[Steps][16:8]), .packet_i(records[Steps][32:17]),
      .egress_i(records[Steps][48:33]),
      .exit_i(records[Steps][StateBits+24+:3]), .reason_i(records[Steps][StateBits+:24]),
      .left_o(left),
      .beat_valid_o(beat_valid), .beat_ready_i(beat_ready), .beat_data_o(beat_data),
      .beat_last_o(beat_last), .beat_result_o(beat_result)
  );

  // ---- Output ----

  wl_pkg::result_t result;
  assign result = beat_result;
  logic [4*64*8-1:0] got;
  int unsigned at, window_left;
  assign done_o = over;
  always_ff @(posedge clk_i) begin
    beat_ready <= !rst_i && !tb_pkg::chance(stall);
    if (rst_i) begin
      at = 0;
      left_count <= 0;
      window_left <= 0;
    end else if (beat_valid && beat_ready) begin
      got[8*at+:512] = beat_data;
      at += 64;
      if (beat_last) begin
        expected_t wanted;
        logic [8*256-1:0] wanted_data;
        wanted = expected.pop_front();
        wanted_data = wanted.data;
        if (result.kind !== wanted.exit || result.reason !== wanted.reason) begin
          $fatal(1, "%m: packet %0d ends as %0d for %h, not %0d for %h", left_count, result.kind,
              result.reason, wanted.exit, wanted.reason);
        end
        if (wanted.exit != wl_pkg::EXIT_DROP) begin
          if (result.window !== wanted.window || result.length !== wanted.length) begin
            $fatal(1, "%m: packet %0d has another length", left_count);
          end
          if (at !== (wanted.window === 0 ? 64 : (32'(wanted.window) + 63) / 64 * 64)) begin
            $fatal(1, "%m: packet %0d has %0d bytes of beats", left_count, at);
          end
          for (int unsigned b = 0; b < 32'(wanted.window); b++) begin
            logic [7:0] octet;
            octet = got[8*(b/64*64+(32'(result.start)+b)%64)+:8];
            if (octet !== wanted_data[8*b+:8]) begin
              $fatal(1, "%m: byte %0d of packet %0d is %h, not %h", b, left_count, octet,
                  wanted_data[8*b+:8]);
            end
          end
        end
        at = 0;
        left_count <= left_count + 1;
        if (window) window_left <= window_left + 1;
      end
    end
    if (!rst_i && over) begin
      if (expected.size() !== 0 || left_count !== entered) begin
        $fatal(1, "%m: %0d packets entered, %0d left", entered, left_count);
      end
      if (32'(free) !== Packets) $fatal(1, "%m: %0d places are free", free);
      if (asked < 20) $fatal(1, "%m: only %0d calls", asked);
      // Over the last three quarters of the full-speed phase, a packet leaves in each cycle.
      if (Packets >= 64 && window_left < 295) begin
        $fatal(1, "%m: %0d packets in 300 cycles", window_left);
      end
    end
  end
endmodule
