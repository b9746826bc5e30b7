`include "wl_reset.svh"

// Gathers packets from narrow ports into one wide lane. Each port has an upsizer and a
// store-and-forward queue; the ports take turns with whole packets.
//
// Contract
//   Data and order: the lane gets each packet as a whole, once; those of a port in order. `tuser`
//   of a packet on the lane is the number of the port and, above it, the sideband bits of the
//   packet.
//   Fairness: ports that have a packet take turns, one packet each (wl_arbiter_fair). No port waits
//   for the arrival of another port's packet.
//   Throughput: one beat a cycle on each port and on the lane. The lane stalls no port if each
//   packet has at most 1 / Ports as many wide beats as narrow ones: with four ports of 8 bytes and
//   a lane of 64, packets of 25 bytes and more.
//   Nothing is lost: a port whose queue is full is stalled. A packet longer than the queue occupies
//   the lane until its end.
//   Reset: `s_tready_o` is low. The rest of a packet that reset cuts is discarded (wl_upsizer).
//   `taken_o` reports the order in which packets enter the lane, for statistics and for comparison
//   with a model.
//   Latency: four cycles after a packet's last narrow beat.
// Timing: every output is a register, except `taken_o` and `s_tready_o`, which are an AND of a few.
//
// Parameters
//   Ports       ports, 1 to 8
//   InBytes     bytes of a port's beat
//   DataBytes   bytes of the lane's beat, a multiple of InBytes
//   RestBits    sideband bits of a packet, without the number of its port
//   Numbers     the ports' numbers, 16 bits each, the first in the lowest bits
//   Beats       capacity of each port's queue in wide beats
module wl_port_gather #(
    parameter int unsigned Ports = 4,
    parameter int unsigned InBytes = 8,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned RestBits = 0,
    parameter logic [16*Ports-1:0] Numbers = {16'd3, 16'd2, 16'd1, 16'd0},
    parameter int unsigned Beats = 512,
    localparam int unsigned RestPort = RestBits == 0 ? 1 : RestBits
) (
    input logic clk_i,
    // verilator lint_off SYNCASYNCNET
    input logic rst_i,  // wl_upsizer takes it at the clock's edge too
    // verilator lint_on SYNCASYNCNET

    // Ports: byte 0 of a beat in bits 7:0.
    input  logic [Ports-1:0]                s_tvalid_i,
    output logic [Ports-1:0]                s_tready_o,
    input  logic [Ports-1:0][8*InBytes-1:0] s_tdata_i,
    input  logic [Ports-1:0][  InBytes-1:0] s_tkeep_i,
    input  logic [Ports-1:0]                s_tlast_i,
    input  logic [Ports-1:0][ RestPort-1:0] s_tuser_i,   // on the first beat, if RestBits > 0

    // The lane.
    output logic                   m_tvalid_o,
    input  logic                   m_tready_i,
    output logic [8*DataBytes-1:0] m_tdata_o,
    output logic [  DataBytes-1:0] m_tkeep_o,
    output logic                   m_tlast_o,
    output logic [  RestBits+15:0] m_tuser_o,

    // Statistics.
    output logic [Ports-1:0] taken_o,  // the first beat of a packet of this port enters the lane
    output logic [Ports-1:0] stall_o   // the port has a beat that is not accepted in this cycle
);

  if (Ports < 1 || Ports > 8) begin : g_illegal_ports
    $fatal(1, "wl_port_gather: Ports must be 1 to 8");
  end

  localparam int unsigned PortBits = wl_pkg::bits(Ports);

  // A beat of a port, without `last`, and one with the number of its port.
  typedef struct packed {
    logic [RestPort-1:0] rest;
    logic [DataBytes-1:0] keep;
    logic [8*DataBytes-1:0] data;
  } beat_t;
  typedef struct packed {
    logic [PortBits-1:0] port;
    beat_t beat;
  } lane_t;

  logic [Ports-1:0] whole_valid, whole_ready, whole_last;
  lane_t [Ports-1:0] whole;
  for (genvar i = 0; i < Ports; i++) begin : g_port
    logic valid, ready, last;
    beat_t beat;
    lane_t oldest;
    wl_upsizer #(
        .InBytes (InBytes),
        .OutBytes(DataBytes),
        .UserBits(RestPort)
    ) i_upsizer (
        .clk_i,
        .rst_i,
        .in_valid_i (s_tvalid_i[i]),
        .in_ready_o (s_tready_o[i]),
        .in_data_i  (s_tdata_i[i]),
        .in_keep_i  (s_tkeep_i[i]),
        .in_last_i  (s_tlast_i[i]),
        .in_user_i  (s_tuser_i[i]),
        .out_valid_o(valid),
        .out_ready_i(ready),
        .out_data_o (beat.data),
        .out_keep_o (beat.keep),
        .out_last_o (last),
        .out_user_o (beat.rest)
    );
    wl_packet_queue #(
        .Width($bits(beat_t)),
        .Beats(Beats)
    ) i_queue (
        .clk_i,
        .rst_i,
        .in_valid_i (valid),
        .in_ready_o (ready),
        .in_last_i  (last),
        .in_data_i  (beat),
        .out_valid_o(whole_valid[i]),
        .out_ready_i(whole_ready[i]),
        .out_last_o (whole_last[i]),
        .out_data_o (oldest.beat)
    );
    assign oldest.port = PortBits'(i);
    assign whole[i] = oldest;
    assign stall_o[i] = s_tvalid_i[i] && !s_tready_o[i];
  end

  lane_t lane;
  wl_merge #(
      .Inputs(Ports),
      .Width($bits(lane_t)),
      .Register(1'b1)
  ) i_merge (
      .clk_i,
      .rst_i,
      .in_valid_i(whole_valid),
      .in_ready_o(whole_ready),
      .in_last_i(whole_last),
      .in_data_i(whole),
      .out_valid_o(m_tvalid_o),
      .out_ready_i(m_tready_i),
      .out_last_o(m_tlast_o),
      .out_data_o(lane)
  );
  assign m_tkeep_o = lane.beat.keep;
  assign m_tdata_o = lane.beat.data;

  logic [15:0] number;
  wl_select #(
      .Inputs(Ports),
      .Width (16)
  ) i_number (
      .index_i(lane.port),
      .data_i (Numbers),
      .data_o (number)
  );
  if (RestBits == 0) begin : g_number
    assign m_tuser_o = number;
    logic unused;
    assign unused = &{1'b0, lane.beat.rest};
  end else begin : g_rest
    assign m_tuser_o = {lane.beat.rest, number};
  end

  logic behind;  // the first beat of a packet has left on the lane
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) behind <= 1'b0;
    else if (m_tvalid_o && m_tready_i) behind <= !m_tlast_o;
  end
  for (genvar i = 0; i < Ports; i++) begin : g_taken
    assign taken_o[i] = m_tvalid_o && m_tready_i && !behind && lane.port == PortBits'(i);
  end

`ifdef FORMAL
  logic was_stalled, was_last;
  lane_t was;
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && m_tvalid_o && !m_tready_i;
    was_last <= m_tlast_o;
    was <= lane;
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (m_tvalid_o && m_tlast_o == was_last && lane == was));
      Port_A : assert (!m_tvalid_o || 32'(lane.port) < Ports);
      // The bytes of a beat are contiguous from byte 0 on, and only the last beat of a packet is
      // partial.
      Keep_A : assert (!m_tvalid_o
          || ((m_tkeep_o & (m_tkeep_o + 1'b1)) == '0 && (m_tlast_o || m_tkeep_o == '1)));
    end
  end
  for (genvar i = 0; i < Ports; i++) begin : g_inside
    // The room of the queue and its registers, the upsizer, and the skid buffer.
    localparam int unsigned Room = Beats + 6;
    logic begins, midst, was_waiting;
    int unsigned packets;  // packets that have begun to enter, and not yet to leave
    logic [9*InBytes:0] beat_in, was_in;
    assign beat_in = {s_tlast_i[i], s_tkeep_i[i], s_tdata_i[i]};
    assign begins = s_tvalid_i[i] && s_tready_o[i] && !midst && !g_port[i].i_upsizer.cut;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        midst   <= 1'b0;
        packets <= 0;
      end else begin
        if (s_tvalid_i[i] && s_tready_o[i] && !g_port[i].i_upsizer.cut) midst <= !s_tlast_i[i];
        packets <= packets + 32'(begins) - 32'(taken_o[i]);
      end
      was_waiting <= !rst_i && stall_o[i];
      was_in <= beat_in;
      if (!rst_i) begin
        Held_M : assume (!was_waiting || (s_tvalid_i[i] && beat_in == was_in));
        Count_A : assert (packets <= Room && (packets != 0 || !taken_o[i]));
      end
    end
  end
`endif

endmodule
