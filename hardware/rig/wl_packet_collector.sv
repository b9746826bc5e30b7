`include "wl_reset.svh"

// Packet collector of the embedded test rig: checks of every packet that returns whether it is the
// next one, and whether it is the packet that wl_packet_generator sent, as changed by routing.
//
// A packet is identified by its last eight bytes, at any position to which routing has moved them
// (by multiples of four bytes, as labels are pushed and popped). An IPv4 packet must have a correct
// header checksum.
//
// Contract
//   It accepts a beat in each cycle. The results for a packet appear two cycles after its last
//   beat, each for one cycle.
// Timing: the marks are selected in the first cycle and compared in the second; the checksum takes
// both.
//
// Parameters
//   First, Stride   those of the generator whose packets arrive here
module wl_packet_collector #(
    parameter bit [31:0] First = 32'd0,
    parameter bit [31:0] Stride = 32'd1
) (
    input logic clk_i,
    input logic rst_i,

    // AXI4-Stream, 64 bytes wide.
    input  logic         s_tvalid_i,
    output logic         s_tready_o,
    input  logic [511:0] s_tdata_i,
    input  logic [ 63:0] s_tkeep_i,
    input  logic         s_tlast_i,

    output logic received_o,  // a packet has arrived
    output logic gap_o,       // packets before it are missing
    output logic late_o,      // it, or a later one, had arrived before
    output logic wrong_o      // it differs from the packet sent
);

  assign s_tready_o = 1'b1;

  // Words of four bytes in wire order; the last two valid ones, of which one may be of the beat
  // before.
  logic [15:0][31:0] words;
  logic [4:0] count;  // words of this beat
  for (genvar i = 0; i < 16; i++) begin : g_word
    for (genvar k = 0; k < 4; k++) begin : g_byte
      assign words[i][8*(3-k)+:8] = s_tdata_i[32*i+8*k+:8];
    end
  end
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < 16; i++) if (s_tkeep_i[4*i+3]) count = 5'(i) + 5'd1;
  end

  logic behind;  // this beat is not the packet's first
  logic [31:0] last_word;  // of the beat before
  logic valid, whole, is_ip4;
  logic [31:0] number, scrambled;
  logic [18:0] sum_low, sum_high;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      behind <= 1'b0;
      valid  <= 1'b0;
    end else begin
      if (s_tvalid_i) behind <= !s_tlast_i;
      valid <= s_tvalid_i && s_tlast_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (s_tvalid_i) begin
      last_word <= words[15];
      number <= count == 5'd1 ? last_word : words[4'(count - 5'd2)];
      scrambled <= words[4'(count - 5'd1)];
      whole <= count != 5'd0 && (behind || count > 5'd1)
          && (s_tkeep_i == '1 || !s_tkeep_i[6'({count[3:0], 2'b00})]);
      // An IPv4 header follows the 14 bytes of Ethernet: five words from the middle of word 3 on.
      if (!behind) begin
        is_ip4 <= words[3][31:16] == 16'h0800;
        sum_low <= 19'(words[3][15:0]) + 19'(words[4][31:16]) + 19'(words[4][15:0])
            + 19'(words[5][31:16]) + 19'(words[5][15:0]);
        sum_high <= 19'(words[6][31:16]) + 19'(words[6][15:0]) + 19'(words[7][31:16])
            + 19'(words[7][15:0]) + 19'(words[8][31:16]);
      end
    end
  end

  logic [19:0] sum;
  logic [16:0] fold;
  assign sum  = 20'(sum_low) + 20'(sum_high);
  assign fold = 17'(sum[15:0]) + 17'(sum[19:16]);

  logic good;
  logic [63:0] mark;
  wl_rig_mark i_mark (
      .number_i(number),
      .mark_o  (mark)
  );
  logic [31:0] awaited;
  assign good = whole && {number, scrambled} == mark && (!is_ip4 || fold == 17'h0ffff);
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      awaited <= First;
      {received_o, gap_o, late_o, wrong_o} <= '0;
    end else begin
      received_o <= valid;
      wrong_o <= valid && !good;
      gap_o <= valid && good && number > awaited;
      late_o <= valid && good && number < awaited;
      if (valid && good && number >= awaited) awaited <= number + Stride;
    end
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      // The bytes of a beat are contiguous from byte 0 on, and only the last beat of a packet is
      // partial.
      Keep_M : assume (!s_tvalid_i
          || ((s_tkeep_i & (s_tkeep_i + 1'b1)) == '0 && (s_tlast_i || s_tkeep_i == '1)));
      Verdict_A : assert (2'(gap_o) + 2'(late_o) + 2'(wrong_o) <=
          2'd1 && (received_o || !(gap_o || late_o || wrong_o)));
    end
  end
`endif

endmodule
