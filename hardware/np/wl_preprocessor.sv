`include "wl_reset.svh"

// Pre-processor of a pipe: splits packets into header and body and adds their information.
//
// The header is the first WindowBytes bytes; the rest goes to the body buffer, with KeepHeader
// after a copy of the header. A header leaves when its packet is complete, because its information
// includes the packet's length.
//
// Contract
//   Data and order: packets leave in order; the body of a packet is in the body buffer before its
//   header leaves. Header beats have zeros after the packet's end. A packet of no bytes has one
//   header beat.
//   Throughput: one beat a cycle, so one packet a cycle if it has one beat. Latency: three cycles
//   after the last beat.
//   Nothing is lost inside: a beat is accepted only when header store and body buffer have room.
//   Any input is defined: of a last beat the bytes before the first zero of `keep_i` are valid, of
//   other beats all; bytes that would make a packet longer than MaxBytes are cut off. Both are
//   reported (`malformed_o`, `oversize_o`), once a packet.
// Timing: inputs go to registers; outputs come from block RAM and registers. `ready_o` is a
// register.
//
// Parameters
//   DataBytes      bytes of a beat
//   WindowBytes    most bytes of a header, a multiple of DataBytes
//   UserBits       sideband bits of a packet: ingress port (16), then what else the program asks
//                  for
//   SequenceBits   bits of the packet's number that go into the information; 0: none
//   PlaceBits      bits of a body's place in wl_body_buffer, which is part of the information if
//                  engines access bodies; 0: it is not
//   MaxBytes       longest packet; the body buffer must have room for more beats than the part that
//                  is stored there fills
//   KeepHeader     1: bodies begin with a copy of the header
//   HeaderBeats    capacity for header beats (block RAM)
module wl_preprocessor #(
    parameter int unsigned DataBytes = 64,
    parameter int unsigned WindowBytes = wl_pkg::WindowLoaded,
    parameter int unsigned UserBits = 16,
    parameter int unsigned SequenceBits = 0,
    parameter int unsigned PlaceBits = 0,
    parameter int unsigned MaxBytes = 65535,
    parameter int unsigned HeaderBeats = 512,
    parameter bit KeepHeader = 1'b0,
    localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits,
    localparam int unsigned PlacePort = PlaceBits == 0 ? 1 : PlaceBits,
    localparam int unsigned InfoBits = 16 + UserBits + SequenceBits + PlaceBits,
    localparam int unsigned CountBits = wl_pkg::bits(DataBytes + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // Packets: byte 0 of a beat in bits 7:0.
    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [8*DataBytes-1:0] data_i,
    input  logic [  DataBytes-1:0] keep_i,
    input  logic                   last_i,
    input  logic [   UserBits-1:0] user_i,      // on the first beat
    input  logic [ NumberBits-1:0] sequence_i,  // on the first beat

    // Headers: beats as above, of complete packets.
    output logic                   header_valid_o,
    input  logic                   header_ready_i,
    output logic [8*DataBytes-1:0] header_data_o,
    output logic                   header_first_o,
    output logic                   header_last_o,
    output logic [   InfoBits-1:0] header_info_o,   // {place, number, user, length}, on every beat

    // Bodies, to wl_body_buffer.
    input  logic                   body_ready_i,  // room for a beat and for another packet
    input  logic [  PlacePort-1:0] body_place_i,  // place of the packet's body
    output logic                   body_write_o,  // writes a beat
    output logic [8*DataBytes-1:0] body_data_o,
    output logic                   body_close_o,  // the packet is complete: ends its body

    // Statistics: each for one cycle.
    output logic                 packet_o,     // a packet is complete
    output logic [CountBits-1:0] bytes_o,      // bytes accepted in this cycle
    output logic                 malformed_o,  // hole in `keep_i`, or a partial beat in the middle
    output logic                 oversize_o    // it was longer than MaxBytes and was cut
);

  if (DataBytes < 8 || 2 ** $clog2(DataBytes) != DataBytes) begin : g_illegal_beat
    $fatal(1, "wl_preprocessor: DataBytes must be a power of two from 8 on");
  end
  if (WindowBytes < DataBytes || WindowBytes % DataBytes != 0) begin : g_illegal_window
    $fatal(1, "wl_preprocessor: WindowBytes must be a multiple of DataBytes");
  end
  if (MaxBytes < WindowBytes || MaxBytes > 65535) begin : g_illegal_length
    $fatal(1, "wl_preprocessor: MaxBytes must be at least WindowBytes and at most 65535");
  end
  if (HeaderBeats < WindowBytes / DataBytes) begin : g_illegal_room
    $fatal(1, "wl_preprocessor: HeaderBeats must hold a header");
  end
  if (UserBits < 1) begin : g_illegal_user
    $fatal(1, "wl_preprocessor: UserBits must be 1 or more");
  end

  localparam int unsigned WindowBeats = WindowBytes / DataBytes;
  localparam int unsigned MaxBeats = (MaxBytes + DataBytes - 1) / DataBytes;
  // Bytes of beat MaxBeats - 1.
  localparam int unsigned LastBytes = MaxBytes - (MaxBeats - 1) * DataBytes;
  localparam int unsigned IndexBits = wl_pkg::bits(MaxBeats + 1);
  localparam int unsigned ByteBits = $clog2(DataBytes);
  localparam int unsigned HeaderBeatBits = wl_pkg::bits(WindowBeats);

  // The number of bytes before the first zero of `keep_i`, and whether a one follows it. Four bits
  // of `keep_i` form a group, and the groups are combined by doubling: a single chain was the
  // deepest path of the pipe.
  localparam int unsigned Groups = DataBytes / 4;
  logic [CountBits-1:0] count;
  logic [DataBytes-1:0] kept;
  logic hole;
  logic [Groups:0] whole;  // all groups below are ones
  always_comb begin
    whole[0] = 1'b1;
    for (int unsigned group = 0; group < Groups; group++) begin
      whole[group+1] = keep_i[4*group+:4] == 4'hf;
    end
    for (int unsigned step = 1; step < Groups; step *= 2) begin
      for (int unsigned group = Groups; group > step; group--) whole[group] &= whole[group-step];
    end
    count = whole[Groups] ? CountBits'(DataBytes) : '0;
    hole = 1'b0;
    for (int unsigned group = 0; group < Groups; group++) begin
      logic [3:0] keep;
      logic [1:0] ones;  // number of leading ones if they are not four
      keep = keep_i[4*group+:4];
      ones = !keep[0] ? 2'd0 : !keep[1] ? 2'd1 : !keep[2] ? 2'd2 : 2'd3;
      hole |= (keep & (keep + 4'd1)) != '0 || (!whole[group] && keep != '0);
      if (whole[group] && !whole[group+1]) count |= CountBits'(4 * group) | CountBits'(ones);
      for (int unsigned i = 0; i < 4; i++) begin
        kept[4*group+i] = !last_i || (whole[group] && (keep | 4'(4'he << i)) == 4'hf);
      end
    end
  end

  // The current beat.
  logic held, last, bad, take, go;
  logic behind;  // the next beat taken is not its packet's first
  logic [CountBits-1:0] bytes;
  logic [8*DataBytes-1:0] data;
  logic [UserBits-1:0] user;
  logic [NumberBits-1:0] number;
  assign ready_o = !held || go;
  assign take = valid_i && ready_o;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      held   <= 1'b0;
      behind <= 1'b0;
    end else begin
      if (ready_o) held <= valid_i;
      if (take) behind <= !last_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      last  <= last_i;
      bytes <= last_i ? count : CountBits'(DataBytes);
      bad   <= last_i ? hole : keep_i != '1;
      // Bytes that are not valid become zero, by the reset of registers, which takes no logic.
      for (int unsigned i = 0; i < DataBytes; i++) begin
        if (!kept[i]) data[8*i+:8] <= '0;
        else data[8*i+:8] <= data_i[8*i+:8];
      end
      if (!behind) begin
        user   <= user_i;
        number <= sequence_i;
      end
    end
  end

  // The position in the packet: `index` stops at MaxBeats.
  logic [IndexBits-1:0] index;
  logic in_window, beyond, cut, was_bad, packet;
  logic [CountBits-1:0] stored;
  logic [16:0] length;
  logic header_room, info_room;
  assign go = held && header_room && info_room && body_ready_i;
  assign in_window = index < IndexBits'(WindowBeats);
  assign beyond = index == IndexBits'(MaxBeats);
  assign cut = beyond ? bytes != '0
      : index == IndexBits'(MaxBeats - 1) && bytes > CountBits'(LastBytes);
  assign stored = beyond ? '0 : cut ? CountBits'(LastBytes) : bytes;
  assign length = beyond ? 17'(MaxBytes) : (17'(index) << ByteBits) + 17'(stored);
  assign packet = go && last;

  logic was_cut;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      index   <= '0;
      was_bad <= 1'b0;
      was_cut <= 1'b0;
    end else if (go) begin
      index   <= last ? '0 : beyond ? index : index + 1'b1;
      was_bad <= !last && (was_bad || bad);
      was_cut <= !last && (was_cut || cut);
    end
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      packet_o    <= 1'b0;
      bytes_o     <= '0;
      malformed_o <= 1'b0;
      oversize_o  <= 1'b0;
    end else begin
      packet_o    <= packet;
      bytes_o     <= go ? stored : '0;
      malformed_o <= packet && (was_bad || bad);
      oversize_o  <= packet && (was_cut || cut);
    end
  end

  // A last beat without bytes that is not the first adds nothing, and is not stored.
  logic some;
  assign some = index == '0 || bytes != '0;
  assign body_write_o = go && (KeepHeader || !in_window) && !beyond && some;
  assign body_close_o = packet;
  assign body_data_o  = data;

  // Header beats, and the information of the packet, which completes it.
  logic beat_valid, info_valid, beat_taken;
  logic [wl_pkg::bits(HeaderBeats + 2)-1:0] header_fill, info_fill;
  wl_fifo_block #(
      .Width(8 * DataBytes),
      .Depth(HeaderBeats)
  ) i_headers (
      .clk_i,
      .rst_i,
      .in_valid_i (go && in_window && some),
      .in_ready_o (header_room),
      .in_data_i  (data),
      .out_valid_o(beat_valid),
      .out_ready_i(beat_taken),
      .out_data_o (header_data_o),
      .fill_o     (header_fill)
  );

  logic [InfoBits-1:0] info;
  logic [InfoBits-PlaceBits-1:0] own_info;
  if (SequenceBits == 0) begin : g_plain
    assign own_info = {user, length[15:0]};
  end else begin : g_numbered
    assign own_info = {number, user, length[15:0]};
  end
  if (PlaceBits == 0) begin : g_unplaced
    assign info = own_info;
  end else begin : g_placed
    assign info = {body_place_i, own_info};
  end
  wl_fifo_block #(
      .Width(InfoBits),
      .Depth(HeaderBeats)
  ) i_infos (
      .clk_i,
      .rst_i,
      .in_valid_i (packet),
      .in_ready_o (info_room),
      .in_data_i  (info),
      .out_valid_o(info_valid),
      .out_ready_i(beat_taken && header_last_o),
      .out_data_o (header_info_o),
      .fill_o     (info_fill)
  );

  // The packet's length determines which beat of its header this is.
  logic [HeaderBeatBits-1:0] beat;
  assign header_valid_o = beat_valid && info_valid;
  assign beat_taken = header_valid_o && header_ready_i;
  assign header_first_o = beat == '0;
  assign header_last_o = beat == HeaderBeatBits'(WindowBeats - 1)
      || 32'(header_info_o[15:0]) <= (32'(beat) + 32'd1) << ByteBits;
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) beat <= '0;
    else if (beat_taken) beat <= header_last_o ? '0 : beat + 1'b1;
  end

  logic unused;
  assign unused = &{header_fill, info_fill, length[16], number, body_place_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Length_A : assert (!packet || 32'(length) <= MaxBytes);
      Body_A : assert (!(body_write_o || body_close_o) || body_ready_i);
    end
  end
`endif

endmodule
