// The rule of AXI4-Stream for one stream: an offer stays, with the same payload, until it is taken.
// Assumed of a stream that enters, asserted of one that leaves.
module stream_rule #(
    parameter int unsigned Width = 1,
    parameter bit Enters = 1'b0
) (
    input logic clk_i,
    input logic rst_i,
    input logic valid_i,
    input logic ready_i,
    input logic [Width-1:0] payload_i
);
  logic stalled;
  logic [Width-1:0] was;
  initial stalled = 1'b0;
  always_ff @(posedge clk_i) begin
    stalled <= !rst_i && valid_i && !ready_i;
    was <= payload_i;
    if (!rst_i && stalled) begin
      if (Enters) Held_M : assume (valid_i && payload_i == was);
      else Held_A : assert (valid_i && payload_i == was);
    end
  end
endmodule
