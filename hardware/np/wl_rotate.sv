// Rotates a beat by bytes: byte i goes to position (i + turn) mod Bytes.
//
// Timing: combinational, one LUT level for every two bits of the turn: a four-way multiplexer is a
// 6-LUT. Cost: 8 * Bytes LUTs a level. The turn comes twice, from two sets of registers; the second
// one is complemented, so that synthesis does not merge them. Where one four-way multiplexer
// chooses between the pairs (a, b) and (c, d), another one chooses between (c, d) and (e, f): if
// the same signal selected from (c, d) in both, synthesis would share this selection, and need
// twice the LUTs in twice the levels.
//
// Parameters
//   Bytes      bytes of a beat, a power of two
//   TurnBits   bits of the turn: fewer if it is always small
module wl_rotate #(
    parameter int unsigned Bytes = 64,
    parameter int unsigned TurnBits = wl_pkg::bits(Bytes)
) (
    input  logic [   8*Bytes-1:0] data_i,
    input  logic [2*TurnBits-1:0] turn_i,  // {complement of the turn, turn}
    output logic [   8*Bytes-1:0] data_o
);

  if (Bytes < 2 || 2 ** $clog2(Bytes) != Bytes) begin : g_illegal
    $fatal(1, "wl_rotate: Bytes must be a power of two from 2 on");
  end
  if (TurnBits < 1 || TurnBits > wl_pkg::bits(Bytes)) begin : g_illegal_turn
    $fatal(1, "wl_rotate: TurnBits must be 1 to the bits of a position");
  end

  localparam int unsigned Levels = (TurnBits + 1) / 2;
  logic [1:0][2*Levels-1:0] turn;
  assign turn[0] = (2 * Levels)'(turn_i[TurnBits-1:0]);
  assign turn[1] = (2 * Levels)'(~turn_i[2*TurnBits-1:TurnBits]);

  for (genvar level = 0; level < Levels; level++) begin : g_level
    localparam int unsigned Step = 4 ** level;
    logic [8*Bytes-1:0] from, data;
    if (level == 0) begin : g_first
      assign from = data_i;
    end else begin : g_behind
      assign from = g_level[level-1].data;
    end
    for (genvar i = 0; i < Bytes; i++) begin : g_byte
      // Byte i comes from the byte 0, 1, 2 or 3 steps before it.
      logic [3:0][7:0] choice;
      for (genvar k = 0; k < 4; k++) begin : g_choice
        localparam int unsigned From = (i + 4 * Bytes - k * Step) % Bytes;
        assign choice[k] = from[8*From+:8];
      end
      assign data[8*i+:8] = choice[turn[(i/(2*Step))%2][2*level+:2]];
    end
  end
  assign data_o = g_level[Levels-1].data;

`ifdef FORMAL
  // Holds if both turns are equal; after power-up they may differ.
  always_comb begin
    Turned_A :
    assert final (turn_i[2*TurnBits-1:TurnBits] != ~turn_i[TurnBits-1:0]
            || data_o
                == (8 * Bytes)'(({data_i, data_i} << {turn_i[TurnBits-1:0], 3'b0}) >> 8 * Bytes));
  end
`endif

endmodule
