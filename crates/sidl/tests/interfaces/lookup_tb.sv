// Requests to Lookup_server, with an element behind it that serves `search` and `learn`, and pauses everywhere.
module lookup_tb;
  import Lookup_pkg::*;

  logic clk = 0, rst = 1;
  always #1 clk = !clk;

  logic in_valid = 0, in_ready, in_last = 0, request_valid, request_ready = 0, reply_valid = 0;
  logic out_valid, out_ready = 0, out_last;
  logic [3:0] in_method = '0, request_method;
  logic [5:0] in_count = '0;
  logic [31:0] in_word = '0, out_word, refused;
  logic [RequestWords-1:0][31:0] request_words;
  logic [ReplyWords-1:0][31:0] reply_words = '0;

  Lookup_server dut (
      .clk_i(clk),
      .rst_i(rst),
      .in_valid_i(in_valid),
      .in_ready_o(in_ready),
      .in_method_i(in_method),
      .in_count_i(in_count),
      .in_last_i(in_last),
      .in_word_i(in_word),
      .request_valid_o(request_valid),
      .request_ready_i(request_ready),
      .request_method_o(request_method),
      .request_words_o(request_words),
      .reply_valid_i(reply_valid),
      .reply_words_i(reply_words),
      .out_valid_o(out_valid),
      .out_ready_i(out_ready),
      .out_last_o(out_last),
      .out_word_o(out_word),
      .refused_o(refused)
  );

  function automatic void check(logic holds, string what);
    if (!holds) $fatal(1, "%s", what);
  endfunction

  // A message of `words` words, the first of which is `first`, and the next ones count on.
  task automatic send(logic [3:0] method, int unsigned words, logic [31:0] first);
    for (int unsigned k = 0; k < words || k == 0; k++) begin
      repeat ($urandom_range(2)) @(negedge clk);
      {in_valid, in_method, in_count, in_word} = {1'b1, method, 6'(words), first + 32'(k)};
      in_last = k + 1 >= words;
      while (!in_ready) @(negedge clk);
      @(negedge clk);
      in_valid = 0;
    end
  endtask

  search_request_t search;
  search_reply_t answer;
  learn_request_t learn;

  initial begin
    repeat (3) @(negedge clk);
    rst = 0;
    for (int unsigned n = 0; n < 200; n++) begin
      logic [31:0] first;
      logic [1:0] kind;
      first = $urandom;
      kind = 2'($urandom);
      unique case (kind)
        0: begin
          send(Method_search, 1, first);
          while (!request_valid) @(negedge clk);
          repeat ($urandom_range(2)) @(negedge clk);
          search = request_words[0];
          check(request_method == Method_search && search.address == first, "the request is another one");
          request_ready = 1;
          @(negedge clk);
          request_ready = 0;
          repeat ($urandom_range(3)) @(negedge clk);
          answer = '0;
          {answer.result_next_hop, answer.result_kind, answer.result_mac} = {first + 1, 8'd7, 48'h0605_0403_0201};
          reply_words = (ReplyWords * 32)'(answer);
          reply_valid = 1;
          @(negedge clk);
          reply_valid = 0;
          for (int unsigned k = 0; k < 4; k++) begin
            logic [3:0][31:0] expected;
            expected = {32'h0605, 32'h0403_0201, 32'd7, first + 1};
            while (!out_valid) @(negedge clk);
            repeat ($urandom_range(2)) @(negedge clk);
            check(out_word == expected[k[1:0]] && out_last == (k == 3), "the reply is another one");
            out_ready = 1;
            @(negedge clk);
            out_ready = 0;
          end
        end
        1: begin
          send(Method_learn, 8, first);
          while (!request_valid) @(negedge clk);
          learn = request_words;
          check(learn.address == first && learn.length == 8'(first + 1), "the scalars are others");
          check(learn.mac[5] == 8'((first + 3) >> 8) && learn.ranges_1_high == 16'(first + 7), "the arrays are others");
          request_ready = 1;
          @(negedge clk);
          request_ready = 0;
          check(!out_valid, "one-way has no reply");
        end
        2: begin
          logic [31:0] told;
          told = refused;
          send(Method_search, $urandom_range(20, 2), first);
          check(refused == told + 1 && !request_valid, "a request of another length is refused");
        end
        default: begin
          logic [31:0] told;
          told = refused;
          send(4'd9, 1, first);
          check(refused == told + 1 && !request_valid, "there is no such method");
        end
      endcase
    end
    $display("passed");
    $finish;
  end
endmodule
