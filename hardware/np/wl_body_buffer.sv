// Body buffer of a pipe: keeps what lies behind the header windows, in order, in block RAM, until the header comes back.
//
// Contract
//   Data and order: bodies are read in the order in which they were closed. `read_i` reads the next beat of the oldest body; after
//   `rewind_i` its first beat comes again (for copies); `free_i` gives up the oldest body, read or not, in one cycle.
//   Throughput: a beat in and a beat out each cycle. Latency: a closed body can be read two cycles later, data one cycle behind `read_i`.
//   The largest body must be smaller than the buffer: one of Beats - Spare beats or more would wait for ever.
//   With HasAccess engines reach bodies by their places while these wait: a read a cycle, data one cycle behind it; a write of a beat takes
//   the place of one that arrives (`ready_o` is low). A body's place holds until it is freed. What is asked for is the asker's affair.
//   The first Ahead beats of a body are for engines only: they lie before its place, and are not read as beats of it. A body may have fewer.
// Timing: outputs are registers but for the block RAM's own multiplexer, and for `access_write_i`, which holds `ready_o` down.
// Cost: with HasAccess the RAM twice, once for each reader.
//
// Parameters
//   DataBytes   bytes of a beat
//   Beats       room in beats, a power of two
//   Packets     packets under way at most, bodies of no beats included
//   Spare       beats left free behind each body, for what engines append
//   HasAccess   1: engines reach bodies
//   Ahead       beats that stand before each body
module wl_body_buffer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned Beats = 2048,
    parameter int unsigned Packets = 512,
    parameter int unsigned Spare = 0,
    parameter bit HasAccess = 1'b0,
    parameter int unsigned Ahead = 0,
    localparam int unsigned BeatBits = wl_pkg::bits(Beats + 1),
    localparam int unsigned AddressBits = wl_pkg::bits(Beats)
) (
    input logic clk_i,
    input logic rst_i,

    // From wl_preprocessor.
    output logic                   ready_o,  // room for a beat and for another packet
    input  logic                   write_i,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   close_i,  // what was written since the last one is a body; may come with its last beat
    output logic [AddressBits-1:0] place_o,  // where the body that is being written begins

    // From engines; without HasAccess nothing comes.
    input  logic                   access_read_i,
    input  logic [AddressBits-1:0] access_address_i,
    output logic [8*DataBytes-1:0] access_data_o,   // the beat, from the next cycle until the next `access_read_i`
    input  logic                   access_write_i,
    input  logic [AddressBits-1:0] access_write_address_i,
    input  logic [8*DataBytes-1:0] access_write_data_i,

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
  if (Spare + Ahead >= Beats) begin : g_illegal_spare
    $fatal(1, "wl_body_buffer: Spare and Ahead must be less than Beats together");
  end
  // What is appended to a body that ends before its place lies behind that.
  localparam int unsigned Left = Spare == 0 ? 0 : Spare + Ahead;

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
      .in_data_i  (open + BeatBits'(write_i) + BeatBits'(Left)),
      .out_valid_o(body_valid_o),
      .out_ready_i(free_i),
      .out_data_o (beats),
      .fill_o     (unused)
  );

  // `used` reaches Beats, whose highest bit is a bit of its own. A beat more may be the last of its body, and close it.
  logic room;
  if (Left == 0) begin : g_all
    assign room = !used[BeatBits-1];
  end else begin : g_spared
    assign room = used < BeatBits'(Beats - Left);
  end
  assign ready_o = packets_ready && room && !(HasAccess && access_write_i);

  // What arrives, or what an engine writes.
  logic any_write;
  logic [AddressBits-1:0] any_address;
  logic [8*DataBytes-1:0] any_data;
  if (HasAccess) begin : g_access
    assign any_write = write_i || access_write_i;
    assign any_address = access_write_i ? access_write_address_i : tail;
    assign any_data = access_write_i ? access_write_data_i : data_i;
    wl_ram_block #(
        .Width(8 * DataBytes),
        .Depth(Beats)
    ) i_copy (
        .clk_i,
        .write_i(any_write),
        .write_address_i(any_address),
        .write_data_i(any_data),
        .read_i(access_read_i),
        .read_address_i(access_address_i),
        .read_data_o(access_data_o)
    );
  end else begin : g_alone
    assign any_write = write_i;
    assign any_address = tail;
    assign any_data = data_i;
    assign access_data_o = '0;
    logic unused_access;
    assign unused_access = &{access_read_i, access_address_i, access_write_i, access_write_address_i, access_write_data_i};
  end

  logic [AddressBits-1:0] behind;  // where the next beat, or body, goes
  assign behind = tail + AddressBits'(write_i) + (close_i ? AddressBits'(Left) : '0);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      tail <= '0;
      place_o <= AddressBits'(Ahead);
      head <= '0;
      next <= AddressBits'(Ahead);
      used <= '0;
      open <= '0;
    end else begin
      tail <= behind;
      if (close_i) place_o <= behind + AddressBits'(Ahead);
      if (close_i) open <= '0;
      else if (write_i) open <= open + 1'b1;
      used <= used + BeatBits'(write_i) + (close_i ? BeatBits'(Left) : '0) - (free_i ? beats : '0);
      if (free_i) head <= head + beats[AddressBits-1:0];
      if (free_i) next <= head + beats[AddressBits-1:0] + AddressBits'(Ahead);
      else if (rewind_i) next <= head + AddressBits'(Ahead);
      else if (read_i) next <= next + 1'b1;
    end
  end

  wl_ram_block #(
      .Width(8 * DataBytes),
      .Depth(Beats)
  ) i_data (
      .clk_i,
      .write_i(any_write),
      .write_address_i(any_address),
      .write_data_i(any_data),
      .read_i,
      .read_address_i(next),
      .read_data_o
  );

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Ready_M : assume (ready_o || !(write_i || close_i));
      Free_M : assume (body_valid_o || !(free_i || read_i || rewind_i));
      Access_M : assume (!HasAccess || !(access_write_i && (write_i || close_i)));
      Used_A : assert (used <= BeatBits'(Beats) && open <= used);
    end
  end
`endif

endmodule
