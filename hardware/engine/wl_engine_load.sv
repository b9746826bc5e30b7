`include "wl_reset.svh"

// Allocates the free threads of an engine and loads packets into them.
//
// Contract
//   A packet is accepted row by row while row_ready_i is high, into a thread that was free. Its
//   rows are written to the window from row 8 on, which is wl_pkg::WindowFront. end_valid_i frees a
//   thread again.
//   InTurn 1: threads are filled in the order of their numbers. InTurn 0: the free thread with the
//   lowest number is filled.
// Throughput: one row a cycle, without a gap between packets.
// Timing: `load_ready_o` is the AND of row_ready_i and a register.
module wl_engine_load #(
    parameter int unsigned Threads = 4,
    parameter bit InTurn = 1'b0,
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads),
    localparam int unsigned IdleBits = wl_pkg::bits(Threads + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic load_valid_i,
    output logic load_ready_o,
    input  logic load_first_i,
    input  logic load_last_i,

    input  logic                  row_ready_i,  // the windows accept a row
    output logic                  row_valid_o,  // a row is written
    output logic [ThreadBits-1:0] row_thread_o,
    output logic [           3:0] row_o,
    output logic                  first_o,      // a packet begins: store its information and tag
    output logic                  last_o,       // the packet is complete: the thread may run

    input logic                  end_valid_i,
    input logic [ThreadBits-1:0] end_thread_i,

    output logic                room_o,  // a thread is free for the next packet
    output logic [IdleBits-1:0] idle_o,  // threads without a packet
    output logic [ Threads-1:0] busy_o   // for statistics in simulation: the thread has a packet
);
`ifdef SYNTHESIS
  assign busy_o = '0;
`endif

  logic done, refill;
  assign load_ready_o = room_o && row_ready_i;
  assign row_valid_o = load_valid_i && room_o;
  assign first_o = load_valid_i && load_ready_o && load_first_i;
  assign last_o = load_valid_i && load_ready_o && load_last_i;
  assign done = last_o;
  assign refill = !room_o || done;

  logic [2:0] row;
  assign row_o = {1'b1, row};
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) row <= '0;
    else if (done) row <= '0;
    else if (load_valid_i && load_ready_o) row <= row + 1'b1;
  end

  if (Threads == 1) begin : g_one
    assign row_thread_o = '0;
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) room_o <= 1'b1;
      else if (end_valid_i) room_o <= 1'b1;
      else if (done) room_o <= 1'b0;
    end
`ifndef SYNTHESIS
    assign busy_o = !room_o || row != '0;
`endif
    logic unused;
    assign unused = &{end_thread_i, refill};
  end else begin : g_threads
    // The thread that loads a packet now, or will load the next one, is chosen in advance and is no
    // longer free.
    logic [Threads-1:0] free;
    logic [ThreadBits-1:0] candidate;
    logic candidate_valid;
    if (InTurn) begin : g_in_turn
      assign candidate = row_thread_o == ThreadBits'(Threads - 1) ? '0 : row_thread_o + 1'b1;
      assign candidate_valid = free[candidate];
    end else begin : g_lowest
      always_comb begin
        candidate = '0;
        for (int unsigned t = Threads; t > 0; t--) if (free[t-1]) candidate = ThreadBits'(t - 1);
      end
      assign candidate_valid = free != '0;
    end

    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) begin
        room_o <= 1'b0;
        row_thread_o <= ThreadBits'(Threads - 1);
      end else if (refill) begin
        room_o <= candidate_valid;
        if (candidate_valid) row_thread_o <= candidate;
      end
    end
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) free <= '1;
      else begin
        for (int unsigned t = 0; t < Threads; t++) begin
          if (end_valid_i && end_thread_i == ThreadBits'(t)) free[t] <= 1'b1;
          else if (refill && candidate_valid && candidate == ThreadBits'(t)) free[t] <= 1'b0;
        end
      end
    end

`ifndef SYNTHESIS
    for (genvar t = 0; t < Threads; t++) begin : g_busy
      assign busy_o[t] = !free[t] && !(room_o && row == '0 && row_thread_o == ThreadBits'(t));
    end
`endif
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) idle_o <= IdleBits'(Threads);
    else if (first_o != end_valid_i) idle_o <= end_valid_i ? idle_o + 1'b1 : idle_o - 1'b1;
  end

`ifdef FORMAL
  logic inside_packet;
  always_ff @(posedge clk_i) begin
    if (rst_i) inside_packet <= 1'b0;
    else if (load_valid_i && load_ready_o) inside_packet <= !load_last_i;
    if (!rst_i) begin
      First_M : assert (!load_valid_i || load_first_i == !inside_packet);
      EightRows_M : assert (!(load_valid_i && row == 3'd7) || load_last_i);
      Idle_A : assert (!(end_valid_i && idle_o == IdleBits'(Threads)));
    end
  end
`endif
endmodule
