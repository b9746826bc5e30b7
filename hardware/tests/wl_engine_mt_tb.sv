// Test bench of wl_engine_mt: a matrix of its parameters, each under idle cycles and back-pressure;
// see tb_engine.
module wl_engine_mt_tb;
  localparam int unsigned Cases = 18;
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 18'b01_0100_0101_0001_0000;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif
  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  // The clock of a case stops when it is done and has checked its sums: the one that measures for
  // longer would otherwise keep all of them going.
  logic [Cases-1:0] checked = '0, over = '0;
  always_ff @(posedge clk) checked <= done;
  always_ff @(negedge clk) over <= checked;
`define CASE(n) i_case_``n (.clk_i(clk & ~over[n]), .rst_i(rst), .done_o(done[n]))

  // Threads and schedulers.
  if (Chosen[0])
    tb_engine #(.Threads(1)) `CASE(0);
  if (Chosen[1])
    tb_engine #(.Threads(2), .CoreStages(1)) `CASE(1);
  if (Chosen[2])
    tb_engine #(.Threads(3), .Scheduler(0)) `CASE(2);
  if (Chosen[3])
    tb_engine #(.Threads(8), .Offloads(3)) `CASE(3);
  if (Chosen[4])
    tb_engine #(.Threads(16), .Scheduler(0), .CoreStages(2)) `CASE(4);
  // Windows in block RAM, more ports.
  if (Chosen[5])
    tb_engine #(.Threads(4), .Storage(1)) `CASE(5);
  if (Chosen[6])
    tb_engine #(.Threads(5), .WritePorts(2), .ReadPorts(2)) `CASE(6);
  if (Chosen[7])
    tb_engine #(.Threads(1), .WritePorts(2), .Storage(1), .ReadPorts(3)) `CASE(7);
  if (Chosen[8])
    tb_engine #(.Threads(4), .WritePorts(2), .WindowStorage(1), .CoreStages(1),
        .Offloads(3)) `CASE(8);
  // Neither copies nor pushes.
  if (Chosen[9])
    tb_engine #(.Threads(4), .Emits(1'b0), .Clears(1'b0), .Offloads(1)) `CASE(9);
  // Called engines.
  if (Chosen[10])
    tb_engine #(.Threads(4), .HasPacket(1'b0), .Emits(1'b0), .Clears(1'b0)) `CASE(10);
  if (Chosen[11])
    tb_engine #(.Threads(1), .HasPacket(1'b0), .Emits(1'b0), .Clears(1'b0), .Storage(1),
        .CoreStages(1)) `CASE(11);
  // Throughput: a slot in every cycle with enough threads, while these are not loading or
  // unloading. In strict order, threads also wait for longer packets before theirs, so the share
  // varies, and is measured for longer.
  if (Chosen[12])
    tb_engine #(.Threads(8), .Calls(1'b0), .Emits(1'b0), .Clears(1'b0), .Steps(64),
        .Slots(252)) `CASE(12);
  if (Chosen[13])
    tb_engine #(.Threads(8), .Calls(1'b0), .Emits(1'b0), .Clears(1'b0), .Steps(64), .Slots(128),
        .Scheduler(0), .Storage(1), .FullSpeed(6000)) `CASE(13);
  // Words of fewer bytes.
  if (Chosen[14])
    tb_engine #(.Threads(5), .HeaderBytes(8), .WritePorts(2), .ReadPorts(2),
        .CoreStages(1)) `CASE(14);
  if (Chosen[15])
    tb_engine #(.Threads(4), .HeaderBytes(4), .ReadPorts(3), .Storage(1),
        .Patience(8000)) `CASE(15);
  // Copies of some bytes.
  if (Chosen[16])
    tb_engine #(.Threads(4), .Pieces(1'b1)) `CASE(16);
  if (Chosen[17])
    tb_engine #(.Threads(3), .Pieces(1'b1), .Storage(1), .Scheduler(0), .WritePorts(2),
        .CoreStages(1), .Holds(1'b1)) `CASE(17);
endmodule
