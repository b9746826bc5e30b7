`include "wl_reset.svh"

// Distributes the packets of one wide lane to narrow ports by their egress port; packets for the
// control processor leave on a separate stream, the last. Each stream has a store-and-forward queue
// and a downsizer.
//
// Contract
//   Data and order: a packet leaves as a whole, once, on the port that its egress port selects;
//   those of a port in order.
//   A packet for a port that does not exist is dropped as a whole (`unknown_o`).
//   A packet of at most Beats wide beats leaves without gaps while its port takes it.
//   Nothing else is lost: a packet whose queue is full waits, and stalls the packets after it,
//   whatever port they are for.
//   Throughput: one beat a cycle on the lane and on each port. Latency: five cycles after a
//   packet's last wide beat.
//   `went_o` reports the stream of each packet, in the order of the lane, for statistics and for
//   comparison with a model.
// Timing: the lane enters a skid buffer; a comparison with constants leads from there to the
// queues. Outputs are those of wl_downsizer.
//
// Parameters
//   Ports       ports, 1 to 8
//   DataBytes   bytes of the lane's beat, a multiple of OutBytes
//   OutBytes    bytes of a port's beat
//   Numbers     the ports' numbers, 16 bits each, the first in the lowest bits; all different
//   Beats       capacity of each port's queue in wide beats
module wl_port_spread #(
    parameter int unsigned Ports = 4,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned OutBytes = 8,
    parameter logic [16*Ports-1:0] Numbers = {16'd3, 16'd2, 16'd1, 16'd0},
    parameter int unsigned Beats = 512,
    localparam int unsigned Streams = Ports + 1
) (
    input logic clk_i,
    input logic rst_i,

    // The lane.
    input  logic                            s_tvalid_i,
    output logic                            s_tready_o,
    input  logic          [8*DataBytes-1:0] s_tdata_i,
    input  logic          [  DataBytes-1:0] s_tkeep_i,
    input  logic                            s_tlast_i,
    input  wl_pkg::sent_t                   s_tuser_i,   // on each beat

    // The ports, and after them the stream to the control processor.
    output logic          [Streams-1:0]                 m_tvalid_o,
    input  logic          [Streams-1:0]                 m_tready_i,
    output logic          [Streams-1:0][8*OutBytes-1:0] m_tdata_o,
    output logic          [Streams-1:0][  OutBytes-1:0] m_tkeep_o,
    output logic          [Streams-1:0]                 m_tlast_o,
    output wl_pkg::sent_t [Streams-1:0]                 m_tuser_o,

    // Statistics on a packet, in the cycle in which its first beat is taken from the lane.
    output logic [Streams-1:0] went_o,    // the packet goes to this stream
    output logic               unknown_o  // the packet is dropped
);

  if (Ports < 1 || Ports > 8) begin : g_illegal_ports
    $fatal(1, "wl_port_spread: Ports must be 1 to 8");
  end

  // A beat of the lane, without `last` and with it.
  typedef struct packed {
    wl_pkg::sent_t user;
    logic [DataBytes-1:0] keep;
    logic [8*DataBytes-1:0] data;
  } beat_t;
  typedef struct packed {
    logic last;
    beat_t beat;
  } lane_t;

  function automatic logic [Streams-1:0] goal(logic [2:0] kind, logic [15:0] egress);
    goal = '0;
    if (wl_pkg::is_for_cpu(kind)) goal[Ports] = 1'b1;
    else for (int unsigned i = 0; i < Ports; i++) goal[i] = egress == Numbers[i*16+:16];
  endfunction

  // The statistics observe the lane itself, like the events of packets that do not leave.
  logic behind, begins;
  logic [Streams-1:0] for_stream;
  assign for_stream = goal(s_tuser_i.kind, s_tuser_i.egress);
  assign begins = s_tvalid_i && s_tready_o && !behind;
  assign went_o = {Streams{begins}} & for_stream;
  assign unknown_o = begins && for_stream == '0;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) behind <= 1'b0;
    else if (s_tvalid_i && s_tready_o) behind <= !s_tlast_i;
  end

  logic valid, ready;
  lane_t lane, oldest;
  logic [Streams-1:0] to, room;
  assign lane.last = s_tlast_i;
  assign lane.beat.user = s_tuser_i;
  assign lane.beat.keep = s_tkeep_i;
  assign lane.beat.data = s_tdata_i;
  wl_skid #(
      .Width($bits(lane_t))
  ) i_skid (
      .clk_i,
      .rst_i,
      .in_valid_i(s_tvalid_i),
      .in_ready_o(s_tready_o),
      .in_data_i(lane),
      .out_valid_o(valid),
      .out_ready_i(ready),
      .out_data_o(oldest)
  );
  assign to = goal(oldest.beat.user.kind, oldest.beat.user.egress);
  assign ready = (to & ~room) == '0;

  for (genvar i = 0; i < Streams; i++) begin : g_stream
    logic whole_valid, whole_ready, whole_last;
    beat_t whole;
    wl_packet_queue #(
        .Width($bits(beat_t)),
        .Beats(Beats)
    ) i_queue (
        .clk_i,
        .rst_i,
        .in_valid_i (valid && to[i]),
        .in_ready_o (room[i]),
        .in_last_i  (oldest.last),
        .in_data_i  (oldest.beat),
        .out_valid_o(whole_valid),
        .out_ready_i(whole_ready),
        .out_last_o (whole_last),
        .out_data_o (whole)
    );
    wl_downsizer #(
        .InBytes (DataBytes),
        .OutBytes(OutBytes),
        .UserBits(wl_pkg::SentBits)
    ) i_downsizer (
        .clk_i,
        .rst_i,
        .in_valid_i (whole_valid),
        .in_ready_o (whole_ready),
        .in_data_i  (whole.data),
        .in_keep_i  (whole.keep),
        .in_last_i  (whole_last),
        .in_user_i  (whole.user),
        .out_valid_o(m_tvalid_o[i]),
        .out_ready_i(m_tready_i[i]),
        .out_data_o (m_tdata_o[i]),
        .out_keep_o (m_tkeep_o[i]),
        .out_last_o (m_tlast_o[i]),
        .out_user_o (m_tuser_o[i])
    );
  end

  logic unused;
  assign unused = &{1'b0, s_tuser_i.reason, oldest};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      One_A : assert (!valid || $onehot0(to));
    end
  end
`endif

endmodule
