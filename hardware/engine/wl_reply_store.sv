// Stores the replies of one offload, one for each thread, until the thread's slot reads its reply.
//
// Contract: one cycle after `read_thread_i`, `read_data_o` shows the last reply that arrived for
// this thread. A reply that arrives in the cycle of the address is not seen yet (the engine never
// reads that early).
// Timing: the output is a register. Cost: Width * Threads / 48 LUTs, where fewer than 32 threads
// cost as much as 32; Width flip-flops.
module wl_reply_store #(
    parameter int unsigned Width = 32,   // bits of a reply
    parameter int unsigned Threads = 4,  // threads of the engine
    parameter int unsigned Storage = 0,  // 0: LUT RAM, 1: block RAM
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads)
) (
    input logic clk_i,

    input logic                  reply_valid_i,
    input logic [ThreadBits-1:0] reply_thread_i,
    input logic [     Width-1:0] reply_data_i,

    input  logic [ThreadBits-1:0] read_thread_i,
    output logic [     Width-1:0] read_data_o
);
  if (Width < 1 || Threads < 1 || Storage > 1) begin : g_illegal
    $fatal(1, "wl_reply_store: Width and Threads must be at least one, Storage 0 or 1");
  end else begin : g_store
    // Block RAM contains the output register.
    localparam bit Inside = Storage == 1 && Threads > 1;

    logic [Width-1:0] word;
    wl_thread_memory #(
        .Width  (Width),
        .Threads(Threads),
        .Storage(Storage)
    ) i_memory (
        .clk_i,
        .write_i(reply_valid_i),
        .write_thread_i(reply_thread_i),
        .write_data_i(reply_data_i),
        .next_thread_i(read_thread_i),
        .thread_i(read_thread_i),
        .read_data_o(word)
    );
    if (Inside) begin : g_inside
      assign read_data_o = word;
    end else begin : g_register
      always_ff @(posedge clk_i) read_data_o <= word;
    end
  end
endmodule
