// Turns a beat round by bytes: byte i goes to place (i + turn) mod Bytes.
//
// Timing: combinational, one LUT level for each two bits of `turn_i`: a four-way multiplexer is a 6-LUT. Cost: 8 * Bytes LUTs a level.
//
// Parameters
//   Bytes   bytes of a beat, a power of two
module wl_rotate #(
    parameter int unsigned Bytes = 64,
    localparam int unsigned TurnBits = wl_pkg::bits(Bytes)
) (
    input  logic [ 8*Bytes-1:0] data_i,
    input  logic [TurnBits-1:0] turn_i,
    output logic [ 8*Bytes-1:0] data_o
);

  if (Bytes < 2 || 2 ** $clog2(Bytes) != Bytes) begin : g_illegal
    $fatal(1, "wl_rotate: Bytes must be a power of two from 2 on");
  end

  localparam int unsigned Levels = (TurnBits + 1) / 2;
  logic [2*Levels-1:0] turn;
  assign turn = (2 * Levels)'(turn_i);

  // Synthesis would look through the levels and share badly: `keep` holds it to four-way multiplexers.
  for (genvar level = 0; level < Levels; level++) begin : g_level
    (* keep *) logic [8*Bytes-1:0] data;
    logic [8*Bytes-1:0] above;
    if (level == 0) begin : g_first
      assign above = data_i;
    end else begin : g_behind
      assign above = g_level[level-1].data;
    end
    for (genvar i = 0; i < Bytes; i++) begin : g_byte
      // Place i takes what stands 0, 1, 2 or 3 steps before it.
      localparam int unsigned Step = 4 ** level;
      logic [3:0][7:0] choice;
      for (genvar k = 0; k < 4; k++) begin : g_choice
        localparam int unsigned From = (i + 4 * Bytes - k * Step) % Bytes;
        assign choice[k] = above[8*From+:8];
      end
      assign data[8*i+:8] = choice[turn[2*level+:2]];
    end
  end
  assign data_o = g_level[Levels-1].data;

endmodule
