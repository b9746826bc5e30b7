// Test bench of wl_bloom: keys that were added are found, and the reply for other keys is that of a
// model of the filter, each after the promised cycles; the control plane reads, sets and replaces
// words meanwhile; over key widths, sizes, numbers of hashes and methods. The model computes its
// CRCs in the other direction: most significant bit first, from the polynomials as the standards
// print them.
module wl_bloom_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] KeyBits = {32'd13, 32'd1, 32'd104, 32'd32, 32'd48};
  localparam bit [Cases*32-1:0] Size = {32'd1, 32'd33, 32'd1000, 32'd256, 32'd100};
  localparam bit [Cases*32-1:0] Hashes = {32'd16, 32'd1, 32'd5, 32'd4, 32'd3};
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 5'b10100;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    bloom_case #(.KeyBits(KeyBits[32*i+:32]), .Size(Size[32*i+:32]), .Hashes(Hashes[32*i+:32]))
        i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module bloom_case #(
    parameter int unsigned KeyBits = 32,
    parameter int unsigned Size = 256,
    parameter int unsigned Hashes = 4
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Requests = 1500;
  localparam int unsigned Bytes = (KeyBits + 7) / 8;
  localparam int unsigned Words = (Size + 31) / 32;

  logic valid, ready, reply_valid, reply;
  logic [4:0] tag, reply_tag;
  logic is_test;
  logic [KeyBits-1:0] key;
  logic ctl_valid, ctl_write, ctl_done;
  logic [31:0] ctl_address;
  logic [39:0] ctl_data, ctl_reply;

  // Method 0 of the requests is `test`, method 1 `add`.
  wl_bloom #(
      .KeyBits(KeyBits), .Size(Size), .Hashes(Hashes), .MethodCount(2), .Methods(2'b01),
      .TagBits(5), .CtlBits(40), .CtlTarget(8'd7)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i({!is_test, key}),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(8'd7),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_data), .ctl_done_o(ctl_done), .ctl_data_o(ctl_reply)
  );

  function automatic logic [31:0] crc(logic [31:0] polynomial, logic [KeyBits-1:0] data);
    logic [8*Bytes-1:0] padded;
    logic [31:0] rest;
    padded = (8 * Bytes)'(data);
    rest = '1;
    for (int k = int'(Bytes) - 1; k >= 0; k--)
      for (int j = 0; j < 8; j++)
        rest = (rest << 1) ^ (rest[31] ^ padded[8*k+j] ? polynomial : 32'd0);
    for (int j = 0; j < 32; j++) crc[j] = !rest[31-j];
  endfunction

  function automatic int unsigned bit_of(logic [KeyBits-1:0] data, int unsigned number);
    logic [31:0] hash;
    hash = crc(32'h04c11db7, data) + 32'(number) * (crc(32'h1edc6f41, data) | 32'd1);
    bit_of = 32'((64'(hash) * 64'(Size)) >> 32);
  endfunction

  logic [32*Words-1:0] model;
  int unsigned requests, cycle, accesses, waited;
  logic waits, expected;
  logic [4:0] expected_tag;
  assign done_o = requests == Requests && !waits && !valid && accesses >= 100;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {valid, waits, requests, cycle, accesses, ctl_valid, waited} <= '0;
      model = '0;
    end else if (!done_o) begin
      cycle <= cycle + 1;
      if (ctl_done) begin
        logic in_range;
        logic [31:0] at;
        at = 32'(ctl_address[30:0]);
        in_range = at < 32'(Words);
        if (!ctl_valid || ctl_reply !== (in_range ? 40'(model[32*at+:32]) : '0)) begin
          $fatal(1, "%m: word %h", ctl_reply);
        end
        if (ctl_write && in_range) begin
          model[32*at+:32] = (ctl_address[31] ? '0 : model[32*at+:32]) | ctl_data[31:0];
        end
        accesses <= accesses + 1;
        ctl_valid <= 1'b0;
      end else if (ctl_reply !== '0) begin
        $fatal(1, "%m: the control bus is driven");
      end
      if (reply_valid) begin
        if (!waits || reply !== expected || reply_tag !== expected_tag) begin
          $fatal(1, "%m: %b, not %b", reply, expected);
        end
        if (cycle !== 3 * Hashes + 2) $fatal(1, "%m: it took %0d cycles", cycle);
        waits <= 1'b0;
      end
      if (valid && ready) begin
        logic all_set;
        if (waits && !reply_valid) $fatal(1, "%m: a request is taken while another waits");
        all_set = 1'b1;
        for (int unsigned k = 0; k < Hashes; k++) all_set &= model[bit_of(key, k)];
        for (int unsigned k = 0; k < Hashes; k++) begin
          if (!is_test) model[bit_of(key, k)] = 1'b1;
        end
        expected <= is_test && all_set;
        expected_tag <= tag;
        valid <= 1'b0;
        waits <= 1'b1;
        cycle <= 1;
        waited <= 0;
      end else if (!valid && requests < Requests && tb_pkg::chance(150)) begin
        valid <= 1'b1;
        requests <= requests + 1;
        tag <= 5'($urandom());
        is_test <= tb_pkg::chance(200);
        key <= KeyBits'({32'($urandom() % 20), 32'd0, 32'($urandom() % 3), 32'd77})
            ^ KeyBits'($urandom() % 20);
      end else if (valid) begin
        waited <= waited + 1;
        if (waited > 3 * Hashes + 8) $fatal(1, "%m: a request is not taken");
      end
      if ((!ctl_valid || ctl_done) && tb_pkg::chance(40)) begin
        ctl_valid <= 1'b1;
        ctl_write <= tb_pkg::chance(64);
        ctl_address <= {tb_pkg::chance(64), 31'($urandom() % (Words + 2))};
        ctl_data <= {8'hff, 32'd1 << ($urandom() % 32)};
      end
    end
  end
endmodule
