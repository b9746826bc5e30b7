// Proof of wl_random, for any requests: each is answered once, with its tag, after the promised
// cycles, and none is accepted meanwhile. The test bench compares the values with SplitMix64.
// Unbounded, by induction.
module wl_random_proof #(
    parameter int unsigned Digit = 8
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic [1:0] request_tag_i,
    input logic [95:0] request_data_i
);
  localparam int unsigned Cycles = 6 * 64 / Digit + 1;

  logic request_ready, reply_valid;
  logic [1:0] reply_tag;
  logic [31:0] reply_data;
  wl_random #(.Seed(64'd1), .Digit(Digit), .TagBits(2)) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i, .request_data_i,
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data)
  );

  logic due;         // a request is under way
  logic [9:0] since;  // cycles since it was accepted
  logic [1:0] tag;
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started || rst_i);
    if (rst_i) begin
      due <= 1'b0;
    end else begin
      since <= since + 1'b1;
      if (request_valid_i && request_ready) begin
        due <= 1'b1;
        since <= 10'd1;
        tag <= request_tag_i;
      end else if (reply_valid) begin
        due <= 1'b0;
      end

      Reply_A : assert (reply_valid == (due && 32'(since) == Cycles));
      Tag_A : assert (!reply_valid || reply_tag == tag);
      Alone_A : assert (request_ready == (!due || reply_valid));
      // Invariants for the induction: the progress of the products.
      Busy_A : assert (i_dut.busy == (due && 32'(since) < Cycles));
      Count_A : assert (!i_dut.busy
          || 32'(since) == 32'(i_dut.product) * (64 / Digit) + 32'(i_dut.count) + 1);
      Digits_A : assert (!i_dut.busy
          || (32'(i_dut.count) < 64 / Digit && i_dut.product < 3'd6 && reply_tag == tag));
    end
  end
endmodule
