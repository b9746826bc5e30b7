`include "wl_reset.svh"

// SipHash-2-4 as a service: the `siphash` kind (docs/offloads/siphash.md).
//
//   secret is read --> a round a cycle: two for each word of the key, four to finish --> reply
//
// Contract
//   Data: the reply is SipHash-2-4 (Aumasson, Bernstein, 2012) of the key's bytes, the most
//   significant first, with zero bits in front if the key is not a whole number of bytes, under the
//   secret with the request's index; zero if the index is out of range. The first byte of a secret
//   is the most significant one. The control plane reads or writes a whole secret in one operation
//   among the requests.
//   Latency and throughput: one request at a time; the reply comes 2 * (KeyBits rounded up to bytes
//   / 8) + 10 cycles after the request is taken, and the next request is taken in that cycle.
//   Contents: zero at power-up; in simulation from +wl_image_<Image>=FILE. A reset keeps them.
// Timing: between two registers there are two sums of 64 bits.
// Cost: the memory of the secrets, four sums of 64 bits, and about 400 flip-flops and the key's.
//
// Request: {index, 32 bits; key}.
//
// Parameters
//   KeyBits       bits of a key
//   Size          secrets
//   TagBits       bits of the tag that a reply repeats
//   CtlBits       bits of the control bus' data
//   CtlTarget     number of this service on the control bus; its addresses are the secrets' indices
//   Image         name of the contents in simulation
module wl_siphash #(
    parameter int unsigned KeyBits = 32,
    parameter int unsigned Size = 1,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 128,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter Image = "",
    localparam int unsigned RequestBits = 32 + KeyBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic [       63:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // index
    input  logic [CtlBits-1:0] ctl_data_i,     // the secret, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the old secret, zero unless done
);
  if (KeyBits < 1 || TagBits < 1) begin : g_illegal_widths
    $fatal(1, "wl_siphash: KeyBits and TagBits must be at least one");
  end

  localparam int unsigned Bytes = (KeyBits + 7) / 8;
  localparam int unsigned Words = Bytes / 8 + 1;
  localparam int unsigned Rounds = 2 * Words + 4;
  localparam int unsigned RoundBits = wl_pkg::bits(Rounds);

  typedef struct packed {
    logic [63:0] v0;
    logic [63:0] v1;
    logic [63:0] v2;
    logic [63:0] v3;
  } state_t;

  function automatic logic [63:0] left(logic [63:0] word, int unsigned count);
    left = (word << count) | (word >> (64 - count));
  endfunction

  // The function SipRound of the paper's Figure 2.1.
  function automatic state_t round_of(state_t v);
    v.v0 += v.v1;
    v.v2 += v.v3;
    v.v1 = left(v.v1, 13) ^ v.v0;
    v.v3 = left(v.v3, 16) ^ v.v2;
    v.v0 = left(v.v0, 32) + v.v3;
    v.v2 += v.v1;
    v.v1 = left(v.v1, 17) ^ v.v2;
    v.v3 = left(v.v3, 21) ^ v.v0;
    v.v2 = left(v.v2, 32);
    round_of = v;
  endfunction

  // A number whose first byte, the most significant one, becomes the least significant.
  function automatic logic [63:0] turned(logic [63:0] bytes);
    for (int unsigned k = 0; k < 8; k++) turned[8*k+:8] = bytes[8*(7-k)+:8];
  endfunction

  // The words of the message: the key's bytes, zeros, and in the last byte their number.
  function automatic logic [64*Words-1:0] message_of(logic [8*Bytes-1:0] bytes);
    message_of = '0;
    for (int unsigned k = 0; k < Bytes; k++) message_of[8*k+:8] = bytes[8*(Bytes-1-k)+:8];
    message_of[64*Words-8+:8] = 8'(Bytes);
  endfunction

  typedef enum logic [1:0] {IDLE, READ, MIX} state_e;
  state_e state;

  typedef struct packed {
    logic [31:0] index;
    logic [KeyBits-1:0] key;
  } request_t;
  request_t request;
  assign request = request_data_i;

  logic table_ready, take, secret_valid, unused_tag;
  logic [127:0] secret;
  assign request_ready_o = state == IDLE && table_ready;
  assign take = request_valid_i && request_ready_o;

  wl_table #(
      .Width(128), .Size(Size), .MethodCount(1), .Methods(wl_pkg::TABLE_READ), .IndexBits(32),
      .TagBits(1), .CtlBits(CtlBits), .CtlTarget(CtlTarget), .Image(Image)
  ) i_secrets (
      .clk_i, .rst_i,
      .request_valid_i(request_valid_i && state == IDLE), .request_ready_o(table_ready),
      .request_tag_i(1'b0), .request_data_i(request.index),
      .reply_valid_o(secret_valid), .reply_tag_o(unused_tag), .reply_data_o(secret),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i, .ctl_address_i, .ctl_data_i, .ctl_done_o,
      .ctl_data_o
  );

  logic in_range, of_word, ends;
  logic [RoundBits-1:0] count;
  logic [64*Words-1:0] message;
  state_t v, entering, leaving;
  assign of_word = count < RoundBits'(2 * Words);
  assign ends = state == MIX && count == RoundBits'(Rounds - 1);
  // A word is added before the first of its two rounds and after the second.
  always_comb begin
    entering = v;
    if (of_word && !count[0]) entering.v3 ^= message[63:0];
    if (count == RoundBits'(2 * Words)) entering.v2 ^= 64'hff;
    leaving = round_of(entering);
    if (of_word && count[0]) leaving.v0 ^= message[63:0];
  end

  logic [63:0] k0, k1;
  assign {k0, k1} = {turned(secret[127:64]), turned(secret[63:0])};

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= IDLE;
      reply_valid_o <= 1'b0;
    end else begin
      unique case (state)
        IDLE: if (take) state <= READ;
        READ: if (secret_valid) state <= MIX;
        default: if (ends) state <= IDLE;
      endcase
      reply_valid_o <= ends;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      reply_tag_o <= request_tag_i;
      in_range <= {1'b0, request.index} < 33'(Size);
      message <= message_of((8 * Bytes)'(request.key));
    end
    if (state == READ) begin
      count <= '0;
      v.v0 <= k0 ^ 64'h736f6d6570736575;
      v.v1 <= k1 ^ 64'h646f72616e646f6d;
      v.v2 <= k0 ^ 64'h6c7967656e657261;
      v.v3 <= k1 ^ 64'h7465646279746573;
    end
    if (state == MIX) begin
      count <= count + 1'b1;
      v <= leaving;
      if (count[0]) message <= (64 * Words)'({64'd0, message} >> 64);
      reply_data_o <= in_range ? leaving.v0 ^ leaving.v1 ^ leaving.v2 ^ leaving.v3 : '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, unused_tag};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i && state == MIX) Count_A : assert (count <= RoundBits'(Rounds - 1));
  end
`endif
endmodule
