`include "wl_reset.svh"

// Holds the finished threads of an engine and unloads their packets.
//
// Contract
//   A thread that finishes gives its result. Its packet leaves as rows of 16 bytes of the window,
//   each byte in its lane (wl_scratchpad, "Unload"): byte i is byte (start + i) mod 16 of row i /
//   16.
//   Tag and result are valid on every row. A packet that is dropped, is done or has an empty window
//   leaves as one row of arbitrary content, or with Pieces, if its window is empty, with the number
//   of bytes of the body to skip (16 bits) in its first bytes.
//   A copy (`more`) leaves only while its tag is at the head of the order and all packets before it
//   have left; the threads after it need not wait.
//   end_valid_o says that the last row of a thread was read: the thread is free or, with
//   end_more_o, continues. With Holds a thread continues later, when the order has drained of its
//   copy (order_drained_i is 0, then 1).
//   Order: InTurn 0 unloads the first finished thread of a circular search, so that no thread
//   starves. InTurn 1 unloads the threads in the order in which they were loaded.
//   A called engine (HasPacket = 0) gives its reply, in one row.
// Throughput: one row a cycle while the windows' port is free.
// Timing: data, tag and result are registers.
module wl_engine_unload #(
    parameter int unsigned Threads = 4,
    parameter int unsigned TagBits = 8,
    parameter int unsigned ReplyBits = 1,  // HasPacket = 0: bits of a reply
    parameter bit HasPacket = 1'b1,
    parameter bit InTurn = 1'b0,
    parameter bit Emits = 1'b1,            // 0: there are no copies
    parameter bit Pieces = 1'b0,           // 1: copies may have some of the packet's bytes
    parameter bit Holds = 1'b0,            // 1: a thread waits until its copy has left the pipe
    parameter int unsigned Storage = 0,    // storage of the windows: see wl_scratchpad, "Unload"
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads),
    localparam int unsigned Word = wl_pkg::WordBits
) (
    input logic clk_i,
    input logic rst_i,

    // Tags arrive when packets are loaded.
    input logic                  tag_write_i,
    input logic [ThreadBits-1:0] tag_thread_i,
    input logic [   TagBits-1:0] tag_i,

    // Results arrive when threads finish.
    input logic                             finish_valid_i,
    input logic            [ThreadBits-1:0] finish_thread_i,
    input wl_pkg::result_t                  finish_result_i,
    input logic            [           3:0] finish_row_i,     // row with the window's first byte
    input logic            [          15:0] finish_skip_i,    // Pieces: bytes of the body to skip
    input logic            [ ReplyBits-1:0] finish_reply_i,

    output logic                  end_valid_o,
    output logic                  end_more_o,
    output logic [ThreadBits-1:0] end_thread_o,

    input logic [TagBits-1:0] order_head_i,
    input logic               order_drained_i,

    // The windows.
    output logic [ThreadBits-1:0] row_thread_o,
    output logic [           3:0] row_o,
    output logic [           3:0] row_start_o,  // the row begins at this byte
    input  logic                  row_valid_i,
    input  logic [      Word-1:0] row_data_i,

    output logic                            unload_valid_o,
    input  logic                            unload_ready_i,
    output logic                            unload_first_o,
    output logic                            unload_last_o,
    output logic            [     Word-1:0] unload_data_o,
    output logic            [  TagBits-1:0] unload_tag_o,
    output wl_pkg::result_t                 unload_result_o,
    output logic            [ReplyBits-1:0] unload_reply_o
);
  // ---- Finished threads, and the search for the next one to unload ----

  logic [Threads-1:0] finished;
  logic [ThreadBits-1:0] turn;
  logic found, start;

  // What is stored of a finished thread.
  localparam int unsigned EndBits = !HasPacket ? ReplyBits : Pieces ? 20 : 4;
  typedef struct packed {
    // The row with the window's first byte, with Pieces below the bytes to skip; or the reply of a
    // call.
    logic [EndBits-1:0] place;
    wl_pkg::result_t result;
  } finished_t;
  finished_t finishing, oldest;
  logic [3:0] first_row;
  logic [ReplyBits-1:0] reply;
  logic [TagBits-1:0] tag;
  wl_pkg::result_t result;
  assign result = oldest.result;
  logic unused_result;
  assign unused_result = &result;

  assign finishing.result = finish_result_i;
  if (HasPacket) begin : g_finish_packet
    if (Pieces) begin : g_skip
      assign finishing.place = {finish_skip_i, finish_row_i};
    end else begin : g_no_skip
      assign finishing.place = finish_row_i;
      logic unused_skip;
      assign unused_skip = &finish_skip_i;
    end
    assign first_row = oldest.place[3:0];
    assign reply = '0;
    logic unused;
    assign unused = &finish_reply_i;
  end else begin : g_finish_reply
    assign finishing.place = finish_reply_i;
    assign reply = oldest.place;
    assign first_row = '0;
    logic unused;
    assign unused = &{finish_row_i, finish_skip_i};
  end

  wl_thread_memory #(
      .Width  ($bits(finished_t)),
      .Threads(Threads)
  ) i_results (
      .clk_i,
      .write_i(finish_valid_i),
      .write_thread_i(finish_thread_i),
      .write_data_i(finishing),
      .next_thread_i(turn),
      .thread_i(turn),
      .read_data_o(oldest)
  );
  wl_thread_memory #(
      .Width  (TagBits),
      .Threads(Threads)
  ) i_tags (
      .clk_i,
      .write_i(tag_write_i),
      .write_thread_i(tag_thread_i),
      .write_data_i(tag_i),
      .next_thread_i(turn),
      .thread_i(turn),
      .read_data_o(tag)
  );

  logic may_leave;
  if (Emits) begin : g_order
    assign may_leave = !result.more || (order_drained_i && order_head_i == tag);
  end else begin : g_no_order
    assign may_leave = 1'b1;
    logic unused;
    assign unused = &{order_head_i, order_drained_i};
  end
  assign found = finished[turn] && may_leave;

  // A thread is unloaded from the second cycle after its end on, when its last word is in its
  // window or on the way through the windows' port.
  logic ended;
  logic [ThreadBits-1:0] ended_thread;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) ended <= 1'b0;
    else ended <= finish_valid_i;
  end
  always_ff @(posedge clk_i) ended_thread <= finish_thread_i;
  for (genvar t = 0; t < Threads; t++) begin : g_finished
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) finished[t] <= 1'b0;
      else if (ended && ended_thread == ThreadBits'(t)) finished[t] <= 1'b1;
      else if (start && turn == ThreadBits'(t)) finished[t] <= 1'b0;
    end
  end

  if (Threads == 1) begin : g_one
    assign turn = '0;
  end else begin : g_turn
    // InTurn 1: advance after a packet has left, but not after a copy. InTurn 0: advance after each
    // start, and past each thread that has nothing to unload.
    logic on;
    if (InTurn) begin : g_in_turn
      assign on = end_valid_o && !end_more_o;
    end else begin : g_search
      assign on = start || !found;
    end
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) turn <= '0;
      else if (on) turn <= turn == ThreadBits'(Threads - 1) ? '0 : turn + 1'b1;
    end
  end

  // ---- Unloading ----

  logic take;  // a row enters the output register

  if (HasPacket) begin : g_rows
    logic active;            // rows remain to be read
    logic fresh;             // no row was read yet
    logic [ThreadBits-1:0] thread;
    logic [3:0] row;
    logic [3:0] left;        // rows after this one

    // A packet's tag and result, until its rows take them along.
    logic [TagBits-1:0] leaving_tag;
    wl_pkg::result_t leaving;
    assign start = found && (!active || (take && left == '0));
    assign take = active && row_valid_i && (!unload_valid_o || unload_ready_i);

    logic [Word-1:0] leaving_data;
    if (Pieces) begin : g_leaving_skip
      logic [15:0] skip;
      always_ff @(posedge clk_i) if (start) skip <= oldest.place[19:4];
      assign leaving_data = leaving.window == '0 ? {skip, (Word - 16)'(0)} : row_data_i;
    end else begin : g_leaving_row
      assign leaving_data = row_data_i;
    end

    logic no_data;
    logic [8:0] bytes_after;  // the first
    assign no_data = result.kind == wl_pkg::EXIT_DROP || result.kind == wl_pkg::EXIT_DONE
        || result.window == '0;
    assign bytes_after = result.window - 9'd1;

    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) active <= 1'b0;
      else if (start) active <= 1'b1;
      else if (take && left == '0) active <= 1'b0;
    end
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) unload_valid_o <= 1'b0;
      else if (take) unload_valid_o <= 1'b1;
      else if (unload_ready_i) unload_valid_o <= 1'b0;
    end
    always_ff @(posedge clk_i) begin
      if (start) begin
        fresh  <= 1'b1;
        thread <= turn;
        row    <= first_row;
        left   <= no_data ? '0 : bytes_after[7:4];
        leaving_tag <= tag;
        leaving <= result;
      end else if (take) begin
        fresh <= 1'b0;
        row   <= row + 1'b1;
        left  <= left - 1'b1;
      end
      if (take) begin
        unload_first_o  <= fresh;
        unload_last_o   <= left == '0;
        unload_data_o   <= leaving_data;
        unload_tag_o    <= leaving_tag;
        unload_result_o <= leaving;
      end
    end
    logic unused;
    assign unused = &{bytes_after[8], bytes_after[3:0], leaving};
    assign unload_reply_o = reply;

    if (Storage == 0) begin : g_row_now
      assign row_thread_o = thread;
      assign row_o = row;
      assign row_start_o = leaving.start;
    end else begin : g_row_before
      // The row read now arrives in the next cycle, by which time the current row may have left.
      assign row_thread_o = start ? turn : thread;
      assign row_o = start ? first_row : take ? row + 1'b1 : row;
      assign row_start_o = start ? result.start : leaving.start;
    end

    // The thread ends with the read of its last row: its tag and result are in registers.
    logic ends;
    assign ends = take && left == '0;
    if (Emits && Holds) begin : g_hold
      // At most one thread waits for its copy: that of the packet at the head of the order, which
      // stays drained until the copy's last row has been taken.
      logic holding, sent, resumes;
      logic [ThreadBits-1:0] held;
      assign resumes = holding && sent && order_drained_i && !ends;
      always_ff @(`WL_EDGES(clk_i, rst_i)) begin
        if (rst_i) holding <= 1'b0;
        else if (ends && leaving.more) holding <= 1'b1;
        else if (resumes) holding <= 1'b0;
      end
      always_ff @(posedge clk_i) begin
        if (ends && leaving.more) begin
          held <= thread;
          sent <= 1'b0;
        end else if (!order_drained_i) sent <= 1'b1;
      end
      assign end_more_o = resumes;
      assign end_valid_o = resumes || (ends && !leaving.more);
      assign end_thread_o = resumes ? held : thread;
    end else begin : g_end
      assign end_more_o = Emits && leaving.more;
      assign end_valid_o = ends;
      assign end_thread_o = thread;
    end
  end else begin : g_reply
    assign start = found && (!unload_valid_o || unload_ready_i);
    assign take = start;
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) unload_valid_o <= 1'b0;
      else if (take) unload_valid_o <= 1'b1;
      else if (unload_ready_i) unload_valid_o <= 1'b0;
    end
    always_ff @(posedge clk_i) begin
      if (take) begin
        unload_tag_o    <= tag;
        unload_result_o <= result;
        unload_reply_o  <= reply;
      end
    end
    assign unload_first_o = 1'b1;
    assign unload_last_o = 1'b1;
    assign unload_data_o = '0;
    assign row_thread_o = '0;
    assign row_o = '0;
    assign row_start_o = '0;
    assign end_valid_o = take;
    assign end_more_o = 1'b0;
    assign end_thread_o = turn;
    logic unused;
    assign unused = &{row_valid_i, row_data_i, first_row};
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Once_M : assert (!finish_valid_i
          || (!finished[finish_thread_i] && !(ended && ended_thread == finish_thread_i)));
      StartFinished_A : assert (!start || finished[turn]);
    end
  end
`endif
endmodule
