// The address and core modules of a generated engine, for the test bench: every step reads words at
// odd offsets, calls offloads under guards that depend on what it reads, edits, writes, pushes,
// pops, and ends at random. All random decisions come from the packet's seed (in its information)
// and the number of steps so far (in its context), so that `tb_engine` can make the same decisions
// on bytes in order.
//
// Context: acc[31:0], which combines everything that was read and replied, then n[7:0], the number
// of steps so far.
module tb_engine_core #(
    parameter int unsigned StateBits = 89,
    parameter int unsigned InfoBits = 64,
    parameter int unsigned StepBits = 4,
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,
    parameter int unsigned Offloads = 1,
    parameter int unsigned CoreStages = 0,
    parameter bit HasPacket = 1'b1,
    parameter bit Emits = 1'b1,
    parameter bit Pieces = 1'b0,
    parameter bit Clears = 1'b1,
    parameter bit Calls = 1'b1,
    parameter int unsigned Steps = 8,  // most steps; at least one
    localparam int unsigned ReasonBits = wl_pkg::reason_bits(Pieces)
) (
    input logic clk_i,
    input logic [Offloads-1:0] waits_i,

    input  logic [     StepBits-1:0] address_step_i,
    input  logic [    StateBits-1:0] address_state_i,
    input  logic [     InfoBits-1:0] address_info_i,
    output logic [ReadPorts*17-1:0] address_offset_o,

    input logic [     StepBits-1:0] step_i,
    input logic [    StateBits-1:0] state_i,
    input logic [     InfoBits-1:0] info_i,
    input logic [ReadPorts*8*HeaderBytes-1:0] words_i,
    input logic [  Offloads*32-1:0] replies_i,
    input logic                     phase_i,

    output logic [      Offloads-1:0] request_valid_o,
    output logic [   Offloads*32-1:0] request_data_o,
    output logic                      commit_o,
    output logic [      StepBits-1:0] step_o,
    output logic [     StateBits-1:0] state_o,
    output logic [    WritePorts-1:0] write_valid_o,
    output logic [  WritePorts*8-1:0] write_address_o,
    output logic [WritePorts*HeaderBytes-1:0] write_strobe_o,
    output logic [WritePorts*8*HeaderBytes-1:0] write_data_o,
    output logic                      clear_valid_o,
    output logic [               7:0] clear_address_o,
    output logic [               8:0] clear_count_o,
    output logic [               2:0] exit_o,
    output logic [    ReasonBits-1:0] reason_o
);
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int unsigned Context = HasPacket ? wl_pkg::PacketStateBits : 0;

  // ---- The program: the decisions of a step ----

  function automatic logic [31:0] decide(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n, int unsigned what);
    return tb_pkg::mix(seed ^ tb_pkg::mix(32'(n) * 32'd64 + what + (32'(step) << 20)));
  endfunction

  function automatic logic [16:0] offset(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n, logic [31:0] acc, int unsigned port);
    logic [31:0] h;
    h = decide(seed, step, n, port);
    return h[9:5] == '0 ? h[31:15] : 17'(h[4:0] * h[13:11]) + 17'(acc[3:0]);
  endfunction

  // Returns the words that were read as one number.
  function automatic logic [31:0] fold(logic [ReadPorts*Word-1:0] words);
    fold = 32'd1;
    for (int unsigned i = 0; i < ReadPorts * HeaderBytes / 4; i++) begin
      fold = tb_pkg::mix(fold ^ words[32*i+:32]) + i;
    end
  endfunction

  function automatic logic [Offloads-1:0] guards(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n, logic [31:0] read);
    return Calls ? Offloads'(decide(seed, step, n, 8) ^ read) : '0;
  endfunction

  function automatic logic [31:0] argument(logic [31:0] acc, logic [31:0] read,
      int unsigned offload);
    return tb_pkg::mix(acc ^ read ^ offload);
  endfunction

  function automatic logic [31:0] service(logic [31:0] data, int unsigned offload);
    return tb_pkg::mix(data + 77 * offload + 1);
  endfunction

  // Returns the number of bytes pushed (positive) or popped (negative).
  function automatic int resize(logic [31:0] seed, logic [StepBits-1:0] step, logic [7:0] n,
      logic [8:0] window);
    logic [31:0] h;
    int unsigned count;
    h = decide(seed, step, n, 10);
    count = h[31:29] == '0 ? 32'(h[7:0]) : 32'(h[4:0]);
    case (h[10:8])
      0, 1: return Clears && count <= 256 - 32'(window) ? count : 0;
      2, 3: return count <= 32'(window) ? -count : 0;
      default: return 0;
    endcase
  endfunction

  function automatic logic [7:0] write_offset(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n, int unsigned port);
    return 8'(decide(seed, step, n, 11 + port) >> 8) >> 1;
  endfunction

  function automatic logic [HeaderBytes-1:0] write_strobe(logic [31:0] seed,
      logic [StepBits-1:0] step, logic [7:0] n, int unsigned port, logic [8:0] window);
    logic [31:0] h;
    h = decide(seed, step, n, 13 + port);
    write_strobe = h[16] ? '1 : h[HeaderBytes-1:0];
    if (h[18:17] == '0) write_strobe = '0;
    for (int unsigned k = 0; k < HeaderBytes; k++) begin
      if (32'(write_offset(seed, step, n, port)) + k >= 32'(window)) write_strobe[k] = 1'b0;
    end
  endfunction

  function automatic logic [Word-1:0] write_data(logic [31:0] acc, int unsigned port);
    for (int unsigned i = 0; i < HeaderBytes / 4; i++) begin
      write_data[32*i+:32] = tb_pkg::mix(acc + 8 * port + i);
    end
  endfunction

  function automatic logic [2:0] ending(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n);
    logic [31:0] h;
    h = decide(seed, step, n, 15);
    if (32'(n) + 1 < 1 + seed % Steps) begin
      if (!Emits || h[4:2] != '0) return wl_pkg::EXIT_NEXT;
      return h[5] ? wl_pkg::EXIT_COPY_TO_CPU : wl_pkg::EXIT_EMIT;
    end
    if (!HasPacket) return wl_pkg::EXIT_REPLY;
    case (h[2:0])
      0: return wl_pkg::EXIT_DROP;
      1: return wl_pkg::EXIT_TO_CPU;
      2: return wl_pkg::EXIT_DONE;
      default: return wl_pkg::EXIT_FINISH;
    endcase
  endfunction

  function automatic logic [23:0] reason(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n);
    return decide(seed, step, n, 15) >> 8;
  endfunction

  // Returns the first byte of a copy, and the number of its bytes.
  function automatic logic [31:0] extent(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n, logic [8:0] window, logic [15:0] length);
    logic [31:0] h;
    logic [15:0] from, count;
    h = decide(seed, step, n, 17);
    if (!Pieces || !wl_pkg::is_copy(ending(seed, step, n)) || h[1:0] == '0) return {16'd0, length};
    case (h[3:2])
      0: from = 16'(window) + 16'(h[5:4]);
      1: from = length - 16'(h[5:4]);
      default: from = h[6:4] == '0 ? h[31:16] : 16'(h[15:7]);
    endcase
    count = h[20:18] == '0 ? h[31:16] : 16'(h[30:21]);
    if (h[17:16] == '0) count = 16'(window) - from + 16'(h[30:29]);
    if (from > length) from = length;
    if (count > length - from) count = length - from;
    return {from, count};
  endfunction

  function automatic logic [StepBits-1:0] next_step(logic [31:0] seed, logic [StepBits-1:0] step,
      logic [7:0] n);
    return StepBits'(decide(seed, step, n, 16));
  endfunction

  // Returns the new value of acc.
  function automatic logic [31:0] next_acc(logic [31:0] acc, logic [31:0] read,
      logic [Offloads*32-1:0] replies, logic [Offloads-1:0] replied);
    next_acc = acc ^ read;
    for (int unsigned o = 0; o < Offloads; o++) begin
      next_acc = tb_pkg::mix(next_acc ^ (replied[o] ? replies[32*o+:32] : 32'd0)) + o;
    end
  endfunction

  // ---- The same program as a core ----

  always_comb begin
    for (int unsigned p = 0; p < ReadPorts; p++) begin
      address_offset_o[17*p+:17] =
          offset(address_info_i[32+:32], address_step_i, address_state_i[Context+32+:8],
                                          address_state_i[Context+:32], p);
    end
  end

  localparam int unsigned OutBits =
      Offloads * 33 + 1 + StepBits + StateBits + WritePorts * (1 + 8 + HeaderBytes + Word) + 1 + 8
          + 9 + 3 + ReasonBits;
  logic [OutBits-1:0] now, later;

  logic [31:0] seed, acc, read, acc_next;
  logic [7:0] n, front;
  logic [8:0] window;
  logic [15:0] length;
  int change;
  logic [Offloads-1:0] request_valid;
  logic [Offloads*32-1:0] request_data;
  logic commit, clear_valid;
  logic [StateBits-1:0] state;
  logic [WritePorts-1:0] valid;
  logic [WritePorts*8-1:0] address;
  logic [WritePorts*HeaderBytes-1:0] strobe;
  logic [WritePorts*Word-1:0] data;
  wl_pkg::packet_state_t packet;
  logic [15:0] from, count;
  wl_pkg::piece_t piece;
  always_comb begin
    seed = info_i[32+:32];
    acc = state_i[Context+:32];
    n = state_i[Context+32+:8];
    read = fold(words_i);
    request_valid = guards(seed, step_i, n, read);
    for (int unsigned o = 0; o < Offloads; o++) request_data[32*o+:32] = argument(acc, read, o);
    commit = phase_i || (request_valid & waits_i) == '0;
    acc_next = next_acc(acc, read, replies_i, request_valid & waits_i);

    packet = '0;
    state = '0;
    front = '0;
    window = '0;
    length = '0;
    change = 0;
    valid = '0;
    address = '0;
    strobe = '0;
    data = '0;
    if (HasPacket) begin
      packet = wl_pkg::PacketStateBits'(state_i);
      window = packet.window;
      change = resize(seed, step_i, n, window);
      front = packet.front - 8'(change);
      window += 9'(change);
      length = packet.length + 16'(change);
      state = StateBits'({acc_next[15:0], length, window, front});
      for (int unsigned w = 0; w < WritePorts; w++) begin
        address[8*w+:8] = front + write_offset(seed, step_i, n, w);
        strobe[HeaderBytes*w+:HeaderBytes] = write_strobe(seed, step_i, n, w, window);
        valid[w] = strobe[HeaderBytes*w+:HeaderBytes] != '0;
        data[Word*w+:Word] = write_data(acc_next, w);
      end
    end
    {from, count} = extent(seed, step_i, n, window, length);
    piece = '0;
    piece.length = count;
    if (count != '0 && from < 16'(window)) begin
      piece.front = front + 8'(from);
      piece.window = count > 16'(window) - from ? window - 9'(from) : 9'(count);
    end else if (from > 16'(window)) piece.skip = from - 16'(window);
    state[Context+:40] = {n + 8'd1, acc_next};
    clear_valid = change > 0;
    now = {request_valid, request_data, commit, next_step(seed, step_i, n), state, valid, address,
        strobe, data,
           clear_valid, front, 9'(change), ending(seed, step_i, n),
           ReasonBits'({piece, reason(seed, step_i, n)})};
  end

  if (CoreStages == 0) begin : g_wire
    assign later = now;
  end else begin : g_stages
    logic [CoreStages-1:0][OutBits-1:0] stage;
    always_ff @(posedge clk_i) begin
      for (int unsigned s = 0; s < CoreStages; s++) stage[s] <= s == 0 ? now : stage[s-1];
    end
    assign later = stage[CoreStages-1];
  end
  assign {request_valid_o, request_data_o, commit_o, step_o, state_o, write_valid_o,
      write_address_o, write_strobe_o, write_data_o,
          clear_valid_o, clear_address_o, clear_count_o, exit_o, reason_o} = later;
endmodule
