// Adds field by field: each field of the two words is added separately and wraps at its own width.
//
// Timing: combinational, one carry chain a field.
//
// Parameters
//   Width   bits of a word
//   Cuts    bit k is 1 where a field begins; a field begins at bit 0 in any case
module wl_field_add #(
    parameter int unsigned Width = 32,
    parameter logic [Width-1:0] Cuts = '0
) (
    input  logic [Width-1:0] a_i,
    input  logic [Width-1:0] b_i,
    output logic [Width-1:0] sum_o
);
  if (Width < 1) begin : g_illegal
    $fatal(1, "wl_field_add: Width must be at least one bit");
  end

  // Returns the width of the field that begins at bit `from`.
  function automatic int unsigned field(int unsigned from);
    for (int unsigned k = from + 1; k < Width; k++) if (Cuts[k]) return k - from;
    return Width - from;
  endfunction

  for (genvar k = 0; k < Width; k++) begin : g_bit
    if (k == 0 || Cuts[k]) begin : g_field
      localparam int unsigned Bits = field(k);
      assign sum_o[k+:Bits] = a_i[k+:Bits] + b_i[k+:Bits];
    end
  end
endmodule
