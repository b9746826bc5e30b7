`include "wl_reset.svh"

// Bloom filter as a service: the `bloom` kind (docs/offloads/bloom.md) in block RAM.
//
//   key --> two CRCs --> hash, its bit --> word is read --> bit is tested or set --> next hash
//
// Contract
//   Data: hash i, from 0, is crc32(key) + i * (crc32c(key) | 1) modulo 2^32. The CRCs cover the
//   bytes of the key, the most significant first, with zero bits in front if the key is not a whole
//   number of bytes. Hash h selects bit h * Size >> 32. `add` sets the bits of all hashes; `test`
//   replies whether all of them are set. Each request is one atomic operation, in the order in
//   which the requests are taken. The control plane reads a word of 32 bits, bit 0 lowest, sets the
//   bits that are one in its data or, to restore a state, replaces the word, in one operation among
//   the others. Nothing else clears a bit, not even a reset. A word out of range reads as zero and
//   cannot be set.
//   Latency and throughput: one operation at a time; the reply to a request comes 3 * Hashes + 2
//   cycles after it is taken. While the control plane keeps the filter busy, one request is taken
//   after each of its accesses.
// Timing: between two registers there are either the CRCs of a key, which are exclusive ORs of up
// to KeyBits bits, or a product of 32 bits by Size.
// Cost: the memory, two CRCs, and a multiplier by a constant, which is only wires if Size is a
// power of two.
//
// Request: {method, if there are two; key}.
//
// Parameters
//   KeyBits       bits of a key
//   Size          bits of the filter
//   Hashes        bits that a key sets: 1 to 16
//   MethodCount   methods that are called: 1 or 2
//   Methods       0 `add`, 1 `test`; one bit each, method 0 lowest
//   TagBits       bits of the tag that a reply repeats
//   CtlBits, CtlTarget   those of the control bus; its addresses are words. With address bit 31, a
//                        write replaces the word
module wl_bloom #(
    parameter int unsigned KeyBits = 32,
    parameter int unsigned Size = 8192,
    parameter int unsigned Hashes = 4,
    parameter int unsigned MethodCount = 2,
    parameter logic [MethodCount-1:0] Methods = MethodCount'(2),
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 32,
    parameter logic [7:0] CtlTarget = 8'd0,
    localparam int unsigned SelectBits = MethodCount > 1 ? 1 : 0,
    localparam int unsigned RequestBits = SelectBits + KeyBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic               reply_data_o,   // all bits of the key are set; zero for `add`

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,  // word address
    input  logic [CtlBits-1:0] ctl_data_i,     // bits to set, or a word
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the old word, zero unless done
);
  if (KeyBits < 1 || TagBits < 1) begin : g_illegal_widths
    $fatal(1, "wl_bloom: KeyBits and TagBits must be at least one");
  end
  if (Size < 1 || Size > 2 ** 28) begin : g_illegal_size
    $fatal(1, "wl_bloom: Size must be from 1 to 2^28");
  end
  if (Hashes < 1 || Hashes > 16) begin : g_illegal_hashes
    $fatal(1, "wl_bloom: Hashes must be from 1 to 16");
  end
  if (MethodCount < 1 || MethodCount > 2) begin : g_illegal_methods
    $fatal(1, "wl_bloom: there are one or two methods");
  end
  if (CtlBits < 32) begin : g_illegal_control
    $fatal(1, "wl_bloom: the control bus is narrower than a word");
  end

  localparam int unsigned Bytes = (KeyBits + 7) / 8;
  localparam int unsigned Words = (Size + 31) / 32;
  localparam int unsigned AddressBits = wl_pkg::bits(Words);

  // Reflected polynomials: IEEE 802.3, and Castagnoli.
  localparam logic [31:0] Ieee = 32'hedb88320;
  localparam logic [31:0] Castagnoli = 32'h82f63b78;

  function automatic logic [31:0] crc(logic [31:0] polynomial, logic [8*Bytes-1:0] data);
    crc = '1;
    for (int unsigned k = 0; k < Bytes; k++) begin
      crc ^= 32'(data[8*(Bytes-1-k)+:8]);
      for (int unsigned j = 0; j < 8; j++) crc = crc[0] ? (crc >> 1) ^ polynomial : crc >> 1;
    end
    crc = ~crc;
  endfunction

  // In order: idle; the key is hashed; a hash selects its bit; the word of the bit is read; the
  // word is available.
  typedef enum logic [2:0] {
    IDLE,
    HASH,
    PLACE,
    READ,
    USE
  } state_e;
  state_e state;

  logic is_control, is_test, all_set, control_turn;
  logic [KeyBits-1:0] key;
  logic [31:0] hash, step;
  logic [4:0] count;
  logic [AddressBits-1:0] address;
  logic [4:0] place;

  // A request; one that has no choice of methods calls number 0.
  typedef struct packed {
    logic method;
    logic [KeyBits-1:0] key;
  } request_t;
  request_t request;
  assign request = $bits(request_t)'(request_data_i);

  logic method;
  if (MethodCount > 1) begin : g_select
    assign method = Methods[request.method];
  end else begin : g_only
    assign method = Methods[0];
  end

  // An access of the control plane starts when the filter is idle, but not in the first cycle after
  // another access.
  logic wanted, takes_control;
  assign wanted = ctl_valid_i && ctl_target_i == CtlTarget;
  assign takes_control = state == IDLE && wanted && control_turn;
  assign request_ready_o = state == IDLE && !(wanted && control_turn);

  logic [63:0] product;
  assign product = 64'(hash) * 64'(Size);

  logic in_range, replaces;
  logic [31:0] word, sets;
  assign sets = is_control ? (ctl_write_i && in_range ? ctl_data_i[31:0] : '0) : is_test ? '0
      : 32'd1 << place;

  wl_ram_block #(.Width(32), .Depth(Words)) i_words (
      .clk_i,
      // Before the first reset the state may be any.
      .write_i        (state == USE && !rst_i && (sets != '0 || replaces)),
      .write_address_i(address),
      .write_data_i   (replaces ? sets : word | sets),
      .read_i         (state == READ),
      .read_address_i (address),
      .read_data_o    (word)
  );

  logic ends;
  assign ends = state == USE && (is_control || count == 5'(Hashes - 1));

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= IDLE;
      {reply_valid_o, ctl_done_o, control_turn} <= '0;
    end else begin
      unique case (state)
        IDLE: state <= state_e'(takes_control ? READ : request_valid_i ? HASH : IDLE);
        HASH: state <= PLACE;
        PLACE: state <= READ;
        READ: state <= USE;
        default: state <= state_e'(ends ? IDLE : PLACE);
      endcase
      if (state == IDLE) control_turn <= !takes_control;
      reply_valid_o <= ends && !is_control;
      ctl_done_o <= ends && is_control;
    end
  end
  always_ff @(posedge clk_i) begin
    if (state == IDLE) begin
      is_control <= takes_control;
      is_test <= method;
      all_set <= 1'b1;
      count <= '0;
      key <= request.key;
      if (!takes_control) reply_tag_o <= request_tag_i;
      in_range <= 32'(ctl_address_i[30:0]) < 32'(Words);
      replaces <= takes_control && ctl_write_i && ctl_address_i[31]
          && 32'(ctl_address_i[30:0]) < 32'(Words);
      address <= AddressBits'(ctl_address_i);
    end
    if (state == HASH) begin
      hash <= crc(Ieee, (8 * Bytes)'(key));
      step <= crc(Castagnoli, (8 * Bytes)'(key)) | 32'd1;
    end
    if (state == PLACE) begin
      hash <= hash + step;
      {address, place} <= (AddressBits + 5)'(product[63:32]);
    end
    if (state == USE) begin
      count <= count + 1'b1;
      all_set <= all_set && word[place];
    end
    reply_data_o <= is_test && all_set && word[place];
    ctl_data_o <= ends && is_control && in_range ? CtlBits'(word) : '0;
  end

  logic unused;
  assign unused = &{1'b0, request, product[31:0], ctl_address_i, ctl_data_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Count_A : assert (state == IDLE || count < 5'(Hashes) || is_control);
      State_A : assert (state <= USE);
    end
  end
`endif
endmodule
