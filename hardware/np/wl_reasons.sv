`include "wl_reset.svh"

// Counts why packets end: one increment for each reason of a program, which `wl_statistics` adds
// up.
//
// Contract
//   A packet that is dropped is an event of kind EXIT_DROP; one for the control processor is sent
//   with kind EXIT_TO_CPU, or EXIT_COPY_TO_CPU if it is a copy. Each adds one to the increment of
//   its reason; of a reason that is not in the list, to that of all other drops (counter
//   `Reasons`), or of all other packets for the control processor (counter `Reasons` + 1). So every
//   such packet is counted once.
//   Other events and packets do not count.
//   Throughput: a packet a cycle and lane. Latency: one cycle.
// Timing: a comparison of 24 bits with a constant and a count of the lanes, before a register.
//
// Parameters
//   Lanes     lanes, 1 to 8
//   Reasons   reasons in the list, 1 or more
//   Values    {to the control processor instead of dropped, reason set[7:0], reason[15:0]} of each
//             reason, the first in the lowest bits; all different
module wl_reasons #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned Reasons = 2,
    parameter logic [25*Reasons-1:0] Values = {25'h1_00_0000, 25'h0_00_0000},
    localparam int unsigned AddBits = $clog2(Lanes + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // Packets that end without being sent, as `wl_merger` tells them.
    input logic [Lanes-1:0]       event_valid_i,
    input logic [Lanes-1:0][ 2:0] event_kind_i,
    input logic [Lanes-1:0][23:0] event_reason_i,

    // Packets that are sent.
    input logic          [Lanes-1:0] sent_i,      // the last beat leaves
    input wl_pkg::sent_t [Lanes-1:0] sent_user_i,

    // To wl_statistics.
    output logic [Reasons+2-1:0][AddBits-1:0] add_o
);

  if (Lanes < 1 || Lanes > 8) begin : g_illegal_lanes
    $fatal(1, "wl_reasons: Lanes must be 1 to 8");
  end
  if (Reasons < 1) begin : g_illegal_reasons
    $fatal(1, "wl_reasons: Reasons must be 1 or more");
  end

  logic [Lanes-1:0] dropped, to_cpu;
  logic [Lanes-1:0][23:0] why_dropped, why_to_cpu;
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    wl_pkg::sent_t user;
    assign user = sent_user_i[lane];
    assign dropped[lane] = event_valid_i[lane] && event_kind_i[lane] == wl_pkg::EXIT_DROP;
    assign to_cpu[lane] = sent_i[lane] && wl_pkg::is_for_cpu(user.kind);
    assign why_dropped[lane] = event_reason_i[lane];
    assign why_to_cpu[lane] = user.reason;
    logic unused;
    assign unused = &user.egress;
  end

  // For each counter, the lanes whose packets it counts: those of its reason, or, for the last two,
  // of no reason that has a counter.
  logic [Reasons+1:0][Lanes-1:0] counted;
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_counted
    logic [Reasons-1:0] hit_dropped, hit_to_cpu;
    for (genvar k = 0; k < Reasons; k++) begin : g_reason
      localparam logic [24:0] Value = Values[25*k+:25];
      assign hit_dropped[k] = !Value[24] && dropped[lane] && why_dropped[lane] == Value[23:0];
      assign hit_to_cpu[k] = Value[24] && to_cpu[lane] && why_to_cpu[lane] == Value[23:0];
      assign counted[k][lane] = hit_dropped[k] || hit_to_cpu[k];
    end
    assign counted[Reasons][lane] = dropped[lane] && hit_dropped == '0;
    assign counted[Reasons+1][lane] = to_cpu[lane] && hit_to_cpu == '0;
  end

  for (genvar k = 0; k < Reasons + 2; k++) begin : g_counter
    logic [AddBits-1:0] sum;
    always_comb begin
      sum = '0;
      for (int unsigned lane = 0; lane < Lanes; lane++) sum = sum + AddBits'(counted[k][lane]);
    end
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) add_o[k] <= '0;
      else add_o[k] <= sum;
    end
  end

`ifdef FORMAL
  // Every such packet is counted once.
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_once
    logic [Reasons+1:0] of_lane;
    for (genvar k = 0; k < Reasons + 2; k++) begin : g_counted
      assign of_lane[k] = counted[k][lane];
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        OneItem_M : assume (!(event_valid_i[lane] && sent_i[lane]));
        Once_A : assert (of_lane == '0 ? !dropped[lane] && !to_cpu[lane] : $onehot(of_lane));
      end
    end
  end
`endif

endmodule
