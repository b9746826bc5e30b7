`include "wl_reset.svh"

// Tracks which threads of an engine can run, and chooses among them.
//
// Contract: a thread can run from the cycle after it was loaded, its slot ended without finishing,
// or its copy left, until it is picked, except while a reply is due. All events may occur in one
// cycle, for different threads or (replies) for the same thread.
//   Fairness is that of wl_thread_scheduler.
// Timing: a path from registers through the scheduler to `pick_*_o`.
module wl_engine_threads #(
    parameter int unsigned Threads = 4,
    parameter int unsigned Offloads = 1,
    parameter int unsigned Scheduler = 1,  // see wl_thread_scheduler, Policy
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads)
) (
    input logic clk_i,
    input logic rst_i,

    // These threads can run.
    input logic                  loaded_valid_i,
    input logic [ThreadBits-1:0] loaded_thread_i,
    input logic                  again_valid_i,
    input logic [ThreadBits-1:0] again_thread_i,
    input logic                  resumed_valid_i,
    input logic [ThreadBits-1:0] resumed_thread_i,

    // This thread waits for the replies of these offloads.
    input logic [  Offloads-1:0] due_valid_i,
    input logic [ThreadBits-1:0] due_thread_i,

    input logic [Offloads-1:0]                 replied_valid_i,
    input logic [Offloads-1:0][ThreadBits-1:0] replied_thread_i,

    input  logic                  hold_i,        // no thread is picked
    output logic                  pick_valid_o,
    output logic [ThreadBits-1:0] pick_thread_o,
    output logic                  waiting_o      // a thread waits for replies
);
  logic [Threads-1:0] runnable, due_any, ready;
  logic [Threads-1:0][Offloads-1:0] due;

  // The events of each thread. A reply is decoded in two parts, of which each bit of `due` needs
  // one each: so it is one LUT.
  localparam int unsigned LowBits = ThreadBits / 2;
  localparam int unsigned HighBits = ThreadBits - LowBits;
  logic [Threads-1:0] set, issues;
  logic [Offloads-1:0][2**LowBits-1:0] replied_low;
  logic [Offloads-1:0][2**HighBits-1:0] replied_high;
  for (genvar o = 0; o < Offloads; o++) begin : g_reply
    logic [ThreadBits-1:0] thread;
    assign thread = replied_thread_i[o];
    assign replied_low[o] = (2 ** LowBits)'(replied_valid_i[o])
        << (thread & ThreadBits'(2 ** LowBits - 1));
    assign replied_high[o] = (2 ** HighBits)'(1) << (thread >> LowBits);
  end

  for (genvar t = 0; t < Threads; t++) begin : g_thread
    assign set[t] = (loaded_valid_i && loaded_thread_i == ThreadBits'(t))
        || (again_valid_i && again_thread_i == ThreadBits'(t))
        || (resumed_valid_i && resumed_thread_i == ThreadBits'(t));
    assign issues[t] = due_thread_i == ThreadBits'(t);
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) runnable[t] <= 1'b0;
      else if (set[t]) runnable[t] <= 1'b1;
      else if (pick_valid_o && pick_thread_o == ThreadBits'(t)) runnable[t] <= 1'b0;
    end
    for (genvar o = 0; o < Offloads; o++) begin : g_offload
      always_ff @(`WL_EDGES(clk_i, rst_i)) begin
        if (rst_i) due[t][o] <= 1'b0;
        else begin
          due[t][o] <= (due_valid_i[o] && issues[t])
              || (due[t][o] && !(replied_low[o][t%2**LowBits] && replied_high[o][t/2**LowBits]));
        end
      end
    end

`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        NotTwice_M : assert (!set[t] || !runnable[t]);
        for (int unsigned o = 0; o < Offloads; o++) begin
          Due_M : assert (!(replied_valid_i[o]
              && replied_thread_i[o] == ThreadBits'(t)) || due[t][o]);
        end
      end
    end
`endif
    assign due_any[t] = |due[t];
  end

  assign ready = runnable & ~due_any & {Threads{!hold_i}};
  assign waiting_o = |due_any;

  wl_thread_scheduler #(
      .Threads(Threads),
      .Policy (Scheduler)
  ) i_scheduler (
      .clk_i,
      .rst_i,
      .ready_i(ready),
      .grant_valid_o(pick_valid_o),
      .grant_thread_o(pick_thread_o)
  );
endmodule
