`include "wl_reset.svh"

// Packet generator of the embedded test rig (section 4.6 of the Gorilla paper): random packets of
// 64 bytes, one in each cycle.
//
// A packet is an Ethernet frame to `RouterMac` with IPv4, IPv6, or MPLS with IPv4 in it, chosen at
// random among the selected kinds. Addresses and labels are random, header checksums are correct,
// hop limits are 64. The last eight bytes identify the packet for wl_packet_collector: its number,
// and the scrambled number.
//
// Contract
//   Data and order: packets are numbered First, First + Stride, ... The same parameters give the
//   same packets.
//   Throughput: one packet in each cycle while `run_i` and `m_tready_i` are high. A packet that is
//   offered stays until it is taken.
// Timing: random numbers, sums, folding, and the packet have separate registers, which advance when
// the output is taken.
//
// Parameters
//   Templates   bit 0: IPv4, 1: IPv6, 2: MPLS; at least one
//   Labels      labels of an MPLS packet: 1 to 4, the last with the bottom-of-stack bit
//   LabelMask   the random bits of a label; the others are zero
//   Mask4, Base4   IPv4 destinations are (random & Mask4) | Base4
//   SourceMask4, SourceBase4   IPv4 sources likewise
//   Mask6, Base6   IPv6 destinations likewise; the source is Base6
//   RouterMac   destination of the Ethernet frames
//   PortBits    ingress ports are random numbers of this many bits, 0 to 16
//   First       number of the first packet
//   Stride      increment of the packet numbers: lanes of the rig
//   Seed        seed of the random numbers; not zero
module wl_packet_generator #(
    parameter bit [2:0] Templates = 3'b001,
    parameter int unsigned Labels = 1,
    parameter bit [19:0] LabelMask = 20'hfffff,
    parameter bit [31:0] Mask4 = 32'hffffffff,
    parameter bit [31:0] Base4 = 32'd0,
    parameter bit [31:0] SourceMask4 = 32'hffffffff,
    parameter bit [31:0] SourceBase4 = 32'd0,
    parameter bit [127:0] Mask6 = 128'h1fffffff_ffffffff_ffffffff_ffffffff,
    parameter bit [127:0] Base6 = 128'h20000000_00000000_00000000_00000000,
    parameter bit [47:0] RouterMac = 48'h020000000001,
    parameter int unsigned PortBits = 0,
    parameter bit [31:0] First = 32'd0,
    parameter bit [31:0] Stride = 32'd1,
    parameter bit [63:0] Seed = 64'h9e3779b97f4a7c15
) (
    input logic clk_i,
    input logic rst_i,
    input logic run_i,

    // AXI4-Stream, 64 bytes wide: byte 0 in bits 7:0; tuser is the ingress port.
    output logic         m_tvalid_o,
    input  logic         m_tready_i,
    output logic [511:0] m_tdata_o,
    output logic [ 63:0] m_tkeep_o,
    output logic         m_tlast_o,
    output logic [ 15:0] m_tuser_o
);

  if (Templates == 3'b000) begin : g_illegal_templates
    $fatal(1, "wl_packet_generator: Templates must ask for at least one kind of packet");
  end
  if (Labels < 1 || Labels > 4) begin : g_illegal_labels
    $fatal(1, "wl_packet_generator: Labels must be 1 to 4");
  end
  if (PortBits > 16) begin : g_illegal_ports
    $fatal(1, "wl_packet_generator: PortBits must be at most 16");
  end
  if (Seed == 64'd0) begin : g_illegal_seed
    $fatal(1, "wl_packet_generator: Seed must not be zero");
  end

  // Two linear-feedback generators of 64 bits with full period (Marsaglia, "Xorshift RNGs": 13, 7,
  // 17).
  function automatic logic [63:0] next_random(logic [63:0] state);
    logic [63:0] value;
    value = state ^ (state << 13);
    value = value ^ (value >> 7);
    return value ^ (value << 17);
  endfunction

  logic go;
  assign go = !m_tvalid_o || m_tready_i;

  // Random numbers.
  logic drawn;
  logic [63:0] low, high;
  logic [31:0] number;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      low <= Seed;
      high <= ~Seed == 64'd0 ? 64'd1 : ~Seed;
      number <= First;
      drawn <= 1'b0;
    end else if (go) begin
      drawn <= run_i;
      if (drawn) begin
        low <= next_random(low);
        high <= next_random(high);
        number <= number + Stride;
      end
    end
  end

  // The random parts of a packet. The sum of its IPv4 header is that of the constant parts and of
  // four words.
  typedef struct packed {
    logic [1:0]   kind;
    logic [31:0]  number;
    logic [31:0]  source4, to4;
    logic [127:0] to6;
    logic [79:0]  labels;
    logic [15:0]  port;
  } draw_t;
  draw_t draw, summed, folded;
  logic summed_valid, folded_valid;
  logic [18:0] sum;
  logic [15:0] length4;
  logic [16:0] fold;

  // A kind that is not selected becomes the next selected one.
  function automatic logic [1:0] kind_of(logic [1:0] random);
    logic [1:0] kind;
    kind = random == 2'd3 ? 2'd0 : random;
    for (int unsigned i = 0; i < 2; i++) begin
      if (!Templates[kind]) kind = kind == 2'd2 ? 2'd0 : kind + 2'd1;
    end
    return kind;
  endfunction

  always_comb begin
    draw.kind = kind_of(low[63:62]);
    draw.number = number;
    draw.source4 = (low[31:0] & SourceMask4) | SourceBase4;
    draw.to4 = (high[31:0] & Mask4) | Base4;
    draw.to6 = ({high, low} & Mask6) | Base6;
    draw.labels = {high[59:40], high[39:20], low[59:40], low[39:20]} & {4{LabelMask}};
    draw.port = 16'(low[61:46]) & 16'((17'd1 << PortBits) - 17'd1);
    length4 = draw.kind == 2'd2 ? 16'(50 - 4 * Labels) : 16'd50;
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      summed_valid <= 1'b0;
      folded_valid <= 1'b0;
    end else if (go) begin
      summed_valid <= drawn;
      folded_valid <= summed_valid;
    end
  end
  always_ff @(posedge clk_i) begin
    if (go) begin
      summed <= draw;
      // Version and header length, length, hop limit 64 and protocol 253 (experiments), addresses.
      sum <= 19'h4500 + 19'(length4) + 19'h40fd + 19'(draw.source4[31:16]) + 19'(draw.source4[15:0])
          + 19'(draw.to4[31:16]) + 19'(draw.to4[15:0]);
      folded <= summed;
      fold <= 17'(sum[15:0]) + 17'(sum[18:16]);
    end
  end

  // The packet, its first byte most significant.
  logic [15:0] checksum;
  logic [159:0] ip4;
  logic [63:0] mark;
  logic [511:0] frame;
  assign checksum = ~(fold[15:0] + 16'(fold[16]));
  assign ip4 = {16'h4500, folded.kind == 2'd2 ? 16'(50 - 4 * Labels) : 16'd50, 32'd0, 16'h40fd,
      checksum, folded.source4, folded.to4};
  wl_rig_mark i_mark (
      .number_i(folded.number),
      .mark_o  (mark)
  );
  localparam logic [95:0] Macs = {RouterMac, 48'h02000000ff01};

  logic [32*Labels-1:0] stack;
  for (genvar i = 0; i < Labels; i++) begin : g_label
    // Label, traffic class 0, bottom of stack, hop limit 64.
    assign stack[32*(Labels-1-i)+:32] = {folded.labels[20*i+:20], 3'd0, i == Labels - 1, 8'd64};
  end

  always_comb begin
    case (folded.kind)
      2'd0: frame = {Macs, 16'h0800, ip4, 176'd0, mark};
      // No next header; traffic class and flow label 0.
      2'd1: frame =
          {Macs, 16'h86dd, 32'h60000000, 16'd10, 8'd59, 8'd64, Base6, folded.to6, 16'd0, mark};
      default: frame = {Macs, 16'h8847, stack, ip4, (176 - 32 * Labels)'(0), mark};
    endcase
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) m_tvalid_o <= 1'b0;
    else if (go) m_tvalid_o <= folded_valid;
  end
  always_ff @(posedge clk_i) begin
    if (go) begin
      for (int unsigned i = 0; i < 64; i++) m_tdata_o[8*i+:8] <= frame[8*(63-i)+:8];
      m_tuser_o <= folded.port;
    end
  end
  assign m_tkeep_o = '1;
  assign m_tlast_o = 1'b1;

`ifdef FORMAL
  // The offered packet, its first byte most significant; the sum of its IPv4 header if it has one,
  // and its number.
  logic [511:0] offer;
  logic [31:0] awaited;
  int unsigned total;
  logic was_stalled;
  logic [527:0] was;
  for (genvar i = 0; i < 64; i++) begin : g_offer
    assign offer[8*(63-i)+:8] = m_tdata_o[8*i+:8];
  end
  always_comb begin
    total = 0;
    for (int unsigned i = 0; i < 10; i++) total += 32'(offer[511-8*14-16*i-:16]);
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) awaited <= First;
    else if (m_tvalid_o && m_tready_i) awaited <= awaited + Stride;
    was_stalled <= !rst_i && m_tvalid_o && !m_tready_i;
    was <= {m_tuser_o, m_tdata_o};
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (m_tvalid_o && {m_tuser_o, m_tdata_o} == was));
      Number_A : assert (!m_tvalid_o || offer[63:32] == awaited);
      Checksum_A : assert (!m_tvalid_o || offer[511-8*12-:16] != 16'h0800 || total % 65535 == 0);
    end
  end
`endif

endmodule
