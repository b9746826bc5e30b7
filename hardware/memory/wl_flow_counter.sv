`include "wl_reset.svh"

// Counters by flow in a QDR SRAM: up to three counters of 72 bits for each flow, which are all
// updated at once for a packet (the paper, section 4.3).
//
//   cycle 0: request    1: reads    1 + ReadLatency: sums    2 + ReadLatency: writes
//
// The counters of a flow occupy one burst each (two words of 36 bits are a counter of 72 bits),
// counter k in bank k. Each burst is read and written in its own slot of a memory channel, so that
// a packet has one read-modify-write of up to 216 bits, and a memory of 300 MHz serves one packet
// in each 100 MHz cycle.
//
// Between a read and its write lie ReadLatency + 1 cycles, in which further packets of the same
// flow may arrive. Each packet is compared with those under way when it is read. If one of them has
// the same flow, the youngest one's sum replaces the word from memory: LUT RAM holds the sums of
// the last cycles, addressed by the cycle of the sum. The sum is therefore exact for any sequence
// of packets.
//
// Contract
//   Data: the counters of a flow are the sums of what was added, modulo 2^CounterBits; a flow out
//   of range has no counters. The control plane reads and writes all counters of a flow in one
//   operation among the requests, after everything that was taken before it has been added. There
//   are no replies.
//   Throughput: one request a cycle, except for the cycles that control accesses take
//   (`wl_control_slot`).
// Request: {index, arguments}, the first argument most significant.
// Timing: between two registers there are at most the read of the LUT RAM, a multiplexer, and an
// addition of CounterBits. Cost: about 12 LUTs for each cycle of ReadLatency, and 4 for each bit of
// counters.
//
// Parameters
//   Size           flows
//   Counters       counters of a flow, 1 to 3
//   CounterBits    bits of a counter
//   Arguments      arguments of a request after the index, 0 to 3
//   ArgumentBits   bits of each
//   Adds           2 bits a counter, counter 0 lowest: 0 adds one; k adds argument k, counted from
//                  1
//   IndexBits      bits of the index in a request
//   DataBits       bits of a burst of the memory
//   AddressBits    bits of a burst's address
//   Base           burst of flow 0's counter 0; a multiple of Banks times a bank's bursts (powers
//                  of two)
//   ReadLatency    read latency of the memory channel; at least two
//   CtlBits        bits of the control bus' data
//   CtlTarget      number of these counters on the control bus; its addresses are the flows,
//                  counter k in bits [k*CounterBits +: CounterBits] of its data
//   Patience       cycles that a control access waits for an idle cycle
// The defaults are the `counter` kind (docs/offloads.md): bytes are counter 0, packets counter 1.
module wl_flow_counter #(
    parameter int unsigned Size = 65536,
    parameter int unsigned Counters = 2,
    parameter int unsigned CounterBits = 64,
    parameter int unsigned Arguments = 1,
    parameter int unsigned ArgumentBits = 32,
    parameter logic [2*Counters-1:0] Adds = (2 * Counters)'(1),
    parameter int unsigned IndexBits = 32,
    parameter int unsigned DataBits = 72,
    parameter int unsigned AddressBits = 20,
    parameter logic [AddressBits-1:0] Base = '0,
    parameter int unsigned ReadLatency = 8,
    parameter int unsigned CtlBits = 216,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16,
    localparam int unsigned RequestBits = IndexBits + Arguments * ArgumentBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [RequestBits-1:0] request_data_i,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // flow
    input  logic [CtlBits-1:0] ctl_data_i,     // the counters to write
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o,     // the old counters, zero unless done

    // Slots of a memory channel.
    output logic [Counters-1:0]                  read_valid_o,
    output logic [Counters-1:0][AddressBits-1:0] read_address_o,
    input  logic [Counters-1:0][   DataBits-1:0] read_data_i,
    output logic [Counters-1:0]                  write_valid_o,
    output logic [Counters-1:0][AddressBits-1:0] write_address_o,
    output logic [Counters-1:0][   DataBits-1:0] write_data_o,
    input  logic                                 hold_i            // accept no request
);
  localparam int unsigned FlowBits = wl_pkg::bits(Size);
  localparam int unsigned BankBits = $clog2(Counters);
  localparam int unsigned AllBits = Counters * CounterBits;
  localparam int unsigned Addends = Arguments > 0 ? Arguments : 1;
  localparam int unsigned AddendBits = Arguments > 0 ? ArgumentBits : 1;
  // A read sees a write this many cycles after the read that the write belongs to; sums that are
  // younger are forwarded.
  localparam int unsigned Window = ReadLatency + 1;
  localparam int unsigned PointerBits = wl_pkg::bits(Window);

  if (Counters < 1 || Counters > 3 || CounterBits < 1
      || CounterBits > DataBits) begin : g_illegal_counters
    $fatal(1, "wl_flow_counter: a flow has one to three counters, each of which a burst holds");
  end
  if (Arguments > 3 || (Arguments > 0 && ArgumentBits < 1)) begin : g_illegal_arguments
    $fatal(1, "wl_flow_counter: there are at most three arguments");
  end
  for (genvar k = 0; k < Counters; k++) begin : g_check
    if (32'(Adds[2*k+:2]) > Arguments) begin : g_illegal_adds
      $fatal(1, "wl_flow_counter: Adds names an argument that there is not");
    end
  end
  if (Size < 1 || IndexBits < 1 || IndexBits > 32 || CtlBits < AllBits
      || ReadLatency < 2) begin : g_illegal
    $fatal(1, "wl_flow_counter: Size, IndexBits, CtlBits or ReadLatency is out of its range");
  end
  if (64'(Base) + (64'd1 << (FlowBits + BankBits)) > 64'd1 << AddressBits ||
      (64'(Base) & ((64'd1 << (FlowBits + BankBits)) - 1)) != 0) begin : g_illegal_base
    $fatal(1,
        "wl_flow_counter: the banks must fit the memory, and Base be a multiple of their size");
  end

  logic take, free;
  assign request_ready_o = free && !hold_i;
  wl_control_slot #(
      .CtlTarget(CtlTarget),
      .Patience (Patience)
  ) i_control_slot (
      .clk_i,
      .rst_i,
      .request_valid_i(request_valid_i && !hold_i),
      .request_ready_o(free),
      .ctl_valid_i,
      .ctl_target_i,
      .take_o(take),
      .done_i(ctl_done_o)
  );

  // The arguments of a request, the last one in element 0. Without arguments there is one that no
  // counter adds.
  typedef logic [Addends-1:0][AddendBits-1:0] addends_t;
  typedef struct packed {
    logic [IndexBits-1:0] index;
    addends_t addends;
  } request_t;
  request_t request;
  if (Arguments > 0) begin : g_arguments
    assign request = request_data_i;
  end else begin : g_no_arguments
    assign request.index = request_data_i;
    assign request.addends = '0;
  end
  logic [31:0] index;
  assign index = take ? ctl_address_i : 32'(request.index);

  function automatic logic [Counters-1:0][AddressBits-1:0] addresses(logic [FlowBits-1:0] flow);
    for (int unsigned k = 0; k < Counters; k++) begin
      addresses[k] = Base | AddressBits'(flow) | (AddressBits'(k) << FlowBits);
    end
  endfunction

  typedef logic [Counters-1:0][CounterBits-1:0] counters_t;

  // Cycle 1: read.
  typedef struct packed {
    logic valid;  // an operation on a flow in range
    logic ctl;
  } access_t;
  typedef struct packed {
    logic [FlowBits-1:0] flow;
    addends_t addends;
  } change_t;
  access_t a_access;
  change_t a_change;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      a_access <= '0;
    end else begin
      a_access.valid <= (take || (request_valid_i && request_ready_o)) && {1'b0, index} < 33'(Size);
      a_access.ctl   <= take;
    end
  end
  always_ff @(posedge clk_i) begin
    a_change.flow <= index[FlowBits-1:0];
    a_change.addends <= request.addends;
  end
  assign read_valid_o = {Counters{a_access.valid}};
  assign read_address_o = addresses(a_change.flow);

  // Marks the operations under way that have the same flow: bit d - 1 is that of the read d cycles
  // before.
  logic [Window-1:0] past_valid, same;
  logic [Window-1:0][FlowBits-1:0] past_flow;
  logic [Window:0][FlowBits-1:0] past_flow_next;
  logic [Window:0] past_valid_next;
  assign past_flow_next  = {past_flow, a_change.flow};
  assign past_valid_next = {past_valid, a_access.valid};
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) past_valid <= '0;
    else past_valid <= past_valid_next[Window-1:0];
  end
  always_ff @(posedge clk_i) begin
    past_flow <= past_flow_next[Window-1:0];
    for (int unsigned d = 0; d < Window; d++) begin
      same[d] <= past_valid[d] && past_flow[d] == a_change.flow;
    end
  end

  // Cycle 2: the youngest of them, and the address of its sum at the time when the data of this
  // operation arrive.
  typedef struct packed {
    logic previous;  // it is the operation before this one
    logic earlier;
    logic [PointerBits-1:0] from;
  } youngest_t;
  logic [PointerBits-1:0] cycle;
  youngest_t youngest;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) cycle <= '0;
    else cycle <= cycle + 1'b1;
  end
  always_comb begin
    youngest.previous = same[0];
    youngest.earlier = same != '0 && !same[0];
    youngest.from = '0;
    for (int unsigned d = Window; d > 1; d--) begin
      if (same[d-1]) youngest.from = PointerBits'(ReadLatency) - PointerBits'(d);
    end
    youngest.from = youngest.from + cycle;
  end

  // Cycle 1 + ReadLatency: the data arrive.
  access_t e_access;
  change_t e_change;
  addends_t e_addends;
  assign e_addends = e_change.addends;
  youngest_t e_youngest;
  wl_delay #(
      .Width ($bits(access_t)),
      .Cycles(ReadLatency),
      .Reset (1'b1)
  ) i_valid (
      .clk_i,
      .rst_i,
      .data_i(a_access),
      .data_o(e_access)
  );
  wl_delay #(
      .Width ($bits(change_t)),
      .Cycles(ReadLatency)
  ) i_flow (
      .clk_i,
      .rst_i,
      .data_i(a_change),
      .data_o(e_change)
  );
  wl_delay #(
      .Width ($bits(youngest_t)),
      .Cycles(ReadLatency - 1)
  ) i_from (
      .clk_i,
      .rst_i,
      .data_i(youngest),
      .data_o(e_youngest)
  );

  // The sums of the cycles before.
  logic w_valid;
  logic [FlowBits-1:0] w_flow;
  counters_t w_sums, e_kept, e_old, e_sums, ctl_counters;
  assign ctl_counters = ctl_data_i[AllBits-1:0];
  wl_ram_lut #(
      .Width(AllBits),
      .Depth(1 << PointerBits)
  ) i_kept (
      .clk_i,
      .write_i(1'b1),
      .write_address_i(cycle),
      .write_data_i(w_sums),
      .read_address_i(e_youngest.from),
      .read_data_o(e_kept)
  );

  for (genvar k = 0; k < Counters; k++) begin : g_counter
    localparam int unsigned Argument = 32'(Adds[2*k+:2]);
    logic [CounterBits-1:0] addend, old;
    if (Argument == 0) begin : g_one
      assign addend = CounterBits'(1);
    end else begin : g_argument
      assign addend = CounterBits'(e_addends[Arguments-Argument]);
    end
    assign old = e_youngest.previous ? w_sums[k]
        : e_youngest.earlier ? e_kept[k] : read_data_i[k][CounterBits-1:0];
    assign e_old[k] = old;
    // A control access holds its data until it is done; a read access writes back what it read.
    assign e_sums[k] = !e_access.ctl ? old + addend : ctl_write_i ? ctl_counters[k] : old;
    assign write_data_o[k] = DataBits'(w_sums[k]);
  end

  // Cycle 2 + ReadLatency: write.
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      w_valid <= 1'b0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
    end else begin
      w_valid <= e_access.valid;
      ctl_done_o <= e_access.ctl;
      ctl_data_o <= e_access.ctl && e_access.valid ? CtlBits'(e_old) : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    w_flow <= e_change.flow;
    w_sums <= e_sums;
  end
  assign write_valid_o = {Counters{w_valid}};
  assign write_address_o = addresses(w_flow);

  logic unused;
  assign unused = &{1'b0, ctl_data_i, read_data_i, past_flow_next, past_valid_next,
      e_addends};

`ifdef FORMAL
  // For an arbitrary flow, each operation sees the result of the one before.
  logic [FlowBits-1:0] f_flow;  // arbitrary constant
  always_ff @(posedge clk_i) f_flow <= f_flow;
  logic f_known, f_touched;
  counters_t f_sums;
  assign f_touched = e_access.valid && e_change.flow == f_flow;
  always_ff @(posedge clk_i) begin
    if (rst_i) f_known <= 1'b0;
    else if (f_touched) f_known <= 1'b1;
    if (f_touched) f_sums <= e_sums;
    if (!rst_i && f_touched && f_known) Exact_A : assert (e_old == f_sums);
    if (!rst_i && e_access.ctl) CtlHeld_M : assume (ctl_valid_i);
  end
`endif
endmodule
