// Queues the requests of an engine to one offload, between the core, which cannot wait, and the
// service, which may stall.
//
// Contract: requests leave in order, each with its thread; the head does not change until it is
// taken. A thread has at most one call under way to an offload that replies, so with room for one
// request of each thread the queue is always ready for these calls. Calls without reply may arrive
// faster than the service takes them; then `push_ready_o` falls, and the engine runs the slot
// again.
// Throughput: one request a cycle (Depth of two or more). Latency: one cycle.
// Timing: ready and valid are registers, the data an asynchronous read of LUT RAM. Cost: see
// wl_fifo.
module wl_request_queue #(
    parameter int unsigned Width = 32,       // bits of a request's data
    parameter int unsigned Threads = 4,      // threads of the engine
    parameter int unsigned Depth = Threads,  // requests that have room
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads)
) (
    input logic clk_i,
    input logic rst_i,

    // From the engine shell (valid, thread) and the core (data).
    input  logic                  push_valid_i,
    output logic                  push_ready_o,
    input  logic [ThreadBits-1:0] push_thread_i,
    input  logic [     Width-1:0] push_data_i,

    // To the service.
    output logic                  request_valid_o,
    input  logic                  request_ready_i,
    output logic [ThreadBits-1:0] request_thread_o,
    output logic [     Width-1:0] request_data_o
);
  if (Width < 1 || Threads < 1 || Depth < 1) begin : g_illegal
    $fatal(1, "wl_request_queue: Width, Threads and Depth must be at least one");
  end else begin : g_queue
    logic [wl_pkg::bits(Depth + 1)-1:0] fill;
    logic unused;
    assign unused = &fill;

    typedef struct packed {
      logic [ThreadBits-1:0] thread;
      logic [Width-1:0] data;
    } request_t;
    request_t pushed, oldest;
    assign pushed.thread = push_thread_i;
    assign pushed.data = push_data_i;
    assign request_thread_o = oldest.thread;
    assign request_data_o = oldest.data;
    wl_fifo #(
        .Width($bits(request_t)),
        .Depth(Depth)
    ) i_fifo (
        .clk_i,
        .rst_i,
        .in_valid_i (push_valid_i),
        .in_ready_o (push_ready_o),
        .in_data_i  (pushed),
        .out_valid_o(request_valid_o),
        .out_ready_i(request_ready_i),
        .out_data_o (oldest),
        .fill_o     (fill)
    );
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) NoLoss_A : assert (!push_valid_i || push_ready_o);
  end
`endif
endmodule
