// Test bench of wl_engine_fsm: a matrix of its parameters, each under idle cycles and
// back-pressure; see tb_engine.
module wl_engine_fsm_tb;
  localparam int unsigned Cases = 7;
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
`define CASE(n) i_case_``n (.clk_i(clk), .rst_i(rst), .done_o(done[n]))

  tb_engine #(.Machine(1'b1), .Threads(1)) `CASE(0);
  tb_engine #(.Machine(1'b1), .Threads(1), .Storage(1), .CoreStages(2), .Offloads(3)) `CASE(1);
  tb_engine #(.Machine(1'b1), .Threads(1), .WritePorts(2), .ReadPorts(2)) `CASE(2);
  tb_engine #(.Machine(1'b1), .Threads(1), .HasPacket(1'b0), .Emits(1'b0), .Clears(1'b0)) `CASE(3);
  // Without calls and clears a slot takes five cycles, and little else happens: a slot in six
  // cycles.
  tb_engine #(.Machine(1'b1), .Threads(1), .Calls(1'b0), .Emits(1'b0), .Clears(1'b0), .Steps(64),
      .Slots(38)) `CASE(4);
  tb_engine #(.Machine(1'b1), .Threads(1), .HeaderBytes(4), .WritePorts(2)) `CASE(5);
  tb_engine #(.Machine(1'b1), .Threads(1), .Pieces(1'b1), .Holds(1'b1)) `CASE(6);
endmodule
