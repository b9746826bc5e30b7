`include "wl_reset.svh"

// Direct-mapped table in a QDR SRAM as a service: the `array` kind with `read` only, for sizes that
// exceed on-chip memory. The second level of the MPLS lookup is such a table, with a million labels
// (the paper, section 4.2).
//
// It uses one slot of a memory channel for each burst of an element, the same slot for reads and
// writes.
//
// Contract
//   Data: the element at the index; zero for an index out of range. The control plane writes and
//   reads a whole element in place of one request, so that no reader sees a partial write; requests
//   that are taken later see what was written.
//   Order and latency: the reply to each request comes exactly ReadLatency + 2 cycles after it was
//   taken.
//   Throughput: one request a cycle, except for the cycles that control accesses take
//   (`wl_control_slot`).
// Request: {index}. Reply: the value.
// Timing: registers at both ends; the range check comes before the first register.
//
// Parameters
//   Width         bits of an element
//   Size          elements
//   IndexBits     bits of the index in a request
//   TagBits       bits of the tag that a reply repeats
//   DataBits      bits of a burst of the memory
//   AddressBits   bits of a burst's address
//   Base          burst of element 0; a multiple of the bursts from one element to the next (a
//                 power of two)
//   ReadLatency   read latency of the memory channel
//   CtlBits       bits of the control bus' data
//   CtlTarget     number of this table on the control bus; its addresses are the indices
//   Patience      cycles that a control access waits for an idle cycle
module wl_direct_table #(
    parameter int unsigned Width = 36,
    parameter int unsigned Size = 1048576,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned TagBits = 8,
    parameter int unsigned DataBits = 36,
    parameter int unsigned AddressBits = 21,
    parameter logic [AddressBits-1:0] Base = '0,
    parameter int unsigned ReadLatency = 8,
    parameter int unsigned CtlBits = 64,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16,
    localparam int unsigned Bursts = (Width + DataBits - 1) / DataBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                 request_valid_i,
    output logic                 request_ready_o,
    input  logic [  TagBits-1:0] request_tag_i,
    input  logic [IndexBits-1:0] request_data_i,

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic [  Width-1:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // index
    input  logic [CtlBits-1:0] ctl_data_i,     // the element, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o,     // the old element, zero unless done

    // Slots of a memory channel.
    output logic [Bursts-1:0]                  read_valid_o,
    output logic [Bursts-1:0][AddressBits-1:0] read_address_o,
    input  logic [Bursts-1:0][   DataBits-1:0] read_data_i,
    output logic [Bursts-1:0]                  write_valid_o,
    output logic [Bursts-1:0][AddressBits-1:0] write_address_o,
    output logic [Bursts-1:0][   DataBits-1:0] write_data_o,
    input  logic                               hold_i            // accept no request
);
  localparam int unsigned ShiftBits = $clog2(Bursts);

  if (Width < 1 || Size < 1 || IndexBits < 1 || IndexBits > 32 || CtlBits < Width) begin : g_illegal
    $fatal(1,
        "wl_direct_table: Width, Size must be 1 or more, IndexBits 1 to 32, CtlBits an element");
  end
  if (64'(Base) + (64'(Size) << ShiftBits) > 64'd1 << AddressBits
      || (64'(Base) & ((64'd1 << ShiftBits) - 1)) != 0)
  begin : g_illegal_base
    $fatal(1,
        "wl_direct_table: the elements must fit the memory, Base be a multiple of their bursts");
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

  logic [31:0] index;
  assign index = take ? ctl_address_i : 32'(request_data_i);

  // The path to the memory.
  typedef struct packed {
    logic valid;
    logic ctl;
  } access_t;
  typedef struct packed {
    logic in_range;
    logic [TagBits-1:0] tag;
  } asker_t;
  access_t a_access;
  asker_t a_asker;
  logic [AddressBits-1:0] a_address;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      a_access <= '0;
    end else begin
      a_access.valid <= take || (request_valid_i && request_ready_o);
      a_access.ctl   <= take;
    end
  end
  always_ff @(posedge clk_i) begin
    a_asker.in_range <= {1'b0, index} < 33'(Size);
    a_asker.tag <= request_tag_i;
    a_address <= Base + (AddressBits'(index) << ShiftBits);
  end

    for (genvar k = 0; k < Bursts; k++) begin : g_burst
    assign read_valid_o[k] = a_access.valid && a_asker.in_range;
    assign write_valid_o[k] = a_access.ctl && a_asker.in_range && ctl_write_i;
    assign read_address_o[k] = a_address | AddressBits'(k);
    assign write_address_o[k] = a_address | AddressBits'(k);
  end
  assign write_data_o = (Bursts * DataBits)'(ctl_data_i[Width-1:0]);  // held until it is done

  // The path from the memory.
  access_t b_access;
  asker_t b_asker;
  wl_delay #(
      .Width ($bits(access_t)),
      .Cycles(ReadLatency),
      .Reset (1'b1)
  ) i_valid (
      .clk_i,
      .rst_i,
      .data_i(a_access),
      .data_o(b_access)
  );
  wl_delay #(
      .Width ($bits(asker_t)),
      .Cycles(ReadLatency)
  ) i_tag (
      .clk_i,
      .rst_i,
      .data_i(a_asker),
      .data_o(b_asker)
  );

  logic [Width-1:0] element;
  assign element = Width'(read_data_i);
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      reply_valid_o <= 1'b0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
    end else begin
      reply_valid_o <= b_access.valid && !b_access.ctl;
      ctl_done_o <= b_access.ctl;
      ctl_data_o <= b_access.ctl && b_asker.in_range ? CtlBits'(element) : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    reply_tag_o <= b_asker.tag;
    reply_data_o <= b_asker.in_range ? element : '0;
  end

  logic unused;
  assign unused = &{1'b0, ctl_data_i, read_data_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Alone_A : assert (!(take && request_valid_i && request_ready_o));
      Reply_A : assert (!(reply_valid_o && ctl_done_o));
      if (a_access.ctl || b_access.ctl) CtlHeld_M : assume (ctl_valid_i);
    end
  end
`endif
endmodule
