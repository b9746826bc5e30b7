// The mark at the end of a packet of the embedded test rig: its number, and the scrambled number.
// Combinational.
module wl_rig_mark (
    input  logic [31:0] number_i,
    output logic [63:0] mark_o     // number first
);
  assign mark_o = {number_i,
      number_i ^ {number_i[18:0], number_i[31:19]} ^ {number_i[6:0], number_i[31:7]}
      ^ 32'h5ca1ab1e};
endmodule
