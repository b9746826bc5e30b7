// Interface Output of lookup.sidl, written by Wireloom (docs/sidl.md).

// Messages: word 0 in the lowest bits.
package Output_pkg;
  localparam logic [3:0] Method_send = 4'd0;
  localparam int unsigned RequestWords = 3;
  localparam int unsigned ReplyWords = 1;

  typedef struct packed {
    logic [15:0] length_padding;
    logic [15:0] length;
    logic [15:0] port_padding;
    logic [15:0] port;
    logic [31:0] packet;
  } send_request_t;
endpackage

// Between the network and an element that serves interface Output: one request at a time.
//
// Contract
//   A request is in_count_i words (a request of none is sent as one ignored word) with its method.
//   The element sees all of it while request_valid_o is high, and takes it with request_ready_i.
//   A request of an unknown method or of the wrong length is dropped and counted in refused_o.
//   A method that replies does so once, with reply_valid_i in a later cycle; then the words of the
//   reply leave (one, if it has none), and the next request is accepted.
module Output_server
  import Output_pkg::*;
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
      Method_send: fits = in_count_i == 6'd3;
      default: fits = 1'b0;
    endcase
    unique case (method)
      Method_send: {replies, reply_count} = {1'b0, 6'd1};
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
