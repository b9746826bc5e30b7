`include "wl_reset.svh"

// Delay line: each input word appears at the output a fixed number of cycles later. It never
// stalls.
//
// Without reset it maps to shift registers in LUTs (SRL). Use it without reset for data, and with
// reset for valid bits.
//
// Parameters
//   Width    bits of a word
//   Cycles   delay in cycles; 0 is a wire
//   Reset    1: reset puts zeros into every stage
module wl_delay #(
    parameter int unsigned Width = 8,
    parameter int unsigned Cycles = 1,
    parameter bit Reset = 1'b0
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic [Width-1:0] data_i,
    output logic [Width-1:0] data_o
);

  if (Width < 1) begin : g_illegal
    $fatal(1, "wl_delay: Width must be 1 or more");
  end

  if (Cycles == 0) begin : g_wire
    logic unused;
    assign unused = &{clk_i, rst_i};
    assign data_o = data_i;
  end else begin : g_line
    // The newest word is word 0.
    logic [Cycles-1:0][Width-1:0] line;
    logic [Cycles:0][Width-1:0] next;
    assign next = {line, data_i};
    assign data_o = line[Cycles-1];

    if (Reset) begin : g_reset
      always_ff @(`WL_EDGES(clk_i, rst_i)) begin
        if (rst_i) line <= '0;
        else line <= next[Cycles-1:0];
      end

`ifdef FORMAL
      logic was_reset;
      always_ff @(posedge clk_i) begin
        was_reset <= rst_i;
        if (!rst_i) Empty_A : assert (!was_reset || line == '0);
      end
`endif
    end else begin : g_plain
      always_ff @(posedge clk_i) line <= next[Cycles-1:0];
    end

    logic unused;
    assign unused = &{rst_i, next[Cycles]};
  end

endmodule
