// Multiplexer by a one-hot choice. With nothing chosen the output means nothing.
//
// The choice is encoded first, because a 6-LUT holds a four-way multiplexer with an encoded choice but only three terms of
// an AND-OR with a one-hot one: for Width bits that saves a third of the LUTs, for one or two levels of logic.
//
// Parameters
//   Inputs   words to choose from; 1 is a wire
//   Width    bits of a word
module wl_select #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned Width = 8
) (
    input  logic [      Inputs-1:0] grant_i,
    input  logic [Inputs*Width-1:0] data_i,
    output logic [       Width-1:0] data_o
);

  if (Inputs < 1) begin : g_illegal_inputs
    $fatal(1, "wl_select: Inputs must be 1 or more");
  end
  if (Width < 1) begin : g_illegal_width
    $fatal(1, "wl_select: Width must be 1 or more");
  end

  if (Inputs == 1) begin : g_wire
    logic unused;
    assign unused = grant_i[0];
    assign data_o = data_i;
  end else begin : g_select
    localparam int unsigned IndexBits = wl_pkg::bits(Inputs);
    logic [IndexBits-1:0] index;
    wl_encode #(
        .Inputs(Inputs)
    ) i_encode (
        .one_hot_i(grant_i),
        .index_o  (index)
    );

    for (genvar bit_ = 0; bit_ < Width; bit_++) begin : g_bit
      logic [2**IndexBits-1:0] column;
      for (genvar i = 0; i < 2 ** IndexBits; i++) begin : g_input
        // Numbers that name no input repeat the last: a choice that costs nothing.
        assign column[i] = data_i[(i<Inputs?i : Inputs-1)*Width+bit_];
      end
      assign data_o[bit_] = column[index];
    end

    logic unused;
    assign unused = grant_i[0];
  end

endmodule
