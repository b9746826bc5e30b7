// Proof of wl_reorder, for any engines that keep to its contract: the output is the result of the
// oldest packet under way, its copies first, rows in order; and as long as packets finish and the
// output is taken, something leaves (no deadlock). A plain model records what each tag has
// finished.
//
// `Rows` is 2, which covers packets with one row, with several, and with none. A record has the
// rows of its window, wherever that starts. The rows of several sources alternate in any way.
// Unbounded, by induction: the relations at the end tie the model to the memories of the queue.
module wl_reorder_proof #(
    parameter int unsigned Tags = 2,
    parameter int unsigned RowBytes = 1,
    parameter int unsigned Sources = 1,
    localparam int unsigned Rows = 2,
    localparam int unsigned SourceBits = wl_pkg::bits(Sources),
    localparam int unsigned TagBits = wl_pkg::bits(Tags),
    localparam int unsigned FreeBits = wl_pkg::bits(Tags + 1)
) (
    input logic clk_i,
    input logic rst_i,
    input logic alloc_valid_i,
    input logic finish_valid_i,
    input logic finish_first_i,
    input logic finish_last_i,
    input logic [SourceBits-1:0] finish_source_i,
    input logic [8*RowBytes-1:0] finish_data_i,
    input logic [TagBits-1:0] finish_tag_i,
    input logic [8:0] finish_window_i,
    input logic [3:0] finish_start_i,
    input logic finish_drop_i,  // an event, which has no rows
    input logic finish_more_i,
    input logic row_ready_i
);
  logic alloc_ready, finish_ready, drained, row_valid, row_first, row_last;
  logic [TagBits-1:0] alloc_tag, head;
  logic [FreeBits-1:0] free;
  logic [8*RowBytes-1:0] row;
  wl_pkg::result_t result, out;
  always_comb begin
    result = '0;
    result.kind = finish_drop_i ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_FINISH;
    result.window = finish_window_i;
    result.start = finish_start_i;
    result.more = finish_more_i;
  end
  function automatic logic [1:0] rows_of(wl_pkg::result_t record);
    return record.kind == wl_pkg::EXIT_DROP || record.window == 0 ? 2'd0
        : record.window > 9'(RowBytes) ? 2'd2 : 2'd1;
  endfunction
  function automatic logic [8:0] window_of(wl_pkg::result_t record);
    return record.window;
  endfunction
  logic [1:0] finish_rows;
  assign finish_rows = rows_of(result);
  wl_reorder #(.Tags(Tags), .Rows(Rows), .RowBytes(RowBytes), .Sources(Sources)) i_dut (
      .clk_i, .rst_i,
      .alloc_valid_i, .alloc_ready_o(alloc_ready), .alloc_tag_o(alloc_tag), .free_o(free),
      .finish_valid_i, .finish_ready_o(finish_ready), .finish_first_i, .finish_last_i,
      .finish_source_i, .finish_data_i, .finish_tag_i,
      .finish_result_i(result),
      .order_head_o(head), .order_drained_o(drained),
      .row_valid_o(row_valid), .row_ready_i, .row_first_o(row_first), .row_last_o(row_last),
      .row_data_o(row), .row_result_o(out)
  );

  // The model: for each tag, whether it has a record with rows that have not been fetched for the
  // output, and which.
  logic [Tags-1:0] there, more;
  logic [Tags-1:0][1:0] rows;
  logic [Tags-1:0][wl_pkg::ResultBits-1:0] results;
  logic [Tags-1:0][1:0][8*RowBytes-1:0] data;
  logic [FreeBits-1:0] count;  // packets under way
  logic [TagBits-1:0] oldest;  // tag of the oldest packet under way
  logic [Sources-1:0][1:0] finishing;  // row of the record that arrives from each source
  logic [SourceBits-1:0] source;
  logic [1:0] fetching;        // row of the oldest record that is fetched next

  logic alloc, finish, fetch, fetch_last, retire;
  assign alloc = alloc_valid_i && alloc_ready;
  assign finish = finish_valid_i && finish_ready;
  assign fetch = i_dut.fetch;
  assign fetch_last = rows[oldest] == 0 || fetching == rows[oldest] - 2'd1;
  assign retire = fetch && fetch_last && !more[oldest];

  assign source = Sources == 1 ? '0 : finish_source_i;
  logic [Sources-1:0][wl_pkg::ResultBits-1:0] coming;  // of the record that arrives

  // The record at the output.
  logic is_valid, is_first, is_last;
  logic [1:0] is_rows;
  wl_pkg::result_t is_result;
  logic [8*RowBytes-1:0] is_data;

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (started ? !rst_i : rst_i);
    // The engines: a record has as many rows as it says, and all rows say the same.
    Source_M : assume (32'(finish_source_i) < Sources);
    Same_M : assume (!finish_valid_i || finishing[source] == 0 || result == coming[source]);
    Rows_M : assume (!finish_valid_i || result.window <= 9'(Rows * RowBytes));
    Last_M : assume (!finish_valid_i
        || finish_last_i == (finish_rows == 0 || finishing[source] == finish_rows - 2'd1));
    if (rst_i) begin
      there <= '0;
      count <= '0;
      oldest <= '0;
      finishing <= '0;
      fetching <= '0;
      is_valid <= 1'b0;
    end else begin
      count <= count + FreeBits'(alloc) - FreeBits'(retire);
      if (retire) oldest <= Tags == 1 ? '0 : oldest + 1'b1;
      if (finish) finishing[source] <= finish_last_i ? '0 : finishing[source] + 1'b1;
      if (finish) coming[source] <= result;
      if (finish) data[finish_tag_i][finishing[source][0]] <= finish_data_i;
      if (fetch) fetching <= fetch_last ? '0 : fetching + 1'b1;
      if (fetch && fetch_last) there[oldest] <= 1'b0;
      if (finish && finish_last_i) begin
        there[finish_tag_i] <= 1'b1;
        more[finish_tag_i] <= finish_more_i;
        rows[finish_tag_i] <= finish_rows;
        results[finish_tag_i] <= result;
      end
      if (fetch) begin
        is_valid <= 1'b1;
        is_first <= fetching == 0;
        is_last <= fetch_last;
        is_rows <= rows[oldest];
        is_result <= results[oldest];
        is_data <= data[oldest][fetching[0]];
      end else if (row_ready_i) begin
        is_valid <= 1'b0;
      end

      // Tags: at most as many packets are under way as there are tags, and each tag is assigned
      // once, in a ring.
      Given_A : assert (!alloc
          || (32'(count) < Tags && 32'(alloc_tag) == (32'(oldest) + 32'(count)) % Tags));
      Free_A : assert (32'(free) + 32'(count) == Tags && head == oldest);
      // Order: only the record of the oldest packet is fetched, and the output is what was fetched.
      Oldest_A : assert (!fetch || (count != 0 && there[oldest]));
      Output_A : assert (row_valid == is_valid);
      Record_A : assert (!row_valid
          || (row_first == is_first && row_last == is_last && out == is_result));
      Data_A : assert (!row_valid || is_rows == 0 || row == is_data);
      // Nothing is lost: a record that has not been fetched is not overwritten, and an output that
      // is not taken stays.
      Kept_A : assert (!finish || !there[finish_tag_i]);
      Drained_A : assert (drained == !(count != 0 && there[oldest] && more[oldest]));
      // No deadlock: a record of the oldest packet advances with the output, and an engine is
      // stalled only while there is one.
      NoDeadlock_A : assert (!(count != 0 && there[oldest]) || fetch
          || (row_valid && !row_ready_i));
      Refused_A : assert (!finish_valid_i || finish_ready
          || (count != 0 && there[oldest] && finish_tag_i == oldest));

      // The registers of the queue match the model.
      Registers_A : assert (i_dut.fetch_row == fetching[0] && !fetching[1]);
      Fetching_A : assert (fetching == 0
          || (count != 0 && there[oldest] && fetching < rows[oldest]));
      Copy_A : assert (i_dut.copy_held == (count != 0 && there[oldest] && more[oldest]));
      Tag_A : assert (32'(oldest) < Tags && 32'(alloc_tag) < Tags);
    end
  end

  // Each source has a record of its own.
  for (genvar s = 0; s < Sources; s++) begin : g_source
    logic shares;  // its record has the tag of another source's record
    always_comb begin
      shares = 1'b0;
      for (int unsigned t = 0; t < s; t++) begin
        if (finishing[t] != 0 && i_dut.record_tags[s] == i_dut.record_tags[t]) shares = 1'b1;
      end
    end
    always_ff @(posedge clk_i) begin
      // An engine sends the packets that it has been given: no other sends rows of the same packet.
      Own_M : assume (!finish_valid_i || 32'(source) == s || finishing[s] == 0
          || finish_tag_i != i_dut.record_tags[s]);
      if (!rst_i && started) begin
        Row_A : assert (i_dut.store_rows[s] == finishing[s][0] && !finishing[s][1]);
        Record_In_A : assert (i_dut.in_records[s] == (finishing[s] != 0)
            && (finishing[s] == 0 || 32'(i_dut.record_tags[s]) < Tags));
        Apart_A : assert (finishing[s] == 0 || !shares);
      end
    end
  end

  // The memories match the model, for each tag.
  for (genvar tag = 0; tag < Tags; tag++) begin : g_tag
    logic under_way, arrives;
    assign under_way = 32'(TagBits'(TagBits'(tag) - oldest)) < 32'(count);
    always_comb begin
      arrives = 1'b0;
      for (int unsigned s = 0; s < Sources; s++) begin
        if (finishing[s] != 0 && i_dut.record_tags[s] == TagBits'(tag)) arrives = 1'b1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        Under_Way_A : assert (!(there[tag] || arrives) || under_way);
        Coming_A : assert (!arrives || !there[tag]);
        Done_A : assert (i_dut.done[tag] == (there[tag] && !more[tag]));
        Marks_A : assert (!under_way
            || i_dut.done[tag] == (i_dut.given[tag] != i_dut.finished[tag]));
        More_A : assert (!there[tag] || !more[tag] || TagBits'(tag) == oldest);
        Rows_A : assert (!there[tag] || rows[tag] <= 2'd2);
        Result_A : assert (!there[tag]
            || (i_dut.i_results.memory[tag] == results[tag] && rows[tag] == rows_of(results[tag])));
        More_Same_A : assert (!there[tag] || results[tag][0] == more[tag]);
        Kind_A : assert (!there[tag] || results[tag][wl_pkg::ResultBits-1-:3] == wl_pkg::EXIT_FINISH
            || results[tag][wl_pkg::ResultBits-1-:3] == wl_pkg::EXIT_DROP);
        Fits_A : assert (!there[tag] || window_of(results[tag]) <= 9'(Rows * RowBytes));
        First_Row_A : assert (!(there[tag] && rows[tag] != 0 || arrives)
            || i_dut.i_rows.memory[2*tag] == data[tag][0]);
        Second_Row_A : assert (!(there[tag] && rows[tag] == 2'd2)
            || i_dut.i_rows.memory[2*tag+1] == data[tag][1]);
      end
    end
  end
endmodule
