`include "wl_reset.svh"

// AES-128 as a service: the `aes` kind (docs/offloads/aes.md).
//
//   secret is read --> `encrypt`: ten rounds, each with the next round's key
//                  --> `decrypt`: ten keys to the last one --> ten rounds back, each with its key
//
// Contract
//   Data: the reply is the block that FIPS 197 calls the output of the cipher, or of the inverse
//   cipher, under the secret with the request's index; zero if the index is out of range. The first
//   byte of a block or secret is the most significant one. The control plane reads or writes a
//   whole secret in one operation among the requests.
//   Latency and throughput: one request at a time; the reply comes 14 cycles after `encrypt` is
//   taken, 24 after `decrypt`, and the next request is taken in that cycle.
//   Contents: zero at power-up; in simulation from +wl_image_<Image>=FILE. A reset keeps them.
//   The latency does not depend on the secret or the block.
// Timing: between two registers there are an S-box, a column and two exclusive ORs.
// Cost: the memory of the secrets, 20 S-boxes for `encrypt`, 20 for `decrypt` (24 for both), and
// about 400 flip-flops.
//
// Request: {method, if there are two; index, 32 bits; block, 128 bits}.
//
// Parameters
//   Size          secrets
//   MethodCount   methods that are called: 1 or 2
//   Methods       0 `encrypt`, 1 `decrypt`; one bit each, method 0 lowest
//   TagBits       bits of the tag that a reply repeats
//   CtlBits       bits of the control bus' data
//   CtlTarget     number of this service on the control bus; its addresses are the secrets' indices
//   Image         name of the contents in simulation
module wl_aes #(
    parameter int unsigned Size = 1,
    parameter int unsigned MethodCount = 1,
    parameter logic [MethodCount-1:0] Methods = '0,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 128,
    parameter logic [7:0] CtlTarget = 8'd0,
    parameter Image = "",
    localparam int unsigned SelectBits = MethodCount > 1 ? 1 : 0,
    localparam int unsigned RequestBits = SelectBits + 32 + 128
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic [      127:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // index
    input  logic [CtlBits-1:0] ctl_data_i,     // the secret, in the lowest bits
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the old secret, zero unless done
);
  if (TagBits < 1) begin : g_illegal_tag
    $fatal(1, "wl_aes: TagBits must be at least one");
  end
  if (MethodCount < 1 || MethodCount > 2) begin : g_illegal_methods
    $fatal(1, "wl_aes: there are one or two methods");
  end

  // FIPS 197, Figures 7 and 14; the substitute of byte 0 comes first.
  localparam logic [2047:0] Sbox = {
    128'h637c777bf26b6fc53001672bfed7ab76,
    128'hca82c97dfa5947f0add4a2af9ca472c0,
    128'hb7fd9326363ff7cc34a5e5f171d83115,
    128'h04c723c31896059a071280e2eb27b275,
    128'h09832c1a1b6e5aa0523bd6b329e32f84,
    128'h53d100ed20fcb15b6acbbe394a4c58cf,
    128'hd0efaafb434d338545f9027f503c9fa8,
    128'h51a3408f929d38f5bcb6da2110fff3d2,
    128'hcd0c13ec5f974417c4a77e3d645d1973,
    128'h60814fdc222a908846eeb814de5e0bdb,
    128'he0323a0a4906245cc2d3ac629195e479,
    128'he7c8376d8dd54ea96c56f4ea657aae08,
    128'hba78252e1ca6b4c6e8dd741f4bbd8b8a,
    128'h703eb5664803f60e613557b986c11d9e,
    128'he1f8981169d98e949b1e87e9ce5528df,
    128'h8ca1890dbfe6426841992d0fb054bb16
  };
  localparam logic [2047:0] InverseSbox = {
    128'h52096ad53036a538bf40a39e81f3d7fb,
    128'h7ce339829b2fff87348e4344c4dee9cb,
    128'h547b9432a6c2233dee4c950b42fac34e,
    128'h082ea16628d924b2765ba2496d8bd125,
    128'h72f8f66486689816d4a45ccc5d65b692,
    128'h6c704850fdedb9da5e154657a78d9d84,
    128'h90d8ab008cbcd30af7e45805b8b34506,
    128'hd02c1e8fca3f0f02c1afbd0301138a6b,
    128'h3a9111414f67dcea97f2cfcef0b4e673,
    128'h96ac7422e7ad3585e2f937e81c75df6e,
    128'h47f11a711d29c5896fb7620eaa18be1b,
    128'hfc563e4bc6d279209adbc0fe78cd5af4,
    128'h1fdda8338807c731b11210592780ec5f,
    128'h60517fa919b54a0d2de57a9f93c99cef,
    128'ha0e03b4dae2af5b0c8ebbb3c83539961,
    128'h172b047eba77d626e169146355210c7d
  };

  // The product by x in GF(2^8), and the quotient.
  function automatic logic [7:0] times(logic [7:0] byte_i);
    times = {byte_i[6:0], 1'b0} ^ (byte_i[7] ? 8'h1b : 8'h00);
  endfunction
  function automatic logic [7:0] over(logic [7:0] byte_i);
    over = {1'b0, byte_i[7:1]} ^ (byte_i[0] ? 8'h8d : 8'h00);
  endfunction

  // SubBytes and ShiftRows, and their inverses. Byte 4 * c + r of the state, from the most
  // significant, is in column c and row r.
  function automatic logic [127:0] shifted(logic [127:0] s);
    logic [127:0] t;
    for (int unsigned c = 0; c < 4; c++)
      for (int unsigned r = 0; r < 4; r++)
        t[8*(15-4*c-r)+:8] = Sbox[{~s[8*(15-4*((c+r)%4)-r)+:8], 3'd0}+:8];
    shifted = t;
  endfunction
  function automatic logic [127:0] shifted_back(logic [127:0] s);
    logic [127:0] t;
    for (int unsigned c = 0; c < 4; c++)
      for (int unsigned r = 0; r < 4; r++)
        t[8*(15-4*((c+r)%4)-r)+:8] = InverseSbox[{~s[8*(15-4*c-r)+:8], 3'd0}+:8];
    shifted_back = t;
  endfunction

  // MixColumns. The inverse first adds 4 times the column rotated by two and by none, which makes
  // its polynomial that of MixColumns.
  function automatic logic [127:0] mixed(logic [127:0] s);
    logic [127:0] t;
    for (int unsigned c = 0; c < 4; c++)
      for (int unsigned r = 0; r < 4; r++) begin
        logic [3:0][7:0] a;  // from this row on, downwards
        for (int unsigned k = 0; k < 4; k++) a[k] = s[8*(15-4*c-(r+k)%4)+:8];
        t[8*(15-4*c-r)+:8] = times(a[0] ^ a[1]) ^ a[1] ^ a[2] ^ a[3];
      end
    mixed = t;
  endfunction
  function automatic logic [127:0] mixed_back(logic [127:0] s);
    logic [127:0] t;
    for (int unsigned c = 0; c < 4; c++)
      for (int unsigned r = 0; r < 4; r++) begin
        logic [7:0] a, b;
        a = s[8*(15-4*c-r)+:8];
        b = s[8*(15-4*c-(r+2)%4)+:8];
        t[8*(15-4*c-r)+:8] = a ^ times(times(a ^ b));
      end
    mixed_back = mixed(t);
  endfunction

  // The key of the next round, and that of the previous one.
  function automatic logic [31:0] turned(logic [31:0] word, logic [7:0] constant);
    logic [31:0] t;
    for (int unsigned k = 0; k < 4; k++) t[8*k+:8] = Sbox[{~word[8*((k+3)%4)+:8], 3'd0}+:8];
    turned = {t[31:24] ^ constant, t[23:0]};
  endfunction

  typedef enum logic [1:0] {IDLE, READ, KEYS, ROUNDS} state_e;
  state_e state;

  typedef struct packed {
    logic method;
    logic [31:0] index;
    logic [127:0] block;
  } request_t;
  request_t request;
  assign request = $bits(request_t)'(request_data_i);

  logic method;
  if (MethodCount > 1) begin : g_select
    assign method = Methods[request.method];
  end else begin : g_only
    assign method = Methods[0];
  end

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

  logic in_range, decrypts, is_last;
  logic [3:0] count;  // rounds or keys that are done
  logic [7:0] constant;
  logic [127:0] block, key, next_key, previous_key, forward, back;
  assign is_last = count == 4'd9;

  // One S-box for each byte of the word that is turned: the last word of this key or of the
  // previous one.
  logic goes_back;
  logic [31:0] last_word, first_word;
  assign goes_back = state == ROUNDS && decrypts;
  assign last_word = goes_back ? key[31:0] ^ key[63:32] : key[31:0];
  assign first_word = key[127:96] ^ turned(last_word, constant);
  assign next_key = {
    first_word,
    first_word ^ key[95:64],
    first_word ^ key[95:64] ^ key[63:32],
    first_word ^ key[95:64] ^ key[63:32] ^ key[31:0]
  };
  assign previous_key = {first_word, key[95:0] ^ key[127:32]};

  always_comb begin
    forward = shifted(block);
    forward = (is_last ? forward : mixed(forward)) ^ next_key;
    back = shifted_back(block) ^ previous_key;
    back = is_last ? back : mixed_back(back);
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= IDLE;
      reply_valid_o <= 1'b0;
    end else begin
      unique case (state)
        IDLE: if (take) state <= READ;
        READ: if (secret_valid && decrypts) state <= KEYS;
        else if (secret_valid) state <= ROUNDS;
        KEYS: if (is_last) state <= ROUNDS;
        default: if (is_last) state <= IDLE;
      endcase
      reply_valid_o <= state == ROUNDS && is_last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      reply_tag_o <= request_tag_i;
      in_range <= {1'b0, request.index} < 33'(Size);
      decrypts <= method;
      block <= request.block;
    end
    if (state == READ) begin
      count <= '0;
      constant <= 8'h01;
      key <= secret;
      if (secret_valid && !decrypts) block <= block ^ secret;
    end
    if (state == KEYS || state == ROUNDS) begin
      count <= is_last ? '0 : count + 1'b1;
      key <= goes_back ? previous_key : next_key;
      // The constant of the last round is also the first that is undone.
      if (goes_back) constant <= over(constant);
      else if (!is_last) constant <= times(constant);
    end
    if (state == KEYS && is_last) block <= block ^ next_key;
    if (state == ROUNDS) begin
      block <= decrypts ? back : forward;
      reply_data_o <= !in_range ? '0 : decrypts ? back : forward;
    end
  end

  logic unused;
  assign unused = &{1'b0, unused_tag, request};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i && state != IDLE && state != READ) Count_A : assert (count < 4'd10);
  end
`endif
endmodule
