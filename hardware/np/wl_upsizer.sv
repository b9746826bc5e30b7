`include "wl_reset.svh"

// Upsizer: converts an AXI4-Stream of narrow beats to wide beats. The first narrow beat fills the
// lowest bytes.
//
// Contract
//   Data and order: the wide beats have the bytes and `keep` of the narrow beats, in order; the
//   first byte of a packet is byte 0 of a wide beat. The rest of a wide beat after the packet's
//   last narrow beat is not kept, and is zero. An output that is not taken stays stable.
//   Any `keep` passes unchanged, including holes and beats without bytes.
//   Reset: `in_ready_o` is low. Of a packet that reset cuts, the beats that come after reset are
//   taken and discarded up to `in_last_i`, so that they are never taken for a packet; a sender that
//   begins anew instead loses its first packet.
//   Throughput: one narrow beat a cycle. Latency: one cycle after the narrow beat that completes a
//   wide one.
// Timing: outputs are registers; `in_ready_o` depends on `out_ready_i`, reset and registers.
//
// Parameters
//   InBytes    bytes of a narrow beat
//   OutBytes   bytes of a wide beat, a multiple of InBytes
//   UserBits   sideband bits of a packet
module wl_upsizer #(
    parameter int unsigned InBytes = 8,
    parameter int unsigned OutBytes = 64,
    parameter int unsigned UserBits = 1
) (
    input logic clk_i,
    // verilator lint_off SYNCASYNCNET
    input logic rst_i,  // registers that record what it cuts take it at the clock's edge
    // verilator lint_on SYNCASYNCNET

    input  logic                 in_valid_i,
    output logic                 in_ready_o,
    input  logic [8*InBytes-1:0] in_data_i,
    input  logic [  InBytes-1:0] in_keep_i,
    input  logic                 in_last_i,
    input  logic [ UserBits-1:0] in_user_i,   // valid on the first beat of a packet

    output logic                  out_valid_o,
    input  logic                  out_ready_i,
    output logic [8*OutBytes-1:0] out_data_o,
    output logic [  OutBytes-1:0] out_keep_o,
    output logic                  out_last_o,
    output logic [  UserBits-1:0] out_user_o    // on each beat
);

  if (InBytes < 1 || UserBits < 1) begin : g_illegal
    $fatal(1, "wl_upsizer: InBytes and UserBits must be 1 or more");
  end
  if (OutBytes < InBytes || OutBytes % InBytes != 0) begin : g_illegal_width
    $fatal(1, "wl_upsizer: OutBytes must be a multiple of InBytes");
  end

  localparam int unsigned Parts = OutBytes / InBytes;
  localparam int unsigned PartBits = wl_pkg::bits(Parts);

  logic [PartBits-1:0] part;  // part of the wide beat that the next narrow beat becomes
  logic midst;  // the next narrow beat is not the first of its packet: this must survive a reset
  logic cut;  // a reset has cut the packet
  logic room, take, whole;
  initial midst = 1'b0;
  assign room = !out_valid_o || out_ready_i;
  assign in_ready_o = !rst_i && (cut || room);
  assign take = in_valid_i && room && !cut && !rst_i;
  assign whole = in_last_i || part == PartBits'(Parts - 1);

  always_ff @(posedge clk_i) begin
    if (rst_i) cut <= midst;
    else if (in_valid_i && in_last_i) cut <= 1'b0;
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      out_valid_o <= 1'b0;
      part <= '0;
    end else begin
      if (room) out_valid_o <= take && whole;
      if (take) part <= whole ? '0 : part + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_ready_o) midst <= !in_last_i;
    if (take) begin
      for (int unsigned i = 0; i < Parts; i++) begin
        if (part == PartBits'(i)) begin
          out_data_o[i*8*InBytes+:8*InBytes] <= in_data_i;
          out_keep_o[i*InBytes+:InBytes] <= in_keep_i;
        end else if (part == '0) begin
          out_data_o[i*8*InBytes+:8*InBytes] <= '0;
          out_keep_o[i*InBytes+:InBytes] <= '0;
        end
      end
      out_last_o <= in_last_i;
      if (!midst) out_user_o <= in_user_i;
    end
  end

`ifdef FORMAL
  logic was_stalled;
  logic [8*OutBytes+OutBytes+UserBits:0] was;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was <= {out_user_o, out_last_o, out_keep_o, out_data_o};
    if (!rst_i) begin
      Stable_A : assert (!was_stalled
          || (out_valid_o && {out_user_o, out_last_o, out_keep_o, out_data_o} == was));
      // The beat at the output is complete: the next narrow beat begins another.
      Whole_A : assert (!out_valid_o || part == '0);
    end
  end
`endif

endmodule
