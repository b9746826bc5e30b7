// Interface Lookup of lookup.sidl, written by Wireloom (docs/sidl.md).

// Messages: word 0 in the lowest bits.
package Lookup_pkg;
  localparam logic [3:0] Method_search = 4'd0;
  localparam logic [3:0] Method_find = 4'd1;
  localparam logic [3:0] Method_learn = 4'd2;
  localparam logic [3:0] Method_clear = 4'd3;
  localparam logic [3:0] Method_balance = 4'd4;
  localparam int unsigned RequestWords = 8;
  localparam int unsigned ReplyWords = 7;

  typedef struct packed {
    logic [31:0] address;
  } search_request_t;

  typedef struct packed {
    logic [15:0] result_mac_padding;
    logic [5:0][7:0] result_mac;
    logic [23:0] result_kind_padding;
    logic [7:0] result_kind;
    logic [31:0] result_next_hop;
  } search_reply_t;

  typedef struct packed {
    logic [63:0] key;
  } find_request_t;

  typedef struct packed {
    logic [15:0] hops_padding;
    logic [2:0][15:0] hops;
    logic [15:0] route_mac_padding;
    logic [5:0][7:0] route_mac;
    logic [23:0] route_kind_padding;
    logic [7:0] route_kind;
    logic [31:0] route_next_hop;
    logic [30:0] result_padding;
    logic result;
  } find_reply_t;

  typedef struct packed {
    logic [15:0] ranges_1_high_padding;
    logic signed [15:0] ranges_1_high;
    logic [15:0] ranges_1_low_padding;
    logic signed [15:0] ranges_1_low;
    logic [15:0] ranges_0_high_padding;
    logic signed [15:0] ranges_0_high;
    logic [15:0] ranges_0_low_padding;
    logic signed [15:0] ranges_0_low;
    logic [15:0] mac_padding;
    logic [5:0][7:0] mac;
    logic [23:0] length_padding;
    logic [7:0] length;
    logic [31:0] address;
  } learn_request_t;

  typedef struct packed {
    logic [30:0] up_padding;
    logic up;
    logic signed [31:0] b;
    logic [23:0] a_padding;
    logic signed [7:0] a;
  } balance_request_t;

  typedef struct packed {
    logic signed [63:0] result;
  } balance_reply_t;
endpackage

// Between the network and an element that serves interface Lookup: one request at a time.
//
// Contract
//   A request is in_count_i words (a request of none is sent as one ignored word) with its method.
//   The element sees all of it while request_valid_o is high, and takes it with request_ready_i.
//   A request of an unknown method or of the wrong length is dropped and counted in refused_o.
//   A method that replies does so once, with reply_valid_i in a later cycle; then the words of the
//   reply leave (one, if it has none), and the next request is accepted.
module Lookup_server
  import Lookup_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input  logic        in_valid_i,
    output logic        in_ready_o,
    input  logic [ 3:0] in_method_i,
    input  logic [ 5:0] in_count_i,
    input  logic        in_last_i,
    input  logic [31:0] in_word_i,

    output logic                            request_valid_o,
    input  logic                            request_ready_i,
    output logic [                     3:0] request_method_o,
    output logic [RequestWords-1:0][31:0] request_words_o,  // as a ..._request_t
    input  logic                            reply_valid_i,
    input  logic [  ReplyWords-1:0][31:0] reply_words_i,    // a ..._reply_t

    output logic        out_valid_o,
    input  logic        out_ready_i,
    output logic        out_last_o,
    output logic [31:0] out_word_o,

    output logic [31:0] refused_o
);
  typedef enum logic [1:0] {Gathering, Asking, Serving, Replying} state_t;
  state_t state;
  logic [3:0] method;
  logic [5:0] place;  // of the next word, in or out
  logic [RequestWords-1:0][31:0] words;
  logic [ReplyWords-1:0][31:0] reply;
  logic fits, replies;
  logic [5:0] reply_count;

  always_comb begin
    unique case (in_method_i)
      Method_search: fits = in_count_i == 6'd1;
      Method_find: fits = in_count_i == 6'd2;
      Method_learn: fits = in_count_i == 6'd8;
      Method_clear: fits = in_count_i == 6'd0;
      Method_balance: fits = in_count_i == 6'd3;
      default: fits = 1'b0;
    endcase
    unique case (method)
      Method_search: {replies, reply_count} = {1'b1, 6'd4};
      Method_find: {replies, reply_count} = {1'b1, 6'd7};
      Method_learn: {replies, reply_count} = {1'b0, 6'd1};
      Method_clear: {replies, reply_count} = {1'b1, 6'd1};
      Method_balance: {replies, reply_count} = {1'b1, 6'd2};
      default: {replies, reply_count} = '0;
    endcase
  end

  assign in_ready_o = state == Gathering;
  assign request_valid_o = state == Asking;
  assign request_method_o = method;
  assign request_words_o = words;
  assign out_valid_o = state == Replying;
  assign out_last_o = place + 6'd1 == reply_count;
  assign out_word_o = reply[0];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state <= Gathering;
      place <= '0;
      refused_o <= '0;
    end else begin
      unique case (state)
        Gathering:
        if (in_valid_i) begin
          for (int unsigned k = 0; k < RequestWords; k++) if (place == 6'(k)) words[k] <= in_word_i;
          method <= in_method_i;
          // An overlong message stays past the last word.
          if (place != '1) place <= place + 6'd1;
          if (in_last_i) begin
            place <= '0;
            if (fits && (place + 6'd1 == in_count_i || (in_count_i == '0 && place == '0))) state <= Asking;
            else refused_o <= refused_o + 1;
          end
        end
        Asking: if (request_ready_i) state <= replies ? Serving : Gathering;
        Serving:
        if (reply_valid_i) begin
          reply <= reply_words_i;
          state <= Replying;
        end
        Replying:
        if (out_ready_i) begin
          reply <= reply >> 32;
          place <= place + 6'd1;
          if (out_last_o) begin
            place <= '0;
            state <= Gathering;
          end
        end
      endcase
    end
  end
endmodule
