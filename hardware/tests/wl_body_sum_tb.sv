// Test bench of wl_body_sum with wl_body_buffer: each sum equals that of a loop over the bytes, for
// any range: even, odd, empty, outside, beginning before the body or ending after it; bodies come
// and go meanwhile, and the replies come within the promised time.
module wl_body_sum_tb;
  localparam int unsigned Cases = 2;
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  body_sum_case #(.DataBytes(64)) i_wide (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  body_sum_case #(.DataBytes(8)) i_narrow (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
endmodule

module body_sum_case #(
    parameter int unsigned DataBytes = 64
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Beats = 64;
  localparam int unsigned AddressBits = 6;
  localparam int unsigned Packets = 60;
  localparam int unsigned Each = 20;  // requests for each body

  logic room, write, close, body_valid, free;
  logic [8*DataBytes-1:0] arriving, unused_body;
  logic [AddressBits-1:0] place;
  logic access_read;
  logic [AddressBits-1:0] access_address;
  logic [8*DataBytes-1:0] access_data;
  wl_body_buffer #(.DataBytes(DataBytes), .Beats(Beats), .Packets(8), .HasAccess(1'b1)) i_body (
      .clk_i, .rst_i,
      .ready_o(room), .write_i(write), .data_i(arriving), .close_i(close), .place_o(place),
      .access_read_i(access_read), .access_address_i(access_address), .access_data_o(access_data),
      .access_write_i(1'b0), .access_write_address_i('0), .access_write_data_i('0),
      .body_valid_o(body_valid), .read_i(1'b0), .read_data_o(unused_body), .rewind_i(1'b0),
      .free_i(free)
  );

  logic valid, ready, reply_valid;
  logic [2:0] tag, reply_tag;
  logic [AddressBits+64:0] request;
  logic [15:0] reply;
  wl_body_sum #(.DataBytes(DataBytes), .AddressBits(AddressBits), .TagBits(3)) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i(request),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply),
      .access_read_o(access_read), .access_address_o(access_address), .access_data_i(access_data)
  );

  // Packet n has bytes(n) bytes; some are all zeros or all ones, where sums are zero or wrap.
  function automatic int unsigned bytes(int unsigned n);
    return n % 5 == 0 ? 0 : tb_pkg::mix(n) % (20 * DataBytes);
  endfunction
  function automatic logic [7:0] content(int unsigned n, int unsigned at);
    return n % 7 == 1 ? 8'h00 : n % 7 == 2 ? 8'hff : tb_pkg::octet(1, n, at);
  endfunction

  // Bodies arrive while there is room, and the oldest is freed after its requests.
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
  assign free = body_valid && asked == Each && !valid && !waits;
  assign done_o = freed == Packets;

  int unsigned cycle, most;
  logic [15:0] expected;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {willing, valid, waits} <= '0;
      closed <= 0;
      freed <= 0;
      beat <= 0;
      asked <= 0;
      cycle <= 0;
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
      cycle <= cycle + 1;
      if (valid && ready) begin
        valid <= 1'b0;
        waits <= 1'b1;
        cycle <= 0;
      end
      if (reply_valid) begin
        if (!waits || reply_tag !== tag) $fatal(1, "%m: a reply that nobody waits for");
        if (reply !== expected) begin
          $fatal(1, "%m: request %0d of packet %0d: %h, not %h", asked, freed, reply, expected);
        end
        if (cycle > most) $fatal(1, "%m: it took %0d cycles, not %0d", cycle, most);
        waits <= 1'b0;
      end
      if (closed > freed && asked < Each && !valid && !waits && tb_pkg::chance(200)) begin
        int unsigned limit;
        int begins;
        int unsigned length;
        logic [15:0] initial_sum;
        int unsigned sum;
        limit = bytes(freed);
        begins = int'($urandom() % (limit + 3));
        length = $urandom() % (limit + 3);
        initial_sum = 16'($urandom());
        if (tb_pkg::chance(30)) begins = 0;
        if (tb_pkg::chance(30)) begins = -int'($urandom() % 300);
        if (tb_pkg::chance(10)) begins = 65535;
        if (tb_pkg::chance(30)) length = 65535;
        if (tb_pkg::chance(30)) length = 0;
        if (tb_pkg::chance(60)) initial_sum = tb_pkg::chance(128) ? 16'h0 : 16'hffff;
        if (tb_pkg::chance(30)) limit = limit / 2;
        sum = 32'(initial_sum);
        for (int unsigned k = 0; k < length && k < 4096; k++) begin
          int at;
          at = begins + int'(k);
          if (at >= 0 && at < int'(limit)) sum += 32'(content(freed, at)) << (k % 2 == 0 ? 8 : 0);
        end
        sum = sum[15:0] + sum[31:16];
        sum = sum[15:0] + sum[31:16];
        expected <= sum[15:0];
        most <= bytes(freed) / DataBytes + 2 + 8;
        valid <= 1'b1;
        tag <= 3'(asked);
        request <= {places[freed%8], 17'(begins), 16'(length), 16'(limit), initial_sum};
        asked <= asked + 1;
      end
    end
  end
endmodule
