`include "wl_reset.svh"

// Pseudo-random numbers as a service: the `random` kind (docs/offloads.md), by SplitMix64.
//
// Contract
//   Data: the reply to {stream, packet's number} is the upper 32 bits of S(S(Seed, number),
//   stream), where S(seed, n) is output n of SplitMix64. The module keeps no state.
//   Latency and throughput: one request at a time, in 6 * 64 / Digit + 1 cycles: six products of 64
//   bits, computed by one multiplier that takes Digit bits a cycle.
// Timing: between two registers there are one product of 64 by Digit bits and one addition.
// Cost: the multiplier, and about 500 flip-flops.
//
// Parameters
//   Seed       seed of the outer generator
//   Digit      bits of a factor that are multiplied in a cycle: 1 to 64, a power of two
//   TagBits    bits of the tag that a reply repeats
module wl_random #(
    parameter logic [63:0] Seed = 64'd1,
    parameter int unsigned Digit = 8,
    parameter int unsigned TagBits = 8
) (
    input logic clk_i,
    input logic rst_i,

    input  logic               request_valid_i,
    output logic               request_ready_o,
    input  logic [TagBits-1:0] request_tag_i,
    input  logic [       95:0] request_data_i,   // {stream, packet's number}

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic [       31:0] reply_data_o
);
  if (Digit < 1 || Digit > 64 || 2 ** $clog2(Digit) != Digit) begin : g_illegal
    $fatal(1, "wl_random: Digit must be a power of two from 1 to 64");
  end
  if (TagBits < 1) begin : g_illegal_tag
    $fatal(1, "wl_random: TagBits must be at least one");
  end

  // Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).
  localparam logic [63:0] Gamma = 64'h9e3779b97f4a7c15;
  localparam logic [63:0] Mix1 = 64'hbf58476d1ce4e5b9;
  localparam logic [63:0] Mix2 = 64'h94d049bb133111eb;

  localparam int unsigned Digits = 64 / Digit;
  localparam int unsigned CountBits = wl_pkg::bits(Digits);

  typedef struct packed {
    logic [31:0] stream;
    logic [63:0] packet;  // the packet's number
  } request_t;
  request_t request;
  assign request = request_data_i;

  logic busy;
  logic [2:0] product;  // number of the product, in the order number, mix, mix, stream, mix, mix
  logic [CountBits-1:0] count;
  logic [31:0] stream;
  // The partial product, and the two factors: `rest` without the digits that are done, `factor`
  // shifted by as much.
  logic [63:0] sum, rest, factor;

  logic [63:0] next_sum, counter, mixed;
  assign next_sum = sum + factor * 64'(rest[Digit-1:0]);

  // The use of a finished product. The first of every three starts from the seed, so that it ends
  // as the generator's counter.
  always_comb begin
    unique case (product)
      3'd0, 3'd3: mixed = next_sum ^ (next_sum >> 30);
      3'd1, 3'd4: mixed = next_sum ^ (next_sum >> 27);
      default: mixed = next_sum ^ (next_sum >> 31);
    endcase
    counter = product == 3'd2 ? 64'(stream) + 64'd1 : mixed;
  end

  logic ends;
  assign ends = busy && count == CountBits'(Digits - 1);
  assign request_ready_o = !busy;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      {busy, reply_valid_o} <= '0;
    end else begin
      if (!busy) busy <= request_valid_i;
      else if (ends && product == 3'd5) busy <= 1'b0;
      reply_valid_o <= ends && product == 3'd5;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!busy) begin
      count <= '0;
      product <= '0;
      stream <= request.stream;
      reply_tag_o <= request_tag_i;
      sum <= Seed;
      rest <= request.packet + 64'd1;
      factor <= Gamma;
    end else if (ends) begin
      count <= '0;
      product <= product + 1'b1;
      sum <= product == 3'd2 ? mixed : '0;
      rest <= counter;
      factor <= product == 3'd2 ? Gamma : product == 3'd0 || product == 3'd3 ? Mix1 : Mix2;
    end else begin
      count <= count + 1'b1;
      sum <= next_sum;
      rest <= rest >> Digit;
      factor <= factor << Digit;
    end
    if (ends) reply_data_o <= mixed[63:32];
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i && busy) Product_A : assert (product < 3'd6);
  end
`endif
endmodule
