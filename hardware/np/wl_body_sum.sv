`include "wl_reset.svh"

// Computes the Internet checksum (RFC 1071) of a range of a body that is stored in wl_body_buffer,
// for engines (docs/offloads.md, `checksum`).
//
// The engine sums the part of the range that lies in the header window, and passes it as the
// initial value.
//
// Contract
//   Request: {place, begin, length, limit, initial}. `place` is the first beat of the body. The
//   range is `length` bytes from byte `begin`, which counts from the first byte of the body and is
//   signed, as far as they are in 0 .. limit - 1, of at most MaxBytes. Words begin at `begin`, even
//   if it is odd; an odd last byte is the upper half of its word.
//   Reply: the ones'-complement sum of the words and `initial`, not inverted: 0 only if all of them
//   are 0.
//   Every request gets a reply, in order. Throughput: one beat a cycle; after a request of n beats
//   the next one starts within n + 6 cycles. Latency: n + 8 cycles.
// Timing: inputs go to registers, outputs are registers; between them there are sums of four, then
// of eight.
//
// Parameters
//   DataBytes     bytes of a beat, a power of two
//   AddressBits   bits of a beat's place
//   TagBits       bits of a request's tag
module wl_body_sum #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned AddressBits = 11,
    parameter int unsigned TagBits = 4,
    localparam int unsigned RequestBits = AddressBits + 17 + 3 * 16
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,
    output logic                   reply_valid_o,
    output logic [    TagBits-1:0] reply_tag_o,
    output logic [           15:0] reply_data_o,

    // To wl_body_buffer.
    output logic                   access_read_o,
    output logic [AddressBits-1:0] access_address_o,
    input  logic [8*DataBytes-1:0] access_data_i      // a cycle after the read; byte 0 lowest
);

  if (DataBytes < 8 || 2 ** $clog2(DataBytes) != DataBytes) begin : g_illegal_beat
    $fatal(1, "wl_body_sum: DataBytes must be a power of two from 8 on");
  end
  if (AddressBits < 1 || TagBits < 1) begin : g_illegal_bits
    $fatal(1, "wl_body_sum: AddressBits and TagBits must be 1 or more");
  end

  localparam int unsigned ByteBits = $clog2(DataBytes);
  localparam int unsigned Words = DataBytes / 2;
  localparam int unsigned Parts = Words / 4;
  localparam int unsigned PartBits = 18;  // a sum of four words
  localparam int unsigned BeatBits = 16 + $clog2(Words);
  localparam int unsigned SumBits = 32;  // a sum of 32,768 words
  typedef logic [ByteBits:0] edge_t;  // a byte position in a beat, or its end

  // One request at a time: it is accepted, its range computed, its beats read, and their sum
  // folded.
  typedef enum logic [2:0] {
    Idle,
    Range,
    Read,
    Drain,
    Fold,
    Turn
  } state_t;
  state_t state;
  assign request_ready_o = state == Idle;

  typedef struct packed {
    logic [AddressBits-1:0] place;
    logic [16:0] begins;
    logic [15:0] length;
    logic [15:0] limit;
    logic [15:0] initial_sum;
  } request_t;
  request_t request;
  logic [TagBits-1:0] tag;

  // The range within the body: its first byte, and the first byte after it.
  logic [17:0] end_asked, first, behind;
  always_comb begin
    end_asked = {request.begins[16], request.begins} + 18'(request.length);
    first = request.begins[16] ? '0 : 18'(request.begins);
    if (end_asked[17]) behind = '0;
    else behind = end_asked < 18'(request.limit) ? end_asked : 18'(request.limit);
  end

  logic [AddressBits-1:0] address;
  logic [15:0] left;  // bytes of the range from the next beat to read on
  edge_t skip;        // bytes of that beat before the range
  logic [2:0] wait_left;
  logic last;
  assign last = 17'(left) + 17'(skip) <= 17'(DataBytes);
  assign access_read_o = state == Read;
  assign access_address_o = address;

  logic reading;
  edge_t from, upto;  // range within the beat from the buffer
  logic [SumBits-1:0] sum;
  logic [16:0] folded;
  logic [15:0] result;
  assign result = folded[15:0] + 16'(folded[16]);

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= Idle;
      reading <= 1'b0;
      reply_valid_o <= 1'b0;
    end else begin
      reading <= state == Read;
      reply_valid_o <= 1'b0;
      unique case (state)
        Idle: if (request_valid_i) state <= Range;
        Range: state <= state_t'(behind <= first ? Drain : Read);
        Read: if (last) state <= Drain;
        Drain: if (wait_left == 3'd0) state <= Fold;
        Fold: state <= Turn;
        default: begin
          reply_valid_o <= 1'b1;
          state <= Idle;
        end
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    from <= skip;
    upto <= last ? edge_t'(left) + skip : edge_t'(DataBytes);
    unique case (state)
      Idle: begin
        tag <= request_tag_i;
        request <= request_data_i;
      end
      Range: begin
        address <= request.place + AddressBits'(first[15:ByteBits]);
        skip <= edge_t'(first[ByteBits-1:0]);
        left <= 16'(behind - first);
        wait_left <= 3'd3;
      end
      Read: begin
        address <= address + 1'b1;
        left <= left - (16'(DataBytes) - 16'(skip));
        skip <= '0;
      end
      Drain: wait_left <= wait_left - 3'd1;
      // At most 2^16 - 1 plus 2^15: the only second carry is that into bit 16.
      Fold: folded <= 17'(sum[15:0]) + 17'(sum[SumBits-1:16]);
      default: begin
        // A range that begins at an odd byte of the body was summed with the halves of its words
        // exchanged (RFC 1071 section 2, B).
        reply_tag_o <= tag;
        reply_data_o <= plus(request.begins[0] ? {result[7:0], result[15:8]} : result,
            request.initial_sum);
      end
    endcase
  end

  // Returns the sum of two words, with the carry added.
  function automatic logic [15:0] plus(logic [15:0] a, logic [15:0] b);
    logic [16:0] wide;
    wide = 17'(a) + 17'(b);
    return wide[15:0] + 16'(wide[16]);
  endfunction

  // Three stages: the bytes in the range, as sums of four words; sums of those; the sum of all
  // beats.
  logic [8*DataBytes-1:0] kept;
  logic kept_valid, part_valid;
  logic [Parts-1:0][PartBits-1:0] parts;
  logic [BeatBits-1:0] beat_sum;
  always_comb begin
    beat_sum = '0;
    for (int unsigned k = 0; k < Parts; k++) beat_sum += BeatBits'(parts[k]);
  end
  always_ff @(posedge clk_i) begin
    kept_valid <= reading;
    for (int unsigned i = 0; i < DataBytes; i++) begin
      if (edge_t'(i) < from || edge_t'(i) >= upto) kept[8*i+:8] <= '0;
      else kept[8*i+:8] <= access_data_i[8*i+:8];
    end
    part_valid <= kept_valid;
    for (int unsigned k = 0; k < Parts; k++) begin
      parts[k] <= PartBits'({kept[64*k+:8], kept[64*k+8+:8]})
          + PartBits'({kept[64*k+16+:8], kept[64*k+24+:8]})
          + PartBits'({kept[64*k+32+:8], kept[64*k+40+:8]})
              + PartBits'({kept[64*k+48+:8], kept[64*k+56+:8]});
    end
    if (state == Range) sum <= '0;
    else if (part_valid) sum <= sum + SumBits'(beat_sum);
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      // The sum is complete when it is folded, and the reply is that of the current request.
      Summed_A : assert (state != Fold || !(reading || kept_valid || part_valid));
      Range_A : assert (state != Read || left != '0);
      Tag_A : assert (!reply_valid_o || reply_tag_o == tag);
    end
  end
`endif

endmodule
