`include "wl_reset.svh"

// Body buffer of a pipe: stores the part of each packet after its header window, in order, in block
// RAM, until the header returns.
//
// Contract
//   Data and order: bodies are read in the order in which they were closed. `read_i` reads the next
//   beat of the oldest body; after `rewind_i` the body is read again from its first beat (for
//   copies); `free_i` frees the oldest body, read or not, in one cycle. Each may come with the read
//   of the body's last beat that is needed. With SkipBits `read_i` is a number of beats: it reads
//   the next one, and skips the others after it.
//   Throughput: one beat in and one beat out in each cycle. Latency: a closed body can be read two
//   cycles later, with data one cycle after `read_i`.
//   The largest body must be smaller than the buffer: one of Beats - Spare beats or more would wait
//   forever.
//   With HasAccess engines access stored bodies by their places: one read a cycle, with data one
//   cycle later; a write of a beat takes precedence over an arriving beat (`ready_o` is low). The
//   place of a body is valid until the body is freed. The buffer does not check the addresses of
//   these accesses.
//   The first Ahead beats of a body are for engines only: they precede its place, and are not read
//   as its beats. A body may have fewer.
// Timing: outputs are registers, except for the multiplexer of the block RAM itself and the path
// from `access_write_i` to `ready_o`.
// Cost: with HasAccess two copies of the RAM, one for each reader.
//
// Parameters
//   DataBytes   bytes of a beat
//   Beats       capacity in beats, a power of two
//   Packets     most packets under way, including those with an empty body
//   Spare       beats left free after each body, for data that engines append
//   HasAccess   1: engines access bodies
//   Ahead       beats that precede the place of each body
//   SkipBits    bits of the number of beats that a read proceeds; 0: it proceeds one
module wl_body_buffer #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned Beats = 2048,
    parameter int unsigned Packets = 512,
    parameter int unsigned Spare = 0,
    parameter bit HasAccess = 1'b0,
    parameter int unsigned Ahead = 0,
    parameter int unsigned SkipBits = 0,
    localparam int unsigned ReadBits = SkipBits == 0 ? 1 : SkipBits,
    localparam int unsigned BeatBits = wl_pkg::bits(Beats + 1),
    localparam int unsigned AddressBits = wl_pkg::bits(Beats)
) (
    input logic clk_i,
    input logic rst_i,

    // From wl_preprocessor.
    output logic                   ready_o,  // room for a beat and for another packet
    input  logic                   write_i,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic                   close_i,  // ends a body; may come with the body's last beat
    output logic [AddressBits-1:0] place_o,  // place of the body that is being written

    // From engines; unused without HasAccess.
    input  logic                   access_read_i,
    input  logic [AddressBits-1:0] access_address_i,
    output logic [8*DataBytes-1:0] access_data_o,   // from the next cycle to the next read
    input  logic                   access_write_i,
    input  logic [AddressBits-1:0] access_write_address_i,
    input  logic [8*DataBytes-1:0] access_write_data_i,

    // To wl_postprocessor.
    output logic                   body_valid_o,  // the oldest body is available
    input  logic [   ReadBits-1:0] read_i,        // reads its next beat; only with `body_valid_o`
    output logic [8*DataBytes-1:0] read_data_o,   // from the next cycle to the next `read_i`
    input  logic                   rewind_i,      // back to its first beat, after this cycle's read
    input  logic                   free_i         // frees the body, likewise; not with rewind_i
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
  if (SkipBits > AddressBits) begin : g_illegal_skip
    $fatal(1, "wl_body_buffer: SkipBits must be at most those of a beat's address");
  end
  // Beats that are left free after a body. Appended data follow the body's place even if the body
  // ends before it, so Ahead beats are added.
  localparam int unsigned Left = Spare == 0 ? 0 : Spare + Ahead;

  logic [AddressBits-1:0] tail;  // where the next beat is written
  logic [AddressBits-1:0] head;  // place of the oldest body
  logic [AddressBits-1:0] next;  // the next beat to read
  logic [BeatBits-1:0] used;  // beats stored
  logic [BeatBits-1:0] open;  // beats of the body that is being written

  // The number of beats of the oldest body.
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

  // The highest bit of `used` is set only when it reaches Beats. An accepted beat may end its body,
  // so there must also be room for a packet.
  logic room;
  if (Left == 0) begin : g_all
    assign room = !used[BeatBits-1];
  end else begin : g_spared
    assign room = used < BeatBits'(Beats - Left);
  end
  assign ready_o = packets_ready && room && !(HasAccess && access_write_i);

  // A beat that arrives, or one that an engine writes.
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
    assign unused_access = &{access_read_i, access_address_i, access_write_i,
        access_write_address_i, access_write_data_i};
  end

  logic [AddressBits-1:0] behind;  // where the next beat or body goes
  assign behind = tail + AddressBits'(write_i) + (close_i ? AddressBits'(Left) : '0);

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
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
      else next <= next + AddressBits'(read_i);
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
      .read_i(read_i != '0),
      .read_address_i(next),
      .read_data_o
  );

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Ready_M : assume (ready_o || !(write_i || close_i));
      Free_M : assume (body_valid_o || !(free_i || read_i != '0 || rewind_i));
      Access_M : assume (!HasAccess || !(access_write_i && (write_i || close_i)));
      Used_A : assert (used <= BeatBits'(Beats) && open <= used);
    end
  end
`endif

endmodule
