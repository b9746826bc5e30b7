// Encodes a one-hot word as the number of its bit; no bit gives 0.
//
// Parameters
//   Inputs   bits; with 1 the number is always 0
module wl_encode #(
    parameter int unsigned Inputs = 2,
    localparam int unsigned IndexBits = wl_pkg::bits(Inputs)
) (
    input  logic [   Inputs-1:0] one_hot_i,
    output logic [IndexBits-1:0] index_o
);

  if (Inputs < 1) begin : g_illegal
    $fatal(1, "wl_encode: Inputs must be 1 or more");
  end

  always_comb begin
    index_o = '0;
    for (int unsigned i = 0; i < Inputs; i++) begin
      index_o |= {IndexBits{one_hot_i[i]}} & IndexBits'(i);
    end
  end

`ifdef FORMAL
  always_comb begin
    Number_A : assert final (!$onehot(one_hot_i) || one_hot_i == Inputs'(1) << index_o);
    None_A : assert final (one_hot_i != '0 || index_o == '0);
  end
`endif

endmodule
