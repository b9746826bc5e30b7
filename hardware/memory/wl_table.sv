`include "wl_reset.svh"

// Table in block RAM as a service: the `array` kind (docs/offloads.md) with the methods that an
// engine calls.
//
//   cycle 0: request or control access    1: block RAM is read    2: new value
//         3: reply; block RAM is written
//   (a control access to a table that requests only read: written in cycle 1)
//
// Contract
//   Data: each request is one atomic operation on the element as all requests before it have left
//   it, at any distance: values that have not reached the memory yet are forwarded. A request with
//   an index out of range changes nothing, and its reply is zero. The control plane reads and
//   writes a whole element in one operation among the requests, so that no reader sees a partial
//   write.
//   Order and latency: each request has a reply, even if its method returns nothing, exactly three
//   cycles after it was taken.
//   Throughput: one request a cycle, except for the cycles that control accesses take
//   (`wl_control_slot`).
//   Contents: zero at power-up; in simulation from +wl_image_<Image>=FILE.
//   Reset: elements keep their values. A request that a reset cuts is performed whole if its
//   element has been read, or not at all, and has no reply; with either kind of reset
//   (wl_reset.svh). If a method writes, the RAM is written by a register that no reset clears.
// Request: {method, if there are several; arguments, the first most significant}, the arguments
// zero-extended on the left:
//   {index} for read; {index, value} for write, add, fetch_add and exchange;
//   {index, expected, value} for compare_swap.
// Reply: the value; {swapped, value} if compare_swap is among the methods.
// Timing: between two registers there are at most a comparison with the expected value and a
// multiplexer, or an addition and a multiplexer.
//
// Parameters
//   Width         bits of an element
//   Size          elements
//   MethodCount   methods that are called
//   Methods       wl_pkg::TABLE_*, MethodBits each, method number 0 lowest
//   Cuts          where the fields of an element begin, for the methods that add (`wl_field_add`)
//   IndexBits     bits of the index in a request
//   TagBits       bits of the tag that a reply repeats
//   CtlBits       bits of the control bus' data
//   CtlTarget     number of this table on the control bus; its addresses are the indices
//   Patience      cycles that a control access waits for an idle cycle
//   Image         name of the contents in simulation
module wl_table #(
    parameter int unsigned Width = 32,
    parameter int unsigned Size = 1024,
    parameter int unsigned MethodCount = 1,
    parameter logic [MethodCount*wl_pkg::MethodBits-1:0] Methods = '0,
    parameter logic [Width-1:0] Cuts = '0,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 64,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16,
    parameter Image = "",
    localparam logic HasSwap =
        wl_pkg::table_has(MethodCount, 24'(Methods), wl_pkg::TABLE_COMPARE_SWAP),
    localparam int unsigned RequestBits =
        wl_pkg::table_request_bits(MethodCount, 24'(Methods), IndexBits, Width),
    localparam int unsigned ReplyBits = Width + 32'(HasSwap)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic                 reply_valid_o,
    output logic [  TagBits-1:0] reply_tag_o,
    output logic [ReplyBits-1:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // index
    input  logic [CtlBits-1:0] ctl_data_i,     // the element, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the old element, zero unless done
);
  localparam int unsigned AddressBits = wl_pkg::bits(Size);
  localparam int unsigned SelectBits = MethodCount > 1 ? wl_pkg::bits(MethodCount) : 0;
  localparam logic [23:0] All = 24'(Methods);
  localparam logic HasRead = wl_pkg::table_has(MethodCount, All, wl_pkg::TABLE_READ);
  localparam logic HasAdd = wl_pkg::table_has(MethodCount, All, wl_pkg::TABLE_ADD);
  localparam logic HasFetchAdd = wl_pkg::table_has(MethodCount, All, wl_pkg::TABLE_FETCH_ADD);
  localparam logic HasWrite = wl_pkg::table_has(MethodCount, All, wl_pkg::TABLE_WRITE);
  localparam logic HasExchange = wl_pkg::table_has(MethodCount, All, wl_pkg::TABLE_EXCHANGE);
  // Whether requests carry a value; if none does, only the control plane writes.
  localparam logic HasValue = HasAdd || HasFetchAdd || HasWrite || HasExchange || HasSwap;

  if (Width < 1 || Size < 1 || IndexBits < AddressBits || IndexBits > 32
      || CtlBits < Width) begin : g_illegal
    $fatal(1,
        "wl_table: Width and Size must be 1 or more, IndexBits hold an index, CtlBits an element");
  end
  if (MethodCount < 1 || MethodCount > 6) begin : g_illegal_methods
    $fatal(1, "wl_table: there must be one to six methods");
  end

  // A request enters, or a control access in its place.
  logic take;
  wl_control_slot #(
      .CtlTarget(CtlTarget),
      .Patience (Patience)
  ) i_control_slot (
      .clk_i,
      .rst_i,
      .request_valid_i,
      .request_ready_o,
      .ctl_valid_i,
      .ctl_target_i,
      .take_o(take),
      .done_i(ctl_done_o)
  );

  logic [wl_pkg::MethodBits-1:0] request_method;
  if (MethodCount > 1) begin : g_select
    logic [SelectBits-1:0] select;
    assign select = request_data_i[RequestBits-1-:SelectBits];
    always_comb begin
      request_method = Methods[wl_pkg::MethodBits-1:0];
      for (int unsigned k = 1; k < MethodCount; k++) begin
        if (select == SelectBits'(k)) begin
          request_method = Methods[k*wl_pkg::MethodBits+:wl_pkg::MethodBits];
        end
      end
    end
  end else begin : g_single
    assign request_method = Methods[wl_pkg::MethodBits-1:0];
  end

  // The arguments as the methods have them, in the lowest bits of a request.
  typedef struct packed {
    logic [IndexBits-1:0] index;
    logic [Width-1:0] value;
  } change_t;
  typedef struct packed {
    logic [IndexBits-1:0] index;
    logic [Width-1:0] expected;
    logic [Width-1:0] value;
  } swap_t;
  logic [IndexBits-1:0] read_index;
  change_t change;
  swap_t swap;
  assign read_index = request_data_i[IndexBits-1:0];
  assign change = $bits(change_t)'(request_data_i);
  assign swap = $bits(swap_t)'(request_data_i);

  logic [IndexBits-1:0] request_index;
  always_comb begin
    request_index = '0;
    if (HasRead && request_method == wl_pkg::TABLE_READ) request_index |= read_index;
    if (HasSwap && request_method == wl_pkg::TABLE_COMPARE_SWAP) request_index |= swap.index;
    if (HasAdd || HasFetchAdd || HasWrite || HasExchange) begin
      if (request_method != wl_pkg::TABLE_READ
          && request_method != wl_pkg::TABLE_COMPARE_SWAP) begin
        request_index |= change.index;
      end
    end
  end

  logic [31:0] index;
  assign index = take ? ctl_address_i : 32'(request_index);

  // Cycle 1.
  logic a_valid, a_ctl, a_in;
  logic [TagBits-1:0] a_tag;
  logic [AddressBits-1:0] a_index;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      a_valid <= 1'b0;
      a_ctl   <= 1'b0;
    end else begin
      a_valid <= take || (request_valid_i && request_ready_o);
      a_ctl   <= take;
    end
  end
  always_ff @(posedge clk_i) begin
    a_tag   <= request_tag_i;
    a_index <= index[AddressBits-1:0];
    a_in    <= {1'b0, index} < 33'(Size);
  end

  // Cycle 2.
  logic b_valid, b_ctl, b_in;
  logic [TagBits-1:0] b_tag;
  logic [AddressBits-1:0] b_index;
  initial b_valid = 1'b0;  // the first reset leaves the elements as they are
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      b_valid <= 1'b0;
      b_ctl   <= 1'b0;
    end else begin
      b_valid <= a_valid;
      b_ctl   <= a_ctl;
    end
  end
  always_ff @(posedge clk_i) begin
    b_tag   <= a_tag;
    b_index <= a_index;
    b_in    <= a_in;
  end

  logic write;
  logic [AddressBits-1:0] write_index;
  logic [Width-1:0] write_value;
  logic [Width-1:0] b_stored, b_old;
  logic b_swapped;

  wl_ram_block #(
      .Width(Width),
      .Depth(Size),
      .Image(Image)
  ) i_ram (
      .clk_i,
      .write_i(write),
      .write_address_i(write_index),
      .write_data_i(write_value),
      .read_i(a_valid),
      .read_address_i(a_index),
      .read_data_o(b_stored)
  );

  if (HasValue) begin : g_change
    // Cycle 3: the element after the operation. The data read do not include the last two
    // operations. A reset does not clear `c_write`: an asynchronous one would take the write from
    // the RAM at any time before the edge of the clock.
    logic b_after_c, b_after_d;
    logic b_write, c_write, c_in;
    logic [AddressBits-1:0] c_index;
    logic [Width-1:0] b_new, c_value, d_value;
    initial c_write = 1'b0;
    always_ff @(posedge clk_i) begin
      c_write <= b_valid && b_in && b_write;
      c_in <= b_valid && b_in;
      c_index <= b_index;
      c_value <= b_new;
      d_value <= c_value;
      b_after_c <= b_valid && b_in && b_index == a_index;
      b_after_d <= c_in && c_index == a_index;
    end
    assign write = c_write;
    assign write_index = c_index;
    assign write_value = c_value;
    assign b_old = b_after_c ? c_value : b_after_d ? d_value : b_stored;

    logic [wl_pkg::MethodBits-1:0] a_method, b_method;
    logic [Width-1:0] a_value, b_value;
    always_ff @(posedge clk_i) begin
      a_method <= !take ? request_method : ctl_write_i ? wl_pkg::TABLE_WRITE : wl_pkg::TABLE_READ;
      b_method <= a_method;
      a_value  <= take ? ctl_data_i[Width-1:0] : change.value;
      b_value  <= a_value;
    end

    logic [Width-1:0] b_sum;
    if (HasAdd || HasFetchAdd) begin : g_add
      wl_field_add #(
          .Width(Width),
          .Cuts (Cuts)
      ) i_add (
          .a_i  (b_old),
          .b_i  (b_value),
          .sum_o(b_sum)
      );
    end else begin : g_no_add
      assign b_sum = b_value;
    end

    if (HasSwap) begin : g_swap
      logic [Width-1:0] a_expected, b_expected;
      always_ff @(posedge clk_i) begin
        a_expected <= swap.expected;
        b_expected <= a_expected;
      end
      assign b_swapped = b_method == wl_pkg::TABLE_COMPARE_SWAP && b_old == b_expected;
    end else begin : g_no_swap
      assign b_swapped = 1'b0;
    end

    logic b_adds;
    assign b_adds  = b_method == wl_pkg::TABLE_ADD || b_method == wl_pkg::TABLE_FETCH_ADD;
    assign b_write = b_adds || b_method == wl_pkg::TABLE_WRITE
        || b_method == wl_pkg::TABLE_EXCHANGE || b_swapped;
    assign b_new   = b_adds ? b_sum : b_write ? b_value : b_old;
  end else begin : g_read_only
    // Only the control plane writes. It does so as soon as the element is read (the RAM returns the
    // old one), so that later requests see it. A control access holds its data until it is done.
    initial a_ctl = 1'b0;  // the first reset leaves the elements as they are
    assign write = a_ctl && ctl_write_i && a_in;
    assign write_index = a_index;
    assign write_value = ctl_data_i[Width-1:0];
    assign b_old = b_stored;
    assign b_swapped = 1'b0;
    logic unused;
    assign unused = &b_index;
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      reply_valid_o <= 1'b0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
    end else begin
      reply_valid_o <= b_valid && !b_ctl;
      ctl_done_o <= b_ctl;
      ctl_data_o <= b_ctl && b_in ? CtlBits'(b_old) : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    reply_tag_o <= b_tag;
    reply_data_o <= b_in ? ReplyBits'({b_swapped, b_old}) : '0;
  end

  logic unused;
  assign unused = &{1'b0, ctl_data_i, request_data_i, read_index, change, swap};

`ifdef FORMAL
  // For an arbitrary element, each operation sees the result of the one before, also of one that a
  // reset has cut.
  logic [AddressBits-1:0] f_index;  // arbitrary constant
  always_ff @(posedge clk_i) f_index <= f_index;
  logic f_known, f_touched;
  initial f_known = 1'b0;
  logic [Width-1:0] f_value, f_new;
  assign f_touched = b_valid && b_in && b_index == f_index;
  if (HasValue) begin : g_f_change
    assign f_new = g_change.b_write ? g_change.b_new : b_old;
  end else begin : g_f_read_only
    assign f_new = b_ctl && ctl_write_i ? ctl_data_i[Width-1:0] : b_old;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i && !HasValue) f_known <= 1'b0;
    else if (f_touched) f_known <= 1'b1;
    if (f_touched) f_value <= f_new;
    if (!rst_i && f_touched && f_known) Exact_A : assert (b_old == f_value);
    if (!rst_i && b_ctl) CtlHeld_M : assume (ctl_valid_i);
  end
`endif
endmodule
