// Test bench of wl_reorder: packets leave in the order of their tags, with their rows and results,
// for any order in which they finish; copies come before the last record of their packet; one row a
// cycle goes in and out; no tag is assigned twice at a time; everything leaves (no deadlock). Over
// tags, rows, ends of packets, and sources whose rows alternate.
module wl_reorder_tb;
  localparam int unsigned Cases = 8;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  reorder_case #(.Tags(32)) i_32 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  reorder_case #(.Tags(32), .Kind(1)) i_records (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  reorder_case #(.Tags(16), .Kind(2)) i_mixed (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  reorder_case #(.Tags(1), .Kind(2)) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[3]));
  reorder_case #(.Tags(2), .Kind(2), .Rows(1)) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[4]));
  reorder_case #(.Tags(64), .Kind(2), .Rows(9)) i_64 (.clk_i(clk), .rst_i(rst), .done_o(done[5]));
  reorder_case #(.Tags(32), .Sources(2)) i_two (.clk_i(clk), .rst_i(rst), .done_o(done[6]));
  reorder_case #(
      .Tags(16), .Kind(2), .Sources(3)
  ) i_three (.clk_i(clk), .rst_i(rst), .done_o(done[7]));
endmodule

module reorder_case #(
    parameter int unsigned Tags = 32,
    parameter int unsigned Rows = 16,
    parameter int unsigned Kind = 0,  // 0: four rows each; 1: no rows; 2: anything, with copies
    parameter int unsigned Sources = 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned TagBits = wl_pkg::bits(Tags);
  localparam int unsigned FreeBits = wl_pkg::bits(Tags + 1);
  localparam int unsigned RowBytes = 16;
  localparam int unsigned SourceBits = wl_pkg::bits(Sources);

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(1000)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  // The result of record `copy` of packet `number`. `length` holds the number of the packet and
  // `egress` the number of the copy.
  function automatic int unsigned copies(int unsigned number);
    int unsigned random = tb_pkg::mix(number + 5);
    return Kind == 2 && random % 8 == 0 ? 1 + (random >> 8) % 3 : 0;
  endfunction
  function automatic wl_pkg::result_t result_of(int unsigned number, int unsigned copy);
    wl_pkg::result_t result;
    int unsigned random = tb_pkg::mix(tb_pkg::mix(number) + copy);
    result.kind = wl_pkg::EXIT_FINISH;
    result.reason = random[23:0];
    result.egress = 16'(copy);
    result.length = 16'(number);
    result.more = copy < copies(number);
    result.start = '0;
    result.window = 9'd64;
    if (Kind == 1) result.kind = random[0] ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_DONE;
    if (Kind == 2) begin
      result.start = random[3:0];
      result.window = 9'((random >> 4) % (RowBytes * Rows + 1));
      if ((random >> 16) % 8 == 0) result.window = '0;
      if ((random >> 20) % 8 == 0 && !result.more) result.kind = wl_pkg::EXIT_DROP;
      else if (result.more) begin
        result.kind = random[5] ? wl_pkg::EXIT_COPY_TO_CPU : wl_pkg::EXIT_EMIT;
      end
    end
    return result;
  endfunction
  function automatic int unsigned rows_of(wl_pkg::result_t result);
    if (result.kind == wl_pkg::EXIT_DROP || result.kind == wl_pkg::EXIT_DONE
        || result.window == '0) begin
      return 0;
    end
    return (32'(result.window) + RowBytes - 1) / RowBytes;
  endfunction

  logic alloc_valid, alloc_ready, finish_valid, finish_ready, finish_first, finish_last, drained,
      row_valid, row_ready, row_first, row_last;
  logic [TagBits-1:0] alloc_tag, finish_tag, head;
  logic [FreeBits-1:0] free;
  logic [127:0] finish_data, row_data;
  wl_pkg::result_t finish_result, row_result;
  int unsigned source;  // it offers its row

  wl_reorder #(.Tags(Tags), .Rows(Rows), .RowBytes(RowBytes), .Sources(Sources)) i_dut (
      .clk_i, .rst_i,
      .alloc_valid_i(alloc_valid), .alloc_ready_o(alloc_ready), .alloc_tag_o(alloc_tag),
      .free_o(free),
      .finish_valid_i(finish_valid), .finish_ready_o(finish_ready), .finish_first_i(finish_first),
      .finish_last_i(finish_last),
      .finish_source_i(SourceBits'(source)), .finish_data_i(finish_data), .finish_tag_i(finish_tag),
      .finish_result_i(finish_result),
      .order_head_o(head), .order_drained_o(drained),
      .row_valid_o(row_valid), .row_ready_i(row_ready), .row_first_o(row_first),
      .row_last_o(row_last), .row_data_o(row_data),
      .row_result_o(row_result)
  );

  // The engines: packets under way, by tag; each source chooses one of them to finish, at random,
  // or the oldest at full speed. Sources with rows take turns at random.
  int owner[Tags];             // the packet, or -1
  int unsigned copy_of[Tags];  // records of it that have been sent
  int unsigned allocated;
  int unsigned now_row[Sources];
  int choice[Sources];         // the tag that finishes, or -1
  assign finish_valid = choice[source] >= 0;
  assign finish_tag = TagBits'(choice[source]);
  assign finish_result = finish_valid ? result_of(owner[finish_tag], copy_of[finish_tag]) : '0;
  assign finish_first = now_row[source] == 0;
  assign finish_last = rows_of(finish_result) == 0 || now_row[source] == rows_of(finish_result) - 1;
  assign finish_data = 128'(tb_pkg::word(32'(finish_result.length)
      + 32'(finish_result.egress) * 100_000, now_row[source]));

  logic offered;
  int unsigned out_packet, out_copy, out_row, overtakes;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      alloc_valid <= 1'b0;
      row_ready <= 1'b0;
      offered <= 1'b0;
      allocated <= 0;
      source <= 0;
      for (int unsigned s = 0; s < Sources; s++) begin
        now_row[s] <= 0;
        choice[s] <= -1;
      end
      out_packet <= 0;
      out_copy <= 0;
      out_row <= 0;
      overtakes <= 0;
      for (int tag = 0; tag < int'(Tags); tag++) begin
        owner[tag] <= -1;
        copy_of[tag] <= 0;
      end
    end else begin
      int held[Tags];
      bit ends;
      logic [Tags-1:0] taken;  // a source finishes it
      for (int tag = 0; tag < int'(Tags); tag++) held[tag] = owner[tag];
      ends = finish_valid && finish_ready && finish_last;
      alloc_valid <= (alloc_valid && !alloc_ready) || (send && !tb_pkg::chance(idle));
      if (alloc_valid && alloc_ready) begin
        if (owner[alloc_tag] >= 0) $fatal(1, "%m: tag %0d is given twice", alloc_tag);
        if (32'(alloc_tag) !== allocated % Tags) begin
          $fatal(1, "%m: tag %0d is out of order", alloc_tag);
        end
        held[alloc_tag] = int'(allocated);
        copy_of[alloc_tag] <= 0;
        allocated <= allocated + 1;
      end

      // Finish, row by row.
      if (finish_valid && finish_ready) now_row[source] <= finish_last ? 0 : now_row[source] + 1;
      if (ends) begin
        if (finish_result.more) copy_of[finish_tag] <= copy_of[finish_tag] + 1;
        else begin
          held[finish_tag] = -1;
          for (int tag = 0; tag < int'(Tags); tag++) begin
            if (owner[tag] >= 0 && owner[tag] < owner[finish_tag]) overtakes <= overtakes + 1;
          end
        end
      end
      if (!finish_valid || finish_ready) begin
        source <= $urandom() % Sources;
      end
      taken = '0;
      for (int unsigned s = 0; s < Sources; s++) if (choice[s] >= 0) taken[choice[s]] = 1'b1;
      for (int unsigned s = 0; s < Sources; s++) if (choice[s] < 0 || (ends && s == source)) begin
        int next;
        bit oldest;
        int from;
        next = -1;
        oldest = idle == 0 && stall == 0;
        from = int'($urandom() % Tags);
        for (int k = 0; k < int'(Tags); k++) begin
          int tag;
          tag = (from + k) % int'(Tags);
          // A packet that sends copies finishes only while it is at the head, and mostly after its
          // copies have left.
          if (held[tag] >= 0 && owner[tag] >= 0 && !taken[tag]
              && (copies(owner[tag]) == 0
              || (32'(head) == tag && (drained || tb_pkg::chance(64))))) begin
            if (next < 0 || (oldest && owner[tag] < owner[next])) next = tag;
          end
        end
        if (!oldest && tb_pkg::chance(64)) next = -1;
        if (next >= 0) taken[next] = 1'b1;
        choice[s] <= next;
      end
      for (int tag = 0; tag < int'(Tags); tag++) owner[tag] <= held[tag];

      // Output of packets.
      row_ready <= !tb_pkg::chance(stall);
      offered <= row_valid && !row_ready;
      if (offered && !row_valid) $fatal(1, "%m: a row was withdrawn");
      if (row_valid) begin
        wl_pkg::result_t expected;
        int unsigned rows;
        expected = result_of(out_packet, out_copy);
        rows = rows_of(expected);
        if (row_result !== expected) begin
          $fatal(1, "%m: packet %0d, copy %0d: result %p", out_packet, out_copy, row_result);
        end
        if (row_first !== (out_row === 0)
            || row_last !== (rows === 0 || out_row === rows - 1)) begin
          $fatal(1, "%m: packet %0d: row %0d of %0d has first %b, last %b", out_packet, out_row,
              rows, row_first, row_last);
        end
        if (rows !== 0
            && row_data
            !== 128'(tb_pkg::word(out_packet % 65536 + out_copy * 100_000, out_row))) begin
          $fatal(1, "%m: packet %0d: row %0d is %h", out_packet, out_row, row_data);
        end
        if (row_ready) begin
          out_row <= row_last ? 0 : out_row + 1;
          if (row_last && expected.more) out_copy <= out_copy + 1;
          if (row_last && !expected.more) begin
            out_copy <= 0;
            out_packet <= out_packet + 1;
          end
        end
      end
      if (out_packet > allocated) $fatal(1, "%m: a packet comes out that did not go in");
      if (32'(free) > Tags) $fatal(1, "%m: %0d tags free", free);
      if (window && Kind !== 2 && Tags >= 8 && Sources === 1 && !(row_valid && row_ready)) begin
        $fatal(1, "%m: less than a row a cycle");
      end
      if (done_o) begin
        if (out_packet !== allocated || allocated < 60 || free !== FreeBits'(Tags)) begin
          $fatal(1, "%m: in %0d, out %0d, free %0d", allocated, out_packet, free);
        end
        if (Tags > 1 && overtakes === 0) $fatal(1, "%m: none finished before an older one");
      end
    end
  end
endmodule
