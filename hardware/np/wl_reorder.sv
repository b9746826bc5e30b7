`include "wl_reset.svh"

// Reorder queue of a cluster: packets get tags in order, finish in any order, and leave in the
// order of their tags.
//
// A tag owns a record (the result) and a strip of rows in block RAM. A packet has one last record
// and, before it, any number of copies (`more`, by `emit`), which use the same strip one after the
// other.
//
// Contract
//   Tags are assigned in a ring, so the order of tags is that of loading. A tag is free again when
//   its last record has left.
//   In: the rows of a packet come in order, with tag and result on every row, and contiguous among
//   those of their source (an engine). A packet without rows (dropped, done, or with an empty
//   window) is one beat whose data are ignored.
//   A copy may come only for the tag at the head. A record whose strip still holds a copy waits
//   (`finish_ready_o` low) until that has been read; this wait always ends, because the tag is at
//   the head.
//   Out: records in order, rows as they came; packets without rows as one beat. The result is on
//   every row.
//   Throughput: one row in and one row out in each cycle, or one packet without rows in each
//   cycle. Latency: three cycles from the last row of the packet at the head to its first output
//   row.
//   No deadlock: as long as all assigned tags finish and the output is taken, all packets leave.
// Timing: outputs come from block RAM and registers.
// Cost: Tags * 2^ceil(log2 Rows) rows of block RAM; a result for each tag in LUT RAM.
//
// Parameters
//   Tags       most packets under way: 1 or a power of two
//   Rows       most rows of a packet; a window of 256 bytes has 16 of 16 bytes
//   RowBytes   bytes of a row
//   Sources    streams of finished packets, whose rows may alternate
module wl_reorder #(
    parameter int unsigned Tags = 32,
    parameter int unsigned Rows = 16,
    parameter int unsigned RowBytes = wl_pkg::WordBytes,
    parameter int unsigned Sources = 1,
    localparam int unsigned SourceBits = wl_pkg::bits(Sources),
    localparam int unsigned TagBits = wl_pkg::bits(Tags),
    localparam int unsigned FreeBits = wl_pkg::bits(Tags + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // A tag for a packet that is being loaded.
    input  logic                alloc_valid_i,
    output logic                alloc_ready_o,
    output logic [ TagBits-1:0] alloc_tag_o,
    output logic [FreeBits-1:0] free_o,         // free tags

    // Finished packets, from the engines.
    input  logic                          finish_valid_i,
    output logic                          finish_ready_o,
    input  logic                          finish_first_i,
    input  logic                          finish_last_i,
    input  logic [        SourceBits-1:0] finish_source_i,
    input  logic [        8*RowBytes-1:0] finish_data_i,
    input  logic [           TagBits-1:0] finish_tag_i,
    input  wl_pkg::result_t               finish_result_i,

    // To the engines: the tag at the head, and whether all that it has sent so far has left.
    output logic [TagBits-1:0] order_head_o,
    output logic               order_drained_o,

    // Packets in order.
    output logic                          row_valid_o,
    input  logic                          row_ready_i,
    output logic                          row_first_o,
    output logic                          row_last_o,
    output logic [        8*RowBytes-1:0] row_data_o,
    output wl_pkg::result_t               row_result_o
);

  if (Tags < 1 || 2 ** $clog2(Tags) != Tags) begin : g_illegal_tags
    $fatal(1, "wl_reorder: Tags must be a power of two");
  end
  if (Rows < 1 || Sources < 1 || RowBytes < 1
      || 2 ** $clog2(RowBytes) != RowBytes) begin : g_illegal
    $fatal(1, "wl_reorder: Rows and Sources must be 1 or more and RowBytes a power of two");
  end

  localparam int unsigned RowIndexBits = wl_pkg::bits(Rows);
  localparam int unsigned ShiftBits = $clog2(RowBytes);
  localparam int unsigned RowAddressBits = wl_pkg::bits(Tags * 2 ** RowIndexBits);

  // The tags under way: from `head` (the oldest) to before `tail`.
  logic [TagBits-1:0] head, tail;
  logic some;  // the tag at the head is under way
  logic alloc, retire;
  assign alloc_ready_o = free_o != '0;
  assign alloc_tag_o = tail;
  assign alloc = alloc_valid_i && alloc_ready_o;

  function automatic logic [TagBits-1:0] after(logic [TagBits-1:0] number);
    return Tags == 1 ? '0 : number + 1'b1;
  endfunction

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      head   <= '0;
      tail   <= '0;
      free_o <= FreeBits'(Tags);
      some   <= 1'b0;
    end else begin
      if (alloc) tail <= after(tail);
      if (retire) head <= after(head);
      if (alloc != retire) begin
        free_o <= alloc ? free_o - 1'b1 : free_o + 1'b1;
        some   <= alloc || free_o != FreeBits'(Tags - 1);
      end
    end
  end

  // The last record of a tag is stored when its two bits differ. Assigning the tag makes them
  // equal, finishing makes them differ: each memory has one writer, and neither needs to be
  // cleared. Any bit is a good start; in a simulator with unknown values it must be a known one.
  (* ram_style = "distributed" *) logic given[Tags];
  (* ram_style = "distributed" *) logic finished[Tags];
  initial begin
    for (int unsigned tag = 0; tag < Tags; tag++) begin
      given[tag] = 1'b0;
      finished[tag] = 1'b0;
    end
  end
  logic store, store_end, store_last, copy_held;
  always_ff @(posedge clk_i) begin
    if (alloc) given[tail] <= finished[tail];
    if (store_last) finished[finish_tag_i] <= !given[finish_tag_i];
  end

  // Input of finished rows.
  logic finish_more;
  logic [Sources-1:0][RowIndexBits-1:0] store_rows;  // the next row of each source
  logic [RowIndexBits-1:0] store_row;
  logic [SourceBits-1:0] source;
  assign source = Sources == 1 ? '0 : finish_source_i;
  assign store_row = store_rows[source];
  assign finish_more = finish_result_i.more;
  assign finish_ready_o = !(copy_held && finish_tag_i == head);
  assign store = finish_valid_i && finish_ready_o;
  assign store_end = store && finish_last_i;
  assign store_last = store_end && !finish_more;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) store_rows <= '0;
    else if (store) store_rows[source] <= finish_last_i ? '0 : store_row + 1'b1;
  end

  // The record at the head, row by row. `copy_held`: the strip of the head holds a copy.
  wl_pkg::result_t result;
  logic pending, fetch, fetch_end;
  logic [RowIndexBits-1:0] fetch_row;
  logic [8:0] end_row;
  logic rows, is_last;
  assign pending = some && (copy_held || given[head] != finished[head]);
  assign fetch = pending && (!row_valid_o || row_ready_i);
  assign rows = result.kind != wl_pkg::EXIT_DROP && result.kind != wl_pkg::EXIT_DONE
      && result.window != '0;
  assign end_row = (result.window - 9'd1) >> ShiftBits;
  assign is_last = !rows || 9'(fetch_row) == end_row;
  assign fetch_end = fetch && is_last;
  assign retire = fetch_end && !copy_held;

  assign order_head_o = head;
  assign order_drained_o = !copy_held;

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      copy_held   <= 1'b0;
      fetch_row   <= '0;
      row_valid_o <= 1'b0;
    end else begin
      if (store_end && finish_more) copy_held <= 1'b1;
      else if (fetch_end) copy_held <= 1'b0;
      if (fetch) fetch_row <= is_last ? '0 : fetch_row + 1'b1;
      if (fetch) row_valid_o <= 1'b1;
      else if (row_ready_i) row_valid_o <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (fetch) begin
      row_first_o  <= fetch_row == '0;
      row_last_o   <= is_last;
      row_result_o <= result;
    end
  end

  wl_ram_lut #(
      .Width(wl_pkg::ResultBits),
      .Depth(Tags)
  ) i_results (
      .clk_i,
      .write_i(store_end),
      .write_address_i(finish_tag_i),
      .write_data_i(finish_result_i),
      .read_address_i(head),
      .read_data_o(result)
  );

  wl_ram_block #(
      .Width(8 * RowBytes),
      .Depth(Tags * 2 ** RowIndexBits)
  ) i_rows (
      .clk_i,
      .write_i(store),
      .write_address_i(RowAddressBits'({finish_tag_i, store_row})),
      .write_data_i(finish_data_i),
      .read_i(fetch),
      .read_address_i(RowAddressBits'({head, fetch_row})),
      .read_data_o(row_data_o)
  );

`ifdef FORMAL
  // Both pointers count the packets under way; a record is pending only for an assigned tag.
  logic was_stalled;
  logic [TagBits-1:0] copying;
  logic [Sources-1:0] in_records;
  logic [Tags-1:0] done;  // the last record of the tag is stored: a plain copy of the two marks
  logic [Sources-1:0][TagBits-1:0] record_tags;
  logic in_record;  // of the source that offers a row
  logic [TagBits-1:0] record_tag;
  assign in_record = in_records[source];
  assign record_tag = record_tags[source];
  always_ff @(posedge clk_i) begin
    was_stalled <= !rst_i && row_valid_o && !row_ready_i;
    if (rst_i) in_records <= '0;
    else if (store) in_records[source] <= !finish_last_i;
    if (store) record_tags[source] <= finish_tag_i;
    if (rst_i) done <= '0;
    else begin
      done <= (done | (store_last ? Tags'(1'b1) << finish_tag_i : '0))
          & ~(retire ? Tags'(1'b1) << head : '0);
    end
    if (store_end && finish_more) copying <= finish_tag_i;
    if (!rst_i) begin
      Count_A : assert (free_o <= FreeBits'(Tags) && some == (free_o != FreeBits'(Tags)));
      Pointers_A : assert (Tags == 1
          || TagBits'(tail - head) == TagBits'(FreeBits'(Tags) - free_o));
      Stable_A : assert (!was_stalled || row_valid_o);
      Marks_A : assert (!some || done[head] == (given[head] != finished[head]));
      // A copy belongs to the packet at the head, and stalls only later records of the same packet.
      Copy_A : assert (!copy_held || (some && copying == head));
      // No deadlock: a pending record advances with the output, and only the head's own record can
      // be stalled.
      Progress_A : assert (!pending || fetch || (row_valid_o && !row_ready_i));
      Refuse_A : assert (!finish_valid_i || finish_ready_o || (pending && finish_tag_i == head));
      // The engines keep to the contract: the rows of a record are contiguous, a record has a tag
      // under way, and a copy that of the head.
      First_M : assume (!finish_valid_i || finish_first_i == !in_record);
      Contiguous_M : assume (!finish_valid_i || !in_record || finish_tag_i == record_tag);
      UnderWay_M : assume (!finish_valid_i
          || FreeBits'(TagBits'(finish_tag_i - head)) < FreeBits'(Tags) - free_o);
      Head_M : assume (!finish_valid_i || !finish_more || finish_tag_i == head);
      Once_M : assume (!finish_valid_i || !done[finish_tag_i]);
      Rows_M : assume (!finish_valid_i || finish_last_i || 32'(store_row) < Rows - 1);
    end
  end
`else
  logic unused;
  assign unused = finish_first_i;
`endif

endmodule
