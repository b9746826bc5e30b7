// Test bench of wl_pipeline_step alone, with several ports and offloads: records of this step are
// changed as a model says, others pass unchanged and call nothing, all in order; each offload is
// called once for each record that wants it, and only those that reply are waited for; latency and
// throughput. Over ports, offloads with and without replies, and register stages, with idle cycles
// and with slow offloads. wl_pipeline_tb has steps in a row.
module wl_pipeline_step_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] Packets = {32'd64, 32'd64, 32'd2, 32'd64, 32'd5, 32'd64};
  localparam bit [Cases*32-1:0] Reads = {32'd2, 32'd0, 32'd1, 32'd3, 32'd1, 32'd2};
  localparam bit [Cases*32-1:0] Writes = {32'd2, 32'd1, 32'd0, 32'd1, 32'd2, 32'd0};
  localparam bit [Cases*32-1:0] Calls = {32'd2, 32'd1, 32'd3, 32'd0, 32'd2, 32'd2};
  localparam bit [Cases*32-1:0] Stages = {32'd1, 32'd0, 32'd2, 32'd1, 32'd0, 32'd3};
  localparam bit [Cases-1:0] Waits = 6'b111010;  // the second has no offload that replies

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    step_case #(
        .Packets(Packets[32*i+:32]), .ReadPorts(Reads[32*i+:32]), .WritePorts(Writes[32*i+:32]),
        .Calls(Calls[32*i+:32]), .Waits(Waits[i]), .RequestStages(Stages[32*i+:32]),
        .EditStages(Stages[32*i+:32]), .FrontFixed(i == 4)
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module step_case #(
    parameter int unsigned Packets = 4,
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned Calls = 1,
    parameter bit Waits = 1'b1,
    parameter int unsigned RequestStages = 0,
    parameter int unsigned EditStages = 0,
    parameter bit FrontFixed = 1'b0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Headroom = 32;
  localparam int unsigned First = 128 - Headroom;
  localparam int unsigned Bytes = Headroom + 128;
  localparam int unsigned HeaderBytes = 8;
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int unsigned Step = 2;
  localparam int unsigned StateBits = wl_pkg::PacketStateBits + 32;
  localparam int unsigned InfoBits = wl_pkg::PacketInfoBits + 16;
  localparam int unsigned RecordBits = 8 * Bytes + InfoBits + 3 + 3 + 24 + StateBits;
  localparam int unsigned R = ReadPorts == 0 ? 1 : ReadPorts;
  localparam int unsigned W = WritePorts == 0 ? 1 : WritePorts;
  localparam int unsigned C = Calls == 0 ? 1 : Calls;
  // The last of several offloads does not reply.
  localparam bit [C-1:0] Answers = !Waits ? '0 : C == 1 ? '1 : {1'b0, {(C - 1) {1'b1}}};

  typedef struct packed {
    logic [8*Bytes-1:0] window;
    logic [InfoBits-1:0] info;
    logic [2:0] step;
    logic [2:0] exit;
    logic [23:0] reason;
    logic [31:0] context_;
    wl_pkg::packet_state_t packet;
  } record_t;

  // ---- The generated logic: bits of the information say what it does ----

  // Bits 2:0: offloads to call; 3: clear; 7:4 and more: offset of words; 15:12 place of writes.
  function automatic logic [16:0] offset(logic [15:0] todo, int unsigned port);
    return 17'(todo[11:4]) / 17'd2 + 17'(port) * 17'd9;
  endfunction
  function automatic logic [31:0] fold(logic [R*Word-1:0] words);
    fold = 32'h5bd1e995;
    for (int unsigned i = 0; i < R * Word / 32; i++)
      fold = {fold[30:0], fold[31]} ^ words[32*i+:32];
  endfunction
  function automatic logic [31:0] sum_of(logic [31:0] context_, logic [15:0] todo,
      logic [R*Word-1:0] words, logic [32*C-1:0] replies);
    sum_of = context_ + (ReadPorts == 0 ? 32'd1 : fold(words));
    for (int unsigned c = 0; c < Calls; c++) begin
      if (todo[c] && Answers[c]) sum_of += replies[32*c+:32];
    end
  endfunction
  function automatic logic [7:0] place(logic [7:0] front, logic [15:0] todo, int unsigned port);
    return front + 8'(todo[15:12]) + 8'(port * 20);
  endfunction

  // Models the step.
  function automatic logic [RecordBits-1:0] model(logic [RecordBits-1:0] record);
    record_t in, out;
    logic [15:0] todo;
    logic [R*Word-1:0] words;
    logic [32*C-1:0] replies;
    logic [31:0] sum;
    logic [8*Bytes-1:0] window;
    logic [InfoBits-1:0] info;
    int unsigned at;
    in = record;
    out = record;
    window = in.window;
    info = in.info;
    todo = info[InfoBits-1-:16];
    if (in.step == 3'(Step) && in.exit == wl_pkg::EXIT_NEXT) begin
      words = '0;
      for (int unsigned r = 0; r < ReadPorts; r++) begin
        for (int unsigned k = 0; k < HeaderBytes; k++) begin
          at = 32'(offset(todo, r)) + k;
          if (at < 32'(in.packet.window)) begin
            words[Word*r+8*(HeaderBytes-1-k)+:8] = window[8*(32'(in.packet.front)-First+at)+:8];
          end
        end
      end
      for (int unsigned c = 0; c < C; c++) replies[32*c+:32] = fold(words) + c;
      sum = sum_of(in.context_, todo, words, replies);
      if (todo[3]) begin
        for (int unsigned k = 0; k < 8; k++) begin
          window[8*(32'(in.packet.front)-8+k-First)+:8] = 8'd0;
        end
      end
      for (int unsigned w = 0; w < WritePorts; w++) begin
        for (int unsigned k = 0; k < HeaderBytes; k += 2) begin
          at = 32'(place(in.packet.front, todo, w)) + k - First;
          if (at < Bytes) window[8*at+:8] = sum[7:0] + 8'(w);
        end
      end
      out.window = window;
      out.step = 3'd5;
      out.exit = sum[0] ? wl_pkg::EXIT_FINISH : wl_pkg::EXIT_NEXT;
      out.reason = sum[23:0];
      out.context_ = sum;
    end
    return out;
  endfunction

  // ---- Records ----

  logic send, full_speed;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(full_speed), .done_o
  );

  logic valid, out_valid;
  logic [RecordBits-1:0] record, out_record;
  logic [RecordBits-1:0] expected[$];
  logic [C-1:0] calls[$];   // offloads that a record calls, if any
  int unsigned entered[$];  // the cycle in which a record entered
  int unsigned cycle, count, left, here, in_window;
  function automatic logic [RecordBits-1:0] drawn();
    record_t fresh;
    logic [8*Bytes-1:0] window;
    for (int unsigned b = 0; b < Bytes; b++) window[8*b+:8] = 8'($urandom());
    fresh.window = window;
    fresh.info = InfoBits'({$urandom(), $urandom()});
    fresh.step = tb_pkg::chance(180) ? 3'(Step) : 3'($urandom());
    fresh.exit = tb_pkg::chance(230) ? wl_pkg::EXIT_NEXT : wl_pkg::EXIT_TO_CPU;
    fresh.reason = 24'($urandom());
    fresh.context_ = $urandom();
    fresh.packet.front = FrontFixed ? 8'd128 : 8'(First + 8 + $urandom() % 40);
    fresh.packet.window = 9'($urandom() % (257 - 32'(fresh.packet.front)));
    fresh.packet.length = 16'($urandom());
    fresh.packet.egress = 16'($urandom());
    return fresh;
  endfunction
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid <= 1'b0;
      cycle <= 0;
      count <= 0;
      here <= 0;
    end else begin
      cycle <= cycle + 1;
      valid <= 1'b0;
      if (send && count - left < Packets && !tb_pkg::chance(idle)) begin
        record_t fresh;
        fresh = drawn();
        valid <= 1'b1;
        record <= fresh;
        count <= count + 1;
        expected.push_back(model(fresh));
        entered.push_back(cycle);
        if (fresh.step == 3'(Step) && fresh.exit == wl_pkg::EXIT_NEXT) begin
          logic [C-1:0] mask;
          mask = C'(fresh.info[InfoBits-16+:3]);
          here <= here + 1;
          if (Calls != 0 && mask != '0) calls.push_back(mask);
        end
      end
    end
  end

  // ---- The step ----

  logic [StateBits-1:0] address_state, request_state, edit_state, state, next;
  logic [InfoBits-1:0] address_info, request_info, edit_info, info;
  logic [17*R-1:0] offsets;
  logic [R*Word-1:0] request_words, edit_words, words, asked_words;
  logic [C-1:0] wanted, issue, reply_valid, take;
  logic [32*C-1:0] reply, edit_replies, replies;
  logic [31:0] sum;
  logic [8*W-1:0] addresses;
  logic [W*Word-1:0] data;
  logic [15:0] todo, address_todo;
  assign address_todo = address_info[InfoBits-1-:16];
  wl_pipeline_step #(
      .Packets(Packets), .Headroom(Headroom), .StateBits(StateBits), .InfoBits(InfoBits),
      .StepBits(3), .Step(Step), .ReadPorts(ReadPorts), .WritePorts(WritePorts),
      .HeaderBytes(HeaderBytes), .Clears(1'b1), .FrontFixed(FrontFixed), .Calls(Calls),
      .Waits(Waits), .ReplyBits(32 * C), .RequestStages(RequestStages), .EditStages(EditStages)
  ) i_dut (
      .clk_i, .rst_i, .valid_i(valid), .record_i(record), .valid_o(out_valid),
      .record_o(out_record),
      .address_state_o(address_state), .address_info_o(address_info), .address_offset_i(offsets),
      .request_state_o(request_state), .request_info_o(request_info),
      .request_words_o(request_words),
      .request_valid_i(wanted), .issue_valid_o(issue), .reply_valid_i(reply_valid),
      .reply_take_o(take), .replies_i(Answers), .reply_data_i(reply),
      .edit_state_o(edit_state), .edit_info_o(edit_info), .edit_words_o(edit_words),
      .edit_replies_o(edit_replies),
      .edit_step_i(3'd5), .edit_state_i(next),
      .edit_exit_i(sum[0] ? wl_pkg::EXIT_FINISH : wl_pkg::EXIT_NEXT), .edit_reason_i(sum[23:0]),
      .edit_write_valid_i({W{WritePorts != 0}}), .edit_write_address_i(addresses),
      .edit_write_strobe_i({W{8'b01010101}}), .edit_write_data_i(data),
      .edit_clear_valid_i(todo[3]), .edit_clear_address_i(8'(state[7:0] - 8'd8)),
      .edit_clear_count_i(9'd8)
  );
  always_comb begin
    for (int unsigned r = 0; r < R; r++) offsets[17*r+:17] = offset(address_todo, r);
    for (int unsigned w = 0; w < W; w++) begin
      addresses[8*w+:8] = place(state[7:0], todo, w);
      data[Word*w+:Word] = {HeaderBytes{8'(sum[7:0] + 8'(w))}};
    end
  end
  wl_delay #(.Width(C + R * Word), .Cycles(RequestStages)) i_request (
      .clk_i, .rst_i, .data_i({C'(request_info[InfoBits-16+:3]), request_words}),
      .data_o({wanted, asked_words})
  );
  wl_delay #(.Width(StateBits + InfoBits + R * Word + 32 * C), .Cycles(EditStages)) i_edit (
      .clk_i, .rst_i, .data_i({edit_state, edit_info, edit_words, edit_replies}),
      .data_o({state, info, words, replies})
  );
  assign todo = info[InfoBits-1-:16];
  assign sum = sum_of(state[StateBits-1-:32], todo, words, replies);
  assign next = {sum, state[StateBits-33:0]};

  // ---- The offloads reply in order, after any time ----

  for (genvar c = 0; c < C; c++) begin : g_offload
    logic [31:0] answers[$];
    logic told;
    logic [31:0] answer;
    assign reply_valid[c] = told;
    assign reply[32*c+:32] = answer;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        told <= 1'b0;
      end else begin
        if (issue[c] && Answers[c]) answers.push_back(fold(asked_words) + c);
        if (take[c] && !told) $fatal(1, "%m: a reply is taken that is not there");
        if (!told || take[c]) begin
          told <= 1'b0;
          if (answers.size() != 0 && !tb_pkg::chance(stall)) begin
            told <= 1'b1;
            answer <= answers.pop_front();
          end
        end
        if (done_o && (told || answers.size() !== 0)) $fatal(1, "%m: replies are left over");
      end
    end
  end

  // ---- Checks ----

  localparam int unsigned Latency = (ReadPorts == 0 ? 0 : 2) + 2 + EditStages;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      left <= 0;
      in_window <= 0;
    end else begin
      if (issue !== '0) begin
        logic [C-1:0] mask;
        if (calls.size() === 0) $fatal(1, "%m: a call that no record makes");
        mask = calls.pop_front();
        if (issue !== mask) $fatal(1, "%m: calls %b, not %b", issue, mask);
      end
      if (out_valid) begin
        record_t wanted_record, got;
        int unsigned since;
        if (expected.size() === 0) $fatal(1, "%m: a record that did not enter");
        wanted_record = expected.pop_front();
        got = out_record;
        since = cycle - entered.pop_front();
        if (out_record !== wanted_record) begin
          $fatal(1, "%m: record %0d is step %0d exit %0d reason %h context %h, not %0d %0d %h %h",
              left, got.step, got.exit, got.reason, got.context_, wanted_record.step,
              wanted_record.exit, wanted_record.reason, wanted_record.context_);
        end
        if (!Waits && since !== Latency + 1) begin
          $fatal(1, "%m: record %0d takes %0d cycles", left, since - 1);
        end
        left <= left + 1;
        if (full_speed) in_window <= in_window + 1;
      end
      if (done_o) begin
        if (left !== count || calls.size() !== 0 || here < 150) begin
          $fatal(1, "%m: %0d records, %0d of the step, %0d left, %0d calls missing", count, here,
              left, calls.size());
        end
        if (Packets >= 64 && in_window !== 300) begin
          $fatal(1, "%m: %0d records in 300 cycles", in_window);
        end
      end
    end
  end
endmodule
