`include "wl_reset.svh"

// The header windows of an engine's threads. Each is a circular memory of 256 bytes, which is read
// and written by words of HeaderBytes bytes at any byte address, loaded by aligned rows of 16
// bytes, and unloaded by rows of 16 bytes at any byte address.
//
// Each of sixteen lanes is one byte wide and has its own row address. An unaligned word touches a
// lane at most once, in one row or the next.
//
// Contract
//   Read: a word that is addressed in cycle n is valid at read_words_o in cycle n + 3, byte 0 most
//   significant. Bytes of a word that lie past the end of the window are zero, and so are all bytes
//   if the offset is past the end.
//   Write: up to WritePorts words a cycle, byte by byte as the strobe says; writes are never
//   refused. A second word is written one cycle after the first: in the cycle after one with two
//   words write_busy_o is high, and no write may be issued. A write of cycle n is seen by reads of
//   cycle n + 2 and later; with two ports, n + 3.
//   Load: yields to writes (ready). A row of cycle n is seen by reads of cycle n + 1 and later.
//   Unload: yields to both. unload_data_o holds the 16 bytes from unload_address_i on, each in its
//   own lane: that of address a is byte a mod 16, byte 0 most significant. LUT RAM: in any cycle
//   with unload_valid_o. Block RAM: in any cycle with unload_valid_o it is the row addressed in
//   the cycle before.
// Timing, between registers: an adder, then an increment and the RAM, then two multiplexers. The
// write side is an OR and the RAM.
module wl_scratchpad #(
    parameter int unsigned Threads = 4,     // windows
    parameter int unsigned ReadPorts = 1,   // words read in a cycle
    parameter int unsigned WritePorts = 1,  // words written in a cycle: 1 or 2
    parameter int unsigned HeaderBytes = 16,  // bytes of a word: 4, 8 or 16
    parameter int unsigned Storage = 0,     // 0: LUT RAM, 1: block RAM
    localparam int unsigned ThreadBits = wl_pkg::bits(Threads),
    localparam int unsigned Word = 8 * HeaderBytes,
    localparam int unsigned Row = wl_pkg::WordBits
) (
    input logic clk_i,
    input logic rst_i,

    // Reads: any number of words of one thread. Offsets count from the first byte of the packet.
    input  logic [ThreadBits-1:0]           read_thread_i,
    input  logic [           7:0]           read_front_i,   // physical byte of byte 0 of the window
    input  logic [           8:0]           read_window_i,  // bytes of the window
    input  logic [ ReadPorts-1:0][    16:0] read_offset_i,
    output logic [ ReadPorts-1:0][Word-1:0] read_words_o,

    // Writes of one thread, at physical byte addresses. With write_zero_i the first word, which
    // must be valid, is written as zero.
    input  logic [WritePorts-1:0]                  write_valid_i,
    input  logic [ThreadBits-1:0]                  write_thread_i,
    input  logic [WritePorts-1:0][            7:0] write_address_i,
    input  logic [WritePorts-1:0][HeaderBytes-1:0] write_strobe_i,   // bit k: byte k
    input  logic [WritePorts-1:0][       Word-1:0] write_data_i,     // byte 0 most significant
    input  logic                                   write_zero_i,
    output logic                                   write_busy_o,

    input  logic                  load_valid_i,
    output logic                  load_ready_o,
    input  logic [ThreadBits-1:0] load_thread_i,
    input  logic [           3:0] load_row_i,
    input  logic [       Row-1:0] load_data_i,

    input  logic [ThreadBits-1:0] unload_thread_i,
    input  logic [           7:0] unload_address_i,
    output logic                  unload_valid_o,
    output logic [       Row-1:0] unload_data_o
);
  if (Threads < 1 || ReadPorts < 1) begin : g_illegal_ports
    $fatal(1, "wl_scratchpad: Threads and ReadPorts must be at least one");
  end
  if (WritePorts < 1 || WritePorts > 2) begin : g_illegal_writes
    $fatal(1, "wl_scratchpad: WritePorts must be 1 or 2");
  end
  if (HeaderBytes != 4 && HeaderBytes != 8 && HeaderBytes != 16) begin : g_illegal_word
    $fatal(1, "wl_scratchpad: HeaderBytes must be 4, 8 or 16");
  end
  if (Storage > 1) begin : g_illegal_storage
    $fatal(1, "wl_scratchpad: Storage must be 0 (LUT RAM) or 1 (block RAM)");
  end

  localparam int unsigned Lanes = wl_pkg::WordBytes;
  localparam int unsigned Depth = Threads * Lanes;
  localparam int unsigned AddressBits = wl_pkg::bits(Depth);
  localparam int unsigned PlaceBits = wl_pkg::bits(HeaderBytes);

  // Returns the row of a lane: the row of byte 0 of the word, or the next row for lanes that the
  // word reaches by wrapping around.
  function automatic logic [3:0] lane_row(logic [3:0] lane, logic [3:0] row, logic [3:0] after,
      logic [3:0] first);
    return lane < first ? after : row;
  endfunction

  // ---- Reads ----

  logic [Lanes-1:0][ReadPorts-1:0][AddressBits-1:0] a_address;
  logic [Lanes-1:0][ReadPorts-1:0][7:0] a_data;
  for (genvar p = 0; p < ReadPorts; p++) begin : g_read
    logic [7:0] from;
    logic [17:0] left;
    // Bytes of the word that lie inside the window, 0 to HeaderBytes.
    logic [PlaceBits:0] remain_next, remain;
    assign from = read_front_i + read_offset_i[p][7:0];
    assign left = {9'b0, read_window_i} - {1'b0, read_offset_i[p]};
    assign remain_next = left[17] ? '0 : left[16:PlaceBits] != '0 ? (PlaceBits + 1)'(HeaderBytes)
        : left[PlaceBits:0];

    logic [7:0] from_a;  // while the lanes read
    logic [3:0] from_r;  // while the bytes read are rotated
    logic [PlaceBits:0] remain_a;
    logic [ThreadBits-1:0] thread_a;
    always_ff @(posedge clk_i) begin
      from_a   <= from;
      thread_a <= read_thread_i;
      remain_a <= remain_next;
      from_r   <= from_a[3:0];
      remain   <= remain_a;
    end

    logic [3:0] row_after;
    assign row_after = from_a[7:4] + 4'd1;
    for (genvar l = 0; l < Lanes; l++) begin : g_lane
      assign a_address[l][p] =
          AddressBits'({thread_a, lane_row(4'(l), from_a[7:4], row_after, from_a[3:0])});
    end

    // Byte k of the word comes from lane from + k. The lanes are rotated by multiples of four, then
    // by single lanes; the first rotation keeps up to three lanes more than the word has bytes.
    localparam int unsigned Turned = HeaderBytes + 3 < Lanes ? HeaderBytes + 3 : Lanes;
    logic [8*Turned-1:0] by_four;
    for (genvar l = 0; l < Turned; l++) begin : g_four
      logic [3:0][7:0] choice;
      for (genvar c = 0; c < 4; c++) begin : g_choice
        assign choice[c] = a_data[(l+4*c)%Lanes][p];
      end
      assign by_four[8*l+:8] = choice[from_r[3:2]];
    end
    for (genvar k = 0; k < HeaderBytes; k++) begin : g_byte
      logic [3:0][7:0] choice;
      for (genvar c = 0; c < 4; c++) begin : g_choice
        assign choice[c] = by_four[8*((k+c)%Lanes)+:8];
      end
      // The mask is the synchronous reset of the register, which costs no LUT of the data path.
      logic [7:0] word_byte;
      always_ff @(posedge clk_i) begin
        if ((PlaceBits + 1)'(k) >= remain) word_byte <= '0;
        else word_byte <= choice[from_r[1:0]];
      end
      assign read_words_o[p][8*(HeaderBytes-1-k)+:8] = word_byte;
    end
  end

  // ---- Writes ----

  // First stage: the word to write. A second word waits for one cycle.
  logic w_valid, w_valid_next;
  logic [ThreadBits-1:0] w_thread;
  logic [7:0] w_address, w_address_next;
  logic [HeaderBytes-1:0] w_strobe, w_strobe_next;
  logic [Word-1:0] w_data, w_data_next;
  if (WritePorts == 1) begin : g_one_write
    assign write_busy_o   = 1'b0;
    assign w_valid_next   = write_valid_i;
    assign w_address_next = write_address_i[0];
    assign w_strobe_next  = write_strobe_i[0];
    assign w_data_next    = write_data_i[0];
    always_ff @(posedge clk_i) w_thread <= write_thread_i;
  end else begin : g_two_writes
    logic [7:0] second_address;
    logic [HeaderBytes-1:0] second_strobe;
    logic [Word-1:0] second_data;
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) write_busy_o <= 1'b0;
      else write_busy_o <= !write_busy_o && write_valid_i == 2'b11;
    end
    always_ff @(posedge clk_i) begin
      second_address <= write_address_i[1];
      second_strobe <= write_strobe_i[1];
      second_data <= write_data_i[1];
      if (!write_busy_o) w_thread <= write_thread_i;
    end
    // A single word at the second port takes the path of the first.
    logic [1:0] from;
    assign from = {write_busy_o, write_valid_i == 2'b10};
    assign w_valid_next = write_busy_o || write_valid_i != 2'b00;
    assign w_address_next = from[1] ? second_address : from[0] ? write_address_i[1]
        : write_address_i[0];
    assign w_strobe_next = from[1] ? second_strobe : from[0]
        ? write_strobe_i[1] : write_strobe_i[0];
    assign w_data_next = from[1] ? second_data : from[0] ? write_data_i[1] : write_data_i[0];
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) w_valid <= 1'b0;
    else w_valid <= w_valid_next;
  end
  always_ff @(posedge clk_i) begin
    w_address <= w_address_next;
    w_strobe  <= w_strobe_next;
    if (write_zero_i && !write_busy_o) w_data <= '0;
    else w_data <= w_data_next;
  end

  // Second stage: the word is rotated by multiples of four lanes, into four copies of which all but
  // one are zero. The rotation by single lanes is then an OR, with an input to spare for the row of
  // a load. (The reset of the registers makes the copies zero; rotating and loading thus take two
  // LUTs a bit, not three.) If a word is shorter than a row, the lanes that it does not reach hold
  // arbitrary bytes of it; only the strobes tell them apart.
  logic [3:0][Word-1:0] turned_data;
  logic [3:0][Lanes-1:0] turned_strobe;
  logic [Row-1:0] loaded;
  logic b_load, b_write;
  logic [ThreadBits-1:0] b_thread;
  logic [7:0] b_address;

  assign load_ready_o = !w_valid;

  logic [Word-1:0] by_four_data;  // by lane: lanes l, l + HeaderBytes and so on at [8l +: 8]
  logic [Lanes-1:0] row_strobe, by_four_strobe;
  assign row_strobe = Lanes'(w_strobe);
  for (genvar l = 0; l < HeaderBytes; l++) begin : g_turn
    logic [3:0][7:0] choice;
    for (genvar c = 0; c < 4; c++) begin : g_choice
      assign choice[c] = w_data[8*(HeaderBytes-1-(l+Lanes-4*c)%HeaderBytes)+:8];
    end
    assign by_four_data[8*l+:8] = choice[w_address[3:2]];
  end
  for (genvar l = 0; l < Lanes; l++) begin : g_turn_strobe
    logic [3:0] choice;
    for (genvar c = 0; c < 4; c++) begin : g_choice
      assign choice[c] = row_strobe[(l+Lanes-4*c)%Lanes];
    end
    assign by_four_strobe[l] = choice[w_address[3:2]];
  end
  for (genvar c = 0; c < 4; c++) begin : g_copy
    always_ff @(posedge clk_i) begin
      if (!w_valid || w_address[1:0] != 2'(c)) begin
        turned_data[c]   <= '0;
        turned_strobe[c] <= '0;
      end else begin
        turned_data[c]   <= by_four_data;
        turned_strobe[c] <= by_four_strobe;
      end
    end
  end
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      b_load  <= 1'b0;
      b_write <= 1'b0;
    end else begin
      b_load  <= load_valid_i && !w_valid;
      b_write <= load_valid_i || w_valid;
    end
  end
  always_ff @(posedge clk_i) begin
    if (w_valid) loaded <= '0;
    else loaded <= load_data_i;
    b_thread <= w_valid ? w_thread : load_thread_i;
    b_address[7:4] <= w_valid ? w_address[7:4] : load_row_i;
    if (!w_valid) b_address[3:0] <= '0;
    else b_address[3:0] <= w_address[3:0];
  end

  // Third stage: port B writes, or reads a row to unload.
  logic [ThreadBits-1:0] port_thread;
  logic [7:0] port_address;
  logic [3:0] port_after;
  assign port_thread = b_write ? b_thread : unload_thread_i;
  assign port_address = b_write ? b_address : unload_address_i;
  assign port_after = port_address[7:4] + 4'd1;

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [7:0] data, unloaded;
    logic strobe;
    logic [3:0][7:0] word_data;
    logic [3:0] word_strobe;
    for (genvar c = 0; c < 4; c++) begin : g_word
      assign word_data[c] = turned_data[c][8*((l+Lanes-c)%HeaderBytes)+:8];
      assign word_strobe[c] = turned_strobe[c][(l+Lanes-c)%Lanes];
    end
    assign data = loaded[8*(Lanes-1-l)+:8] | word_data[0] | word_data[1] | word_data[2]
        | word_data[3];
    assign strobe = b_load || word_strobe != '0;
    wl_scratchpad_lane #(
        .Depth(Depth),
        .ReadPorts(ReadPorts),
        .Storage(Storage)
    ) i_lane (
        .clk_i,
        .a_address_i(a_address[l]),
        .a_data_o(a_data[l]),
        .b_write_i(strobe),
        .b_address_i(AddressBits'({port_thread,
            lane_row(4'(l), port_address[7:4], port_after, port_address[3:0])})),
        .b_data_i(data),
        .b_data_o(unloaded)
    );
    assign unload_data_o[8*(Lanes-1-l)+:8] = unloaded;
  end

  if (Storage == 0) begin : g_unload_lut
    assign unload_valid_o = !b_write;
  end else begin : g_unload_block
    always_ff @(posedge clk_i) unload_valid_o <= !b_write;
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      NotBusy_A : assert (!write_busy_o || write_valid_i == '0);
      ZeroFirst_M : assert (!write_zero_i || write_valid_i[0]);
      Aligned_A : assert (b_write || b_address[3:0] == '0);
      OneTurn_A : assert (!b_load || turned_strobe == '0);
    end
  end
`endif
endmodule
