// Multiplexer with a binary select.
//
// The select is binary, because a 6-LUT holds a four-way multiplexer with a binary select, but only
// three terms of an AND-OR with a one-hot select. The binary form takes two LUTs a bit for six
// inputs, three for eight, when the select comes from registers; when it comes from an arbiter in
// the same cycle, synthesis for speed takes up to half as much again.
//
// Parameters
//   Inputs   words to choose from; 1 is a wire
//   Width    bits of a word
module wl_select #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned Width = 8,
    localparam int unsigned IndexBits = wl_pkg::bits(Inputs)
) (
    input  logic [IndexBits-1:0]            index_i,  // below Inputs
    input  logic [   Inputs-1:0][Width-1:0] data_i,
    output logic [    Width-1:0]            data_o
);

  if (Inputs < 1 || Width < 1) begin : g_illegal
    $fatal(1, "wl_select: Inputs and Width must be 1 or more");
  end

  // First stage: four-way multiplexers; second stage: the choice among their outputs.
  localparam int unsigned Groups = (Inputs + 3) / 4;
  logic [Groups-1:0][Width-1:0] chosen;
  for (genvar group = 0; group < Groups; group++) begin : g_group
    localparam int unsigned First = 4 * group;
    localparam int unsigned Members = Inputs - First < 4 ? Inputs - First : 4;
    always_comb begin
      chosen[group] = data_i[First+Members-1];
      for (int unsigned i = 0; i + 1 < Members; i++) begin
        if (Members == 2 ? !index_i[0] : 2'(index_i) == 2'(i)) begin
          chosen[group] = data_i[First+i];
        end
      end
    end
  end

  if (Groups <= 1) begin : g_one  // zero groups are illegal, and must not recurse without end
    assign data_o = chosen;
  end else begin : g_more
    wl_select #(
        .Inputs(Groups),
        .Width (Width)
    ) i_group (
        .index_i(index_i[IndexBits-1:2]),
        .data_i (chosen),
        .data_o
    );
  end

`ifdef FORMAL
  always_comb begin
    Choice_A : assert final (32'(index_i) >= Inputs || data_o == data_i[32'(index_i)]);
  end
`endif

endmodule
