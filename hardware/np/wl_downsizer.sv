`include "wl_reset.svh"

// Downsizer: converts an AXI4-Stream of wide beats to narrow beats. The lowest bytes of a wide beat
// leave first.
//
// Contract
//   Data and order: the narrow beats have the bytes of the wide beats, in order. A wide beat
//   becomes as many narrow beats as its bytes fill; one without bytes becomes one. An output that
//   is not taken stays stable.
//   `keep` of a wide beat must have no holes, and must be all ones except in the last beat of a
//   packet.
//   Throughput: one narrow beat a cycle, without gaps between wide beats. Latency: one cycle.
// Timing: outputs are registers, except that `out_last_o` is an AND of two; `in_ready_o` depends on
// `out_ready_i` and on registers.
//
// Parameters
//   InBytes    bytes of a wide beat, a multiple of OutBytes
//   OutBytes   bytes of a narrow beat
//   UserBits   sideband bits of a packet
module wl_downsizer #(
    parameter int unsigned InBytes = 64,
    parameter int unsigned OutBytes = 8,
    parameter int unsigned UserBits = 1
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                 in_valid_i,
    output logic                 in_ready_o,
    input  logic [8*InBytes-1:0] in_data_i,
    input  logic [  InBytes-1:0] in_keep_i,
    input  logic                 in_last_i,
    input  logic [ UserBits-1:0] in_user_i,   // on each beat

    output logic                  out_valid_o,
    input  logic                  out_ready_i,
    output logic [8*OutBytes-1:0] out_data_o,
    output logic [  OutBytes-1:0] out_keep_o,
    output logic                  out_last_o,
    output logic [  UserBits-1:0] out_user_o    // on each beat
);

  if (OutBytes < 1 || UserBits < 1) begin : g_illegal
    $fatal(1, "wl_downsizer: OutBytes and UserBits must be 1 or more");
  end
  if (InBytes < OutBytes || InBytes % OutBytes != 0) begin : g_illegal_width
    $fatal(1, "wl_downsizer: InBytes must be a multiple of OutBytes");
  end

  // The rest of the wide beat, shifted down as its parts leave. After the last part of a beat no
  // byte is left.
  logic [8*InBytes-1:0] data;
  logic [InBytes-1:0] keep;
  logic last, final_part;
  if (InBytes == OutBytes) begin : g_same
    assign final_part = 1'b1;
  end else begin : g_parts
    assign final_part = !keep[OutBytes];
  end
  assign in_ready_o = !out_valid_o || (out_ready_i && final_part);
  assign out_data_o = data[8*OutBytes-1:0];
  assign out_keep_o = keep[OutBytes-1:0];
  assign out_last_o = last && final_part;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) out_valid_o <= 1'b0;
    else if (in_ready_o) out_valid_o <= in_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      data <= in_data_i;
      keep <= in_keep_i;
      last <= in_last_i;
      out_user_o <= in_user_i;
    end else if (out_ready_i) begin
      data <= data >> 8 * OutBytes;
      keep <= keep >> OutBytes;
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
      // `keep` has no holes, and only the last beat of a packet is partial.
      Holes_M : assume (!in_valid_i || (in_keep_i & (in_keep_i + 1'b1)) == '0);
      Full_M : assume (!in_valid_i || in_last_i || in_keep_i == '1);
    end
  end
`endif

endmodule
