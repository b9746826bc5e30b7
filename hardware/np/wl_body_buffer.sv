// Body buffer of a pipe: keeps what lies behind the header windows, in order, in block RAM, until the header comes back.
//
// Contract
//   Data and order: bodies are read in the order in which they were closed. `read_i` reads the next beat of the oldest body; after
//   `rewind_i` its first beat comes again (for copies); `free_i` gives up the oldest body, read or not, in one cycle.
//   Throughput: a beat in and a beat out each cycle. Latency: a closed body can be read two cycles later, data one cycle behind `read_i`.
//   The largest body must be smaller than the buffer: one of Beats beats or more would wait for ever.
// Timing: outputs are registers but for the block RAM's own multiplexer.
//
// Parameters
//   DataBytes   bytes of a beat
//   Beats       room in beats, a power of two
//   Packets     packets under way at most, bodies of no beats included
module wl_body_buffer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned Beats = 2048,
    parameter int unsigned Packets = 512,
    localparam int unsigned BeatBits = wl_pkg::bits(Beats + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // From wl_preprocessor.
    output logic                   ready_o,  // room for a beat and for another packet
    input  logic                   write_i,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   close_i,  // what was written since the last one is a body; may come with its last beat

    // To wl_postprocessor.
    output logic                   body_valid_o,  // there is a body, the oldest
    input  logic                   read_i,        // read its next beat; only with `body_valid_o`
    output logic [8*DataBytes-1:0] read_data_o,   // the beat, from the next cycle until the next `read_i`
    input  logic                   rewind_i,      // the next beat is its first again; not with read_i
    input  logic                   free_i         // give it up; not with read_i, rewind_i
);

  if (DataBytes < 1 || Packets < 1) begin : g_illegal
    $fatal(1, "wl_body_buffer: DataBytes and Packets must be 1 or more");
  end
  if (Beats < 2 || 2 ** $clog2(Beats) != Beats) begin : g_illegal_beats
    $fatal(1, "wl_body_buffer: Beats must be a power of two from 2 on");
  end

  localparam int unsigned AddressBits = $clog2(Beats);

  logic [AddressBits-1:0] tail;  // where the next beat is written
  logic [AddressBits-1:0] head;  // where the oldest body begins
  logic [AddressBits-1:0] next;  // which beat of it is read next
  logic [BeatBits-1:0] used;  // beats stored
  logic [BeatBits-1:0] open;  // beats of the body that is being written

  // The oldest body's beats.
  logic [BeatBits-1:0] beats;
  logic packets_ready;
  logic [wl_pkg::bits(Packets + 2)-1:0] unused;
  wl_fifo_block #(
      .Width(BeatBits),
      .Depth(Packets)
  ) i_packets (
      .clk_i,
      .rst_i,
      .in_valid_i (close_i),
      .in_ready_o (packets_ready),
      .in_data_i  (open + BeatBits'(write_i)),
      .out_valid_o(body_valid_o),
      .out_ready_i(free_i),
      .out_data_o (beats),
      .fill_o     (unused)
  );

  // `used` reaches Beats, whose highest bit is a bit of its own.
  assign ready_o = packets_ready && !used[BeatBits-1];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      tail <= '0;
      head <= '0;
      next <= '0;
      used <= '0;
      open <= '0;
    end else begin
      if (write_i) tail <= tail + 1'b1;
      if (close_i) open <= '0;
      else if (write_i) open <= open + 1'b1;
      used <= used + BeatBits'(write_i) - (free_i ? beats : '0);
      if (free_i) head <= head + beats[AddressBits-1:0];
      if (free_i) next <= head + beats[AddressBits-1:0];
      else if (rewind_i) next <= head;
      else if (read_i) next <= next + 1'b1;
    end
  end

  wl_ram_block #(
      .Width(8 * DataBytes),
      .Depth(Beats)
  ) i_data (
      .clk_i,
      .write_i,
      .write_address_i(tail),
      .write_data_i(data_i),
      .read_i,
      .read_address_i(next),
      .read_data_o
  );

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Ready_M : assume (ready_o || !(write_i || close_i));
      Free_M : assume (body_valid_o || !(free_i || read_i || rewind_i));
      Used_A : assert (used <= BeatBits'(Beats) && open <= used);
    end
  end
`endif

endmodule
