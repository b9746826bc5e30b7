// Test bench of wl_body_match with wl_body_buffer: the reply to each request equals that of an
// automaton that runs over its bytes, for any range; meanwhile packets, shorter and longer than the
// part ahead of the body, come and go, and the control plane writes the other automaton and selects
// it.
module wl_body_match_tb;
  localparam int unsigned Cases = 3;
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  body_match_case #(
      .DataBytes(64), .Ahead(2), .States(64), .Classes(8)
  ) i_wide (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  body_match_case #(
      .DataBytes(8), .Ahead(3), .States(16), .Classes(256)
  ) i_narrow (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  body_match_case #(
      .DataBytes(16), .Ahead(1), .States(2), .Classes(2)
  ) i_least (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
endmodule

module body_match_case #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned Ahead = 2,
    parameter int unsigned States = 64,
    parameter int unsigned Classes = 8
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Beats = 64;
  localparam int unsigned AddressBits = 6;
  localparam int unsigned ValueBits = 9;
  localparam int unsigned CtlBits = 32;
  localparam int unsigned Packets = 60;
  localparam int unsigned Each = 12;  // requests for each packet
  localparam int unsigned Turns = 4;  // automata that are written, one after the other
  localparam logic [7:0] Target = 8'd5;
  localparam int unsigned StateBits = $clog2(States);
  // Words of an automaton's tables.
  localparam int unsigned Words = 256 + States * Classes + States;

  logic room, write, close, body_valid, free;
  logic [8*DataBytes-1:0] arriving, unused_body;
  logic [AddressBits-1:0] place;
  logic access_read;
  logic [AddressBits-1:0] access_address;
  logic [8*DataBytes-1:0] access_data;
  wl_body_buffer #(
      .DataBytes(DataBytes), .Beats(Beats), .Packets(8), .HasAccess(1'b1), .Ahead(Ahead)
  ) i_body (
      .clk_i, .rst_i,
      .ready_o(room), .write_i(write), .data_i(arriving), .close_i(close), .place_o(place),
      .access_read_i(access_read), .access_address_i(access_address), .access_data_o(access_data),
      .access_write_i(1'b0), .access_write_address_i('0), .access_write_data_i('0),
      .body_valid_o(body_valid), .read_i(1'b0), .read_data_o(unused_body), .rewind_i(1'b0),
      .free_i(free)
  );

  logic valid, ready, reply_valid;
  logic [2:0] tag, reply_tag;
  logic [AddressBits+47:0] request;
  logic [16+ValueBits:0] reply, expected;
  logic ctl_valid, ctl_write, ctl_done;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_data, ctl_answer;
  wl_body_match #(
      .DataBytes(DataBytes), .AddressBits(AddressBits), .TagBits(3), .Ahead(Ahead),
      .ValueBits(ValueBits), .States(States),
      .Classes(Classes), .CtlBits(CtlBits), .CtlTarget(Target)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i(request),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply),
      .access_read_o(access_read), .access_address_o(access_address), .access_data_i(access_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address), .ctl_data_i(ctl_data),
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_answer)
  );

  // Automaton a in closed form (0: nothing written, as at power-up). One transition in eight ends
  // the search, one in four leads to a match.
  function automatic int unsigned octet_class(int unsigned a, int unsigned octet);
    return a == 0 ? 0 : tb_pkg::mix(a * 1000 + octet) % Classes;
  endfunction
  function automatic logic [StateBits:0] next(int unsigned a, int unsigned state, int unsigned c);
    int unsigned random;
    random = tb_pkg::mix(a * 77777 + state * 300 + c);
    if (a == 0 || state == 0 || random % 8 == 0) return '0;
    return {random[8:7] == 2'd0, StateBits'(1 + (random >> 10) % (States - 1))};
  endfunction
  function automatic logic [15+ValueBits:0] match(int unsigned a, int unsigned state);
    return a == 0 ? '0
        : {16'(1 + tb_pkg::mix(a * 99 + state) % 5), ValueBits'(tb_pkg::mix(a * 55 + state))};
  endfunction

  // Packet n has bytes(n) bytes.
  function automatic int unsigned bytes(int unsigned n);
    return n % 5 == 0 ? tb_pkg::mix(n) % DataBytes : tb_pkg::mix(n) % (20 * DataBytes);
  endfunction
  function automatic logic [7:0] content(int unsigned n, int unsigned at);
    return tb_pkg::octet(1, n, at);
  endfunction

  // Packets arrive while there is room, and the oldest is freed after its requests.
  int unsigned closed, freed, beat, asked;
  logic [AddressBits-1:0] places[8];
  logic willing, waits;
  int unsigned beats;
  assign beats = (bytes(closed) + DataBytes - 1) / DataBytes;
  assign write = willing && room && beat < beats;
  assign close = willing && room && beat + 1 >= beats;
  always_comb begin
    for (int unsigned i = 0; i < DataBytes; i++) begin
      arriving[8*i+:8] = content(closed, beat * DataBytes + i);
    end
  end
  int unsigned turn;
  assign free = body_valid && asked == Each && !valid && !waits;
  assign done_o = freed == Packets && turn == Turns;

  // The control plane writes the automaton that is not selected, reads parts of it back, and
  // selects it.
  int unsigned word, other;
  logic reading;
  assign other = 32'(turn % 2 == 0);
  always_comb begin
    int unsigned a;
    a = turn + 1;
    ctl_write = !reading;
    if (word < 256) begin
      ctl_target = Target;
      ctl_address = other * 256 + word;
      ctl_data = CtlBits'(octet_class(a, word));
    end else if (word < 256 + States * Classes) begin
      ctl_target = Target + 8'd1;
      ctl_address = other * States * Classes + word - 256;
      ctl_data = CtlBits'(next(a, (word - 256) / Classes, (word - 256) % Classes));
    end else if (word < Words) begin
      ctl_target = Target + 8'd2;
      ctl_address = other * States + word - 256 - States * Classes;
      ctl_data = CtlBits'(match(a, word - 256 - States * Classes));
    end else begin
      ctl_target = Target + 8'd3;
      ctl_address = '0;
      ctl_data = CtlBits'(other);
    end
  end

  // The automata that a request may use: the one that was selected when it began, or the next one
  // if the selection changes meanwhile.
  int unsigned cycle, most, meant;
  logic [16+ValueBits:0] also;
  int unsigned range_from, range_length, range_limit;
  function automatic logic [16+ValueBits:0] search(int unsigned a, int unsigned n,
      int unsigned from, int unsigned length, int unsigned limit);
    int unsigned state;
    logic [16+ValueBits:0] found;
    state = 1;
    found = '0;
    for (int unsigned k = from; k < from + length && k < limit && state != 0; k++) begin
      logic [StateBits:0] step;
      step = next(a, state, octet_class(a, 32'(content(n, k))));
      state = 32'(step[StateBits-1:0]);
      if (step[StateBits]) begin
        logic [15+ValueBits:0] hit;
        hit = match(a, state);
        found = {1'b1, 16'(k + 1) - hit[ValueBits+:16], hit[ValueBits-1:0]};
      end
    end
    return found;
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {willing, valid, waits, ctl_valid, reading} <= '0;
      closed <= 0;
      freed <= 0;
      beat <= 0;
      asked <= 0;
      cycle <= 0;
      turn <= 0;
      word <= 0;
    end else if (!done_o) begin
      willing <= closed + 32'(close) < Packets && closed + 32'(close) - freed < 7
          && tb_pkg::chance(200);
      if (write) beat <= beat + 1;
      if (close) begin
        places[closed%8] <= place;
        closed <= closed + 1;
        beat <= 0;
      end
      if (free) begin
        freed <= freed + 1;
        asked <= 0;
      end
      // No request is under way when an automaton that it may use is rewritten: the control plane
      // waits for that, as its contract requires.
      if (!ctl_valid && turn < Turns && (word != 0 || (!valid && !waits))
          && tb_pkg::chance(230)) begin
        ctl_valid <= 1'b1;
      end
      if (ctl_done) begin
        if (!ctl_valid) $fatal(1, "%m: an answer that nobody waits for");
        ctl_valid <= 1'b0;
        if (reading && ctl_answer !== ctl_data) begin
          $fatal(1, "%m: word %0d is read as %h, not %h", word, ctl_answer, ctl_data);
        end
        reading <= !reading && word % 7 == 0;
        if (reading || word % 7 != 0) begin
          word <= word == Words ? 0 : word + 1;
          if (word == Words) turn <= turn + 1;
        end
      end
      cycle <= cycle + 1;
      if (valid && ready) begin
        valid <= 1'b0;
        waits <= 1'b1;
        cycle <= 0;
      end
      if (reply_valid) begin
        if (!waits || reply_tag !== tag) $fatal(1, "%m: a reply that nobody waits for");
        if (reply !== expected && reply !== also) begin
          $fatal(1, "%m: request %0d of packet %0d: %h, not %h", asked, freed, reply, expected);
        end
        if (cycle > most) $fatal(1, "%m: it took %0d cycles, not %0d", cycle, most);
        waits <= 1'b0;
      end
      if (closed > freed && asked < Each && !valid && !waits && !(word == 0 && ctl_valid)
          && tb_pkg::chance(200)) begin
        int unsigned limit;
        int unsigned from;
        int unsigned length;
        limit = bytes(freed);
        from = $urandom() % (limit + 3);
        length = $urandom() % (limit + 3);
        if (tb_pkg::chance(60)) from = 0;
        if (tb_pkg::chance(10)) from = 65535;
        if (tb_pkg::chance(60)) length = 65535;
        if (tb_pkg::chance(30)) length = 0;
        if (tb_pkg::chance(30)) limit = limit / 2;
        expected <= search(turn, freed, from, length, limit);
        also <= search(word == Words ? turn + 1 : turn, freed, from, length, limit);
        most <= bytes(freed) + bytes(freed) / DataBytes + 2 + 9;
        valid <= 1'b1;
        tag <= 3'(asked);
        request <= {places[freed%8], 16'(from), 16'(length), 16'(limit)};
        asked <= asked + 1;
      end
    end
  end
endmodule
