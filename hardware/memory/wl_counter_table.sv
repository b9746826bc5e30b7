// Indexed counters in block RAM: the on-chip counterpart of `wl_flow_counter`, which uses a QDR
// SRAM. It has the same parameters, request and control accesses.
//
// Contract: that of `wl_flow_counter`.
// Timing: that of `wl_table`.
//
// Parameters: see wl_flow_counter. The defaults are the `counter` kind: bytes are counter 0,
// packets counter 1.
module wl_counter_table #(
    parameter int unsigned Size = 1024,
    parameter int unsigned Counters = 2,
    parameter int unsigned CounterBits = 64,
    parameter int unsigned Arguments = 1,
    parameter int unsigned ArgumentBits = 32,
    parameter logic [2*Counters-1:0] Adds = (2 * Counters)'(1),
    parameter int unsigned IndexBits = 32,
    parameter int unsigned CtlBits = 216,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter int unsigned Patience = 16,
    parameter Image = "",
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
    input  logic [       31:0] ctl_address_i,  // index
    input  logic [CtlBits-1:0] ctl_data_i,     // the counters to write
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the old counters, zero unless done
);
  localparam int unsigned AllBits = Counters * CounterBits;

  if (Counters < 1 || Counters > 3 || CounterBits < 1) begin : g_illegal_counters
    $fatal(1, "wl_counter_table: an element has one to three counters");
  end
  if (Arguments > 3 || (Arguments > 0 && ArgumentBits < 1)) begin : g_illegal_arguments
    $fatal(1, "wl_counter_table: there are at most three arguments");
  end
  for (genvar k = 0; k < Counters; k++) begin : g_check
    if (32'(Adds[2*k+:2]) > Arguments) begin : g_illegal_adds
      $fatal(1, "wl_counter_table: Adds names an argument that there is not");
    end
  end

  function automatic logic [AllBits-1:0] cuts();
    cuts = '0;
    for (int unsigned k = 0; k < Counters; k++) cuts[k*CounterBits] = 1'b1;
  endfunction

  // The arguments of a request, the last one in element 0. Without arguments there is one that no
  // counter adds.
  localparam int unsigned Given = Arguments > 0 ? Arguments : 1;
  localparam int unsigned GivenBits = Arguments > 0 ? ArgumentBits : 1;
  typedef struct packed {
    logic [IndexBits-1:0] index;
    logic [Given-1:0][GivenBits-1:0] arguments;
  } request_t;
  request_t request;
  if (Arguments > 0) begin : g_arguments
    assign request = request_data_i;
  end else begin : g_no_arguments
    assign request.index = request_data_i;
    assign request.arguments = '0;
  end
  logic [Given-1:0][GivenBits-1:0] arguments;
  assign arguments = request.arguments;

  logic [Counters-1:0][CounterBits-1:0] addends;
  for (genvar k = 0; k < Counters; k++) begin : g_counter
    localparam int unsigned Argument = 32'(Adds[2*k+:2]);
    if (Argument == 0) begin : g_one
      assign addends[k] = CounterBits'(1);
    end else begin : g_argument
      assign addends[k] = CounterBits'(arguments[Arguments-Argument]);
    end
  end

  logic reply_valid, reply_tag;
  logic [AllBits-1:0] reply_data;
  wl_table #(
      .Width(AllBits),
      .Size(Size),
      .MethodCount(1),
      .Methods(wl_pkg::TABLE_ADD),
      .Cuts(cuts()),
      .IndexBits(IndexBits),
      .TagBits(1),
      .CtlBits(CtlBits),
      .CtlTarget(CtlTarget),
      .Patience(Patience),
      .Image(Image)
  ) i_table (
      .clk_i,
      .rst_i,
      .request_valid_i,
      .request_ready_o,
      .request_tag_i (1'b0),
      .request_data_i({request.index, addends}),
      .reply_valid_o (reply_valid),
      .reply_tag_o   (reply_tag),
      .reply_data_o  (reply_data),
      .ctl_valid_i,
      .ctl_write_i,
      .ctl_target_i,
      .ctl_address_i,
      .ctl_data_i,
      .ctl_done_o,
      .ctl_data_o
  );

  logic unused;
  assign unused = &{1'b0, reply_valid, reply_tag, reply_data, arguments};
endmodule
