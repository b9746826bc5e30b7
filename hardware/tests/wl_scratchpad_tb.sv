// Test bench of wl_scratchpad: bytes, masks, the latency from writes to reads, and priorities, over
// threads, ports, bytes of a word and storage.
module wl_scratchpad_tb;
  localparam int unsigned Cases = 11;
  localparam bit [Cases*32-1:0] Threads =
      {32'd4, 32'd1, 32'd5, 32'd2, 32'd1, 32'd2, 32'd5, 32'd8, 32'd1, 32'd4, 32'd8};
  localparam bit [Cases*32-1:0] ReadPorts =
      {32'd2, 32'd1, 32'd1, 32'd2, 32'd1, 32'd3, 32'd2, 32'd1, 32'd1, 32'd2, 32'd1};
  localparam bit [Cases*32-1:0] WritePorts =
      {32'd2, 32'd1, 32'd2, 32'd1, 32'd1, 32'd1, 32'd2, 32'd2, 32'd2, 32'd1, 32'd2};
  localparam bit [Cases*32-1:0] Widths =
      {32'd8, 32'd8, 32'd4, 32'd4, 32'd16, 32'd16, 32'd16, 32'd16, 32'd16, 32'd16, 32'd16};
  localparam bit [Cases*32-1:0] Storages =
      {32'd1, 32'd0, 32'd0, 32'd1, 32'd0, 32'd0, 32'd0, 32'd0, 32'd1, 32'd1, 32'd1};
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 11'b10100100100;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    scratchpad_case #(
        .Threads(Threads[32*i+:32]), .ReadPorts(ReadPorts[32*i+:32]),
        .WritePorts(WritePorts[32*i+:32]), .HeaderBytes(Widths[32*i+:32]),
        .Storage(Storages[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module scratchpad_case #(
    parameter int unsigned Threads = 4,
    parameter int unsigned ReadPorts = 1,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,
    parameter int unsigned Storage = 0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned ThreadBits = wl_pkg::bits(Threads);
  localparam int unsigned Cycles = 6000;
  localparam int unsigned Word = 8 * HeaderBytes;
  localparam int WriteSeen = 2 + WritePorts - 1;  // cycles from a write to a read that sees it
  localparam int LoadSeen = 1;

  logic [ThreadBits-1:0] read_thread, write_thread, load_thread, unload_thread;
  logic [7:0] read_front;
  logic [8:0] read_window;
  logic [ReadPorts*17-1:0] read_offset;
  logic [ReadPorts*Word-1:0] read_words;
  logic [WritePorts-1:0] write_valid;
  logic [WritePorts*8-1:0] write_address;
  logic [WritePorts*HeaderBytes-1:0] write_strobe;
  logic [WritePorts*Word-1:0] write_data;
  logic write_zero, write_busy, load_valid, load_ready, unload_valid;
  logic [3:0] load_row;
  logic [7:0] unload_address;
  logic [127:0] load_data, unload_data;
  wl_scratchpad #(
      .Threads(Threads), .ReadPorts(ReadPorts), .WritePorts(WritePorts), .HeaderBytes(HeaderBytes),
      .Storage(Storage)
  ) i_dut (
      .clk_i, .rst_i, .read_thread_i(read_thread), .read_front_i(read_front),
      .read_window_i(read_window),
      .read_offset_i(read_offset), .read_words_o(read_words),
      .write_valid_i(write_busy ? '0 : write_valid),
      .write_thread_i(write_thread), .write_address_i(write_address), .write_strobe_i(write_strobe),
      .write_data_i(write_data),
      .write_zero_i(write_zero && write_valid[0] && !write_busy), .write_busy_o(write_busy),
      .load_valid_i(load_valid), .load_ready_o(load_ready),
      .load_thread_i(load_thread), .load_row_i(load_row), .load_data_i(load_data),
      .unload_thread_i(unload_thread),
      .unload_address_i(unload_address), .unload_valid_o(unload_valid), .unload_data_o(unload_data)
  );

  // The contents, and the first cycle in which a read of the thread sees all of them.
  logic [255:0][7:0] memory[Threads];
  int seen_at[Threads];
  int cycle, reads, unloads, refused;
  logic wrote, two_before;  // in the cycle before: a write; in the cycle before that: two words
  logic [2:0] check;
  logic [ReadPorts*Word-1:0] expected[4];
  logic ask_before;
  logic [127:0] row_before;
  assign done_o = cycle >= Cycles;

  // The 16 bytes from an address on, each in its lane.
  function automatic logic [127:0] row_of(logic [255:0][7:0] bytes, logic [7:0] address);
    for (int k = 0; k < 16; k++) row_of[8*(15-(address+k)%16)+:8] = bytes[8'(address+k)];
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      check <= '0;
      write_valid <= '0;
      load_valid <= 1'b0;
      wrote <= 1'b0;
      two_before <= 1'b0;
      ask_before <= 1'b0;
      reads <= 0;
      unloads <= 0;
      refused <= 0;
      for (int unsigned t = 0; t < Threads; t++) begin
        seen_at[t] = 0;
        for (int b = 0; b < 256; b++) memory[t][b] = 'x;
      end
      load_row <= '0;
      load_thread <= '0;
    end else begin
      // The first cycles load every row of every thread, so that all contents are known.
      bit preparing, writes;
      cycle <= cycle + 1;
      preparing = cycle < int'(Threads * 16 + 4);

      // Reads: data for an address in this cycle come three cycles later.
      check <= {check[1:0], !preparing && cycle >= seen_at[read_thread]};
      for (int unsigned p = 0; p < ReadPorts; p++) begin
        for (int unsigned k = 0; k < HeaderBytes; k++) begin
          int unsigned at;  // a cast to 8 bits of a signed number would be a signed, negative index
          at = 32'(read_offset[17*p+:17]) + k;
          expected[0][Word*p+8*(HeaderBytes-1-k)+:8] = at < 32'(read_window)
              ? memory[read_thread][8'(32'(read_front)+at)] : 8'd0;
        end
      end
      expected[1] <= expected[0];
      expected[2] <= expected[1];
      expected[3] <= expected[2];
      if (check[2]) begin
        reads <= reads + 1;
        if (read_words !== expected[3]) $fatal(1, "%m: words %h, not %h", read_words, expected[3]);
      end
      read_thread <= ThreadBits'($urandom() % Threads);
      read_front  <= 8'($urandom());
      read_window <= 9'($urandom() % 257);
      for (int unsigned p = 0; p < ReadPorts; p++) begin
        read_offset[17*p+:17] <= tb_pkg::chance(32) ? 17'($urandom()) : 17'($urandom() % 270);
      end

      // Unloading: the row addressed in this cycle from LUT RAM, that of the cycle before from
      // block RAM.
      if (unload_valid
          && (Storage == 0 ? !preparing && cycle >= seen_at[unload_thread] : ask_before)) begin
        unloads <= unloads + 1;
        if (unload_data
            !== (Storage === 0 ? row_of(memory[unload_thread], unload_address) : row_before)) begin
          $fatal(1, "%m: a row is %h", unload_data);
        end
      end
      ask_before <= !preparing && cycle >= seen_at[unload_thread];
      row_before <= row_of(memory[unload_thread], unload_address);
      unload_thread <= ThreadBits'($urandom() % Threads);
      unload_address <= 8'($urandom());

      // A load that is accepted precedes a write in the same cycle.
      if (load_valid && load_ready) begin
        for (int k = 0; k < 16; k++) memory[load_thread][16*load_row+k] = load_data[8*(15-k)+:8];
        if (seen_at[load_thread] < cycle + LoadSeen) seen_at[load_thread] = cycle + LoadSeen;
      end

      // Writes are never refused except in the second cycle of two words; loads yield to them and
      // to nothing else.
      writes = !write_busy && write_valid != '0;
      if (writes) begin
        for (int unsigned w = 0; w < WritePorts; w++) begin
          for (int unsigned k = 0; k < HeaderBytes; k++) begin
            if (write_valid[w] && write_strobe[HeaderBytes*w+k]) begin
              memory[write_thread][8'(write_address[8*w+:8]+8'(k))] =
                  w == 0 && write_zero ? 8'd0 : write_data[Word*w+8*(HeaderBytes-1-k)+:8];
            end
          end
        end
        seen_at[write_thread] = cycle + WriteSeen;
      end
      wrote <= writes;
      if (load_ready !== !(wrote || two_before)) $fatal(1, "%m: load ready is %b", load_ready);
      two_before <= write_busy;
      if (load_valid && !load_ready) refused <= refused + 1;
      if (!load_valid || load_ready) begin
        if (preparing) begin
          load_valid <= cycle < int'(Threads * 16);
          {load_thread, load_row} <= (ThreadBits + 4)'(cycle);
        end else begin
          load_valid <= tb_pkg::chance(64);
          {load_thread, load_row} <= {ThreadBits'($urandom() % Threads), 4'($urandom())};
        end
        load_data <= {$urandom(), $urandom(), $urandom(), $urandom()};
      end
      write_valid  <= preparing ? '0 : WritePorts'($urandom() & $urandom());
      write_thread <= ThreadBits'($urandom() % Threads);
      write_zero   <= tb_pkg::chance(32);
      for (int unsigned w = 0; w < WritePorts; w++) begin
        write_address[8*w+:8] <= 8'($urandom());
        write_strobe[HeaderBytes*w+:HeaderBytes] <= HeaderBytes'($urandom() | $urandom());
        write_data[Word*w+:Word] <= Word'({$urandom(), $urandom(), $urandom(), $urandom()});
      end
      if (done_o && (reads < 300 || unloads < 300 || refused < 100)) begin
        $fatal(1, "%m: %0d reads, %0d rows unloaded, %0d loads refused", reads, unloads, refused);
      end
    end
  end
endmodule
