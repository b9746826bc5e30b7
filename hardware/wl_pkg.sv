// Constants and types that templates and generated modules share. No module uses all of them.
// verilator lint_off UNUSEDPARAM
package wl_pkg;

  // Returns the bits of a number below `count`; at least one, so that a vector of this width
  // exists.
  function automatic int unsigned bits(int unsigned count);
    return count > 1 ? $clog2(count) : 1;
  endfunction

  // Returns the core cycles from a request at `wl_rate_adapter` to its reply, for a memory with a
  // latency of `memory_latency` memory cycles.
  function automatic int unsigned adapter_latency(int unsigned slots, int unsigned memory_latency);
    return 1 + (slots + 2 + memory_latency + slots - 1) / slots;
  endfunction

  // The ways in which a step ends (docs/ir.md, "Exits").
  localparam logic [2:0] EXIT_NEXT = 3'd0;
  localparam logic [2:0] EXIT_FINISH = 3'd1;
  localparam logic [2:0] EXIT_EMIT = 3'd2;
  localparam logic [2:0] EXIT_DROP = 3'd3;
  localparam logic [2:0] EXIT_TO_CPU = 3'd4;
  localparam logic [2:0] EXIT_DONE = 3'd5;
  localparam logic [2:0] EXIT_REPLY = 3'd6;
  localparam logic [2:0] EXIT_COPY_TO_CPU = 3'd7;

  // Returns whether a packet leaves as a copy, and its thread continues.
  function automatic logic is_copy(logic [2:0] kind);
    return kind == EXIT_EMIT || kind == EXIT_COPY_TO_CPU;
  endfunction

  // Returns whether a packet leaves for the control processor.
  function automatic logic is_for_cpu(logic [2:0] kind);
    return kind == EXIT_TO_CPU || kind == EXIT_COPY_TO_CPU;
  endfunction

  // The header window of a packet is stored in a circular memory of WindowBytes bytes; a packet's
  // first byte is loaded at `WindowFront`.
  localparam int unsigned WindowBytes = 256;
  localparam int unsigned WindowLoaded = 128;
  localparam int unsigned WindowFront = 128;

  // Bytes of a row of the header memory: windows are loaded, unloaded and moved by aligned rows.
  // The words that a port reads or writes at any byte address are as long or shorter (`HeaderBytes`
  // of the engine shells).
  localparam int unsigned WordBytes = 16;
  localparam int unsigned WordBits = 8 * WordBytes;

  // Returns the bits of a count of words of `bytes` bytes in a window, from none to all.
  function automatic int unsigned chunk_bits(int unsigned bytes);
    return bits(WindowBytes / bytes + 1);
  endfunction

  // The packet's part of a thread's state; the context is above it.
  typedef struct packed {
    logic [15:0] egress;   // egress port
    logic [15:0] length;   // bytes of the packet
    logic [8:0] window;    // bytes of the window
    logic [7:0] front;     // physical byte of byte 0 of the window
  } packet_state_t;
  localparam int unsigned PacketStateBits = $bits(packet_state_t);

  // Returns the state of a packet of `length` bytes whose window is loaded.
  function automatic packet_state_t loaded_state(logic [15:0] length);
    packet_state_t state;
    state.egress = '0;
    state.length = length;
    state.window = length > 16'(WindowLoaded) ? 9'(WindowLoaded) : length[8:0];
    state.front = 8'(WindowFront);
    return state;
  endfunction

  // Constant information of a packet; what else the program asks for is above it.
  typedef struct packed {
    logic [15:0] ingress;  // ingress port
    logic [15:0] length;   // bytes on arrival
  } packet_info_t;
  localparam int unsigned PacketInfoBits = $bits(packet_info_t);

  // The result of an engine for a packet.
  typedef struct packed {
    logic [2:0] kind;      // EXIT_*
    logic [23:0] reason;   // reason set (8 bits), reason (16 bits): dropped, or for the cpu
    logic [15:0] egress;   // egress port
    logic [3:0] start;     // byte of the first row at which the window begins
    logic [8:0] window;    // bytes of the window
    logic [15:0] length;   // bytes of the whole packet
    logic more;            // a copy: the packet's thread continues and will send again
  } result_t;
  localparam int unsigned ResultBits = $bits(result_t);

  // The bytes that leave at an exit, if an engine sends copies of some bytes: all of the packet, or
  // those of the copy.
  typedef struct packed {
    logic [15:0] skip;     // bytes of the body before the first that leaves; 0 with a window
    logic [15:0] length;   // bytes that leave
    logic [8:0] window;    // bytes of the window that leave
    logic [7:0] front;     // physical byte of the first of these; 0 without a window
  } piece_t;

  // Returns the bits of `core_reason_i` of an engine: the reason and, with pieces, above it the
  // bytes that leave.
  function automatic int unsigned reason_bits(bit pieces);
    return 24 + (pieces ? $bits(piece_t) : 0);
  endfunction

  // The sideband bits of a packet that leaves (`tuser`).
  typedef struct packed {
    logic [2:0] kind;      // EXIT_FINISH, EXIT_EMIT, EXIT_TO_CPU or EXIT_COPY_TO_CPU
    logic [23:0] reason;   // as in result_t
    logic [15:0] egress;   // egress port
  } sent_t;
  localparam int unsigned SentBits = $bits(sent_t);

  // The operations of `wl_table` on an element (docs/offloads.md, `array`).
  localparam int unsigned MethodBits = 3;
  localparam logic [MethodBits-1:0] TABLE_READ = 3'd0;
  localparam logic [MethodBits-1:0] TABLE_WRITE = 3'd1;
  localparam logic [MethodBits-1:0] TABLE_ADD = 3'd2;
  localparam logic [MethodBits-1:0] TABLE_FETCH_ADD = 3'd3;
  localparam logic [MethodBits-1:0] TABLE_EXCHANGE = 3'd4;
  localparam logic [MethodBits-1:0] TABLE_COMPARE_SWAP = 3'd5;

  // Returns whether a method is among the first `count` of `methods` (MethodBits each).
  function automatic logic table_has(int unsigned count, logic [23:0] methods,
      logic [MethodBits-1:0] method);
    for (int unsigned k = 0; k < count; k++) begin
      if (methods[k*MethodBits+:MethodBits] == method) return 1'b1;
    end
    return 1'b0;
  endfunction

  // Returns the bits of a request to `wl_table`: the method if there are several, and the arguments
  // of the widest method.
  function automatic int unsigned table_request_bits(int unsigned count, logic [23:0] methods,
      int unsigned index_bits,
                                                     int unsigned width);
    int unsigned values;
    values = 0;
    for (int unsigned k = 0; k < count; k++) begin
      if (methods[k*MethodBits+:MethodBits] == TABLE_COMPARE_SWAP) values = 2;
      else if (methods[k*MethodBits+:MethodBits] != TABLE_READ && values == 0) values = 1;
    end
    return (count > 1 ? bits(count) : 0) + index_bits + values * width;
  endfunction

endpackage
// verilator lint_on UNUSEDPARAM
