// Test bench of wl_random: each reply has the number that SplitMix64 gives, and its tag, over seeds
// and digits.
module wl_random_tb;
  localparam int unsigned Cases = 4;
  localparam bit [Cases*32-1:0] Digit = {32'd1, 32'd8, 32'd16, 32'd64};
  localparam bit [Cases*64-1:0] Seed =
      {64'd1, 64'd42, 64'hffff_ffff_ffff_ffff, 64'h1234_5678_9abc_def0};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    random_case #(
        .Digit(Digit[32*i+:32]), .Seed(Seed[64*i+:64])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module random_case #(
    parameter int unsigned Digit = 8,
    parameter logic [63:0] Seed = 64'd1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Requests = 150;
  logic valid, ready, reply_valid;
  logic [4:0] tag, reply_tag;
  logic [31:0] stream, reply;
  logic [63:0] number;

  wl_random #(.Seed(Seed), .Digit(Digit), .TagBits(5)) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i({stream, number}),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply)
  );

  function automatic logic [63:0] splitmix(logic [63:0] seed, logic [63:0] index);
    splitmix = seed + 64'h9e3779b97f4a7c15 * (index + 64'd1);
    splitmix = (splitmix ^ (splitmix >> 30)) * 64'hbf58476d1ce4e5b9;
    splitmix = (splitmix ^ (splitmix >> 27)) * 64'h94d049bb133111eb;
    splitmix = splitmix ^ (splitmix >> 31);
  endfunction

  int unsigned requests, cycle;
  logic [31:0] expected;
  logic [63:0] outer, inner;
  assign outer = splitmix(Seed, number);
  assign inner = splitmix(outer, 64'(stream));
  logic [4:0] expected_tag;
  logic waits;
  assign done_o = requests == Requests && !waits;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {valid, waits, requests, cycle} <= '0;
    end else if (!done_o) begin
      cycle <= cycle + 1;
      if (reply_valid) begin
        if (!waits || reply !== expected || reply_tag !== expected_tag) begin
          $fatal(1, "%m: %h, not %h", reply, expected);
        end
        if (cycle > 6 * 64 / Digit + 2) $fatal(1, "%m: it took %0d cycles", cycle);
        waits <= 1'b0;
      end
      if (valid && ready) begin
        valid <= 1'b0;
        expected <= inner[63:32];
        expected_tag <= tag;
        if (waits && !reply_valid) $fatal(1, "%m: a request is taken while another waits");
        waits <= 1'b1;
        cycle <= 0;
      end else if (!valid && requests < Requests && tb_pkg::chance(100)) begin
        valid <= 1'b1;
        requests <= requests + 1;
        tag <= 5'($urandom());
        stream <= tb_pkg::chance(128) ? $urandom() : $urandom() % 3;
        number <= tb_pkg::chance(200) ? 64'($urandom()) : {$urandom(), $urandom()};
      end
      if (waits && cycle > 1000) $fatal(1, "%m: no reply");
    end
  end
endmodule
