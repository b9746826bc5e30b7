`include "wl_reset.svh"

// Report unit of the embedded test rig: starts and stops the rig, and contains its counters, which
// are read over the control bus.
//
// Entries
//   0   cycles in which the rig ran; a write starts (bit 0 is 1) or stops the rig
//   1   packets that the generators sent
//   2   cycles, over all lanes, in which a packet was stalled: the network processor was overrun
//   3   packets that returned
//   4   of these: packets before which others are missing
//   5   packets that came too late, or twice
//   6   packets that differ from what was sent
//   7   events: packets that the network processor dropped
// Contract and timing: as wl_statistics. Only reset clears the counters.
//
// Parameters
//   Lanes       generators and collectors
//   CtlTarget   number of the module on the control bus
//   CtlBits     bits of the control bus' data
module wl_report #(
    parameter int unsigned Lanes = 1,
    parameter bit [7:0] CtlTarget = 8'hff,
    parameter int unsigned CtlBits = 64
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic run_o,  // to the generators

    // For each lane, in this cycle.
    input logic [Lanes-1:0] sent_i,
    input logic [Lanes-1:0] refused_i,
    input logic [Lanes-1:0] received_i,
    input logic [Lanes-1:0] gap_i,
    input logic [Lanes-1:0] late_i,
    input logic [Lanes-1:0] wrong_i,
    input logic [Lanes-1:0] event_i,

    // Control bus.
    input  logic               ctl_valid_i,
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,
    output logic               ctl_done_o,
    output logic [CtlBits-1:0] ctl_data_o
);

  if (Lanes < 1) begin : g_illegal
    $fatal(1, "wl_report: Lanes must be 1 or more");
  end

  localparam int unsigned AddBits = wl_pkg::bits(Lanes + 1);

  function automatic logic [AddBits-1:0] ones(logic [Lanes-1:0] set);
    ones = '0;
    for (int unsigned i = 0; i < Lanes; i++) ones += AddBits'(set[i]);
  endfunction

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) run_o <= 1'b0;
    else if (ctl_done_o && ctl_write_i && ctl_target_i == CtlTarget && ctl_address_i == 32'd0) begin
      run_o <= ctl_data_i[0];
    end
  end

  wl_statistics #(
      .Counters(8),
      .AddBits(AddBits),
      .CtlTarget(CtlTarget),
      .CtlBits(CtlBits)
  ) i_counters (
      .clk_i,
      .rst_i,
      .add_i({
        ones(event_i),
        ones(wrong_i),
        ones(late_i),
        ones(gap_i),
        ones(received_i),
        ones(refused_i),
        ones(sent_i),
        AddBits'(run_o)
      }),
      .ctl_valid_i,
      .ctl_write_i,
      .ctl_target_i,
      .ctl_address_i,
      .ctl_data_i,
      .ctl_done_o,
      .ctl_data_o
  );

`ifdef FORMAL
  logic was_run, was_told;
  int unsigned received, verdicts;
  always_comb begin
    received = 0;
    verdicts = 0;
    for (int unsigned i = 0; i < Lanes; i++) begin
      received += 32'(received_i[i]);
      verdicts += 32'(gap_i[i]) + 32'(late_i[i]) + 32'(wrong_i[i]);
    end
  end
  always_ff @(posedge clk_i) begin
    was_run  <= run_o;
    was_told <= rst_i
        || (ctl_done_o && ctl_write_i && ctl_target_i == CtlTarget && ctl_address_i == 32'd0);
    if (!rst_i) begin
      Told_A : assert (run_o == was_run || was_told);
      // At most one of these is reported for a received packet.
      Received_M : assume (verdicts <= received);
    end
  end
`endif

endmodule
