// Test bench of wl_rate_adapter: every slot of every core cycle reaches the memory side in order,
// once, and its reply returns in its slot after exactly the promised number of core cycles. Over
// ratios and latencies of the memory.
module wl_rate_adapter_tb;
  localparam int unsigned Cases = 12;
  localparam int unsigned Cuts = 6;
  localparam bit [Cases*32-1:0] Slots =
      {32'd1, 32'd1, 32'd2, 32'd2, 32'd3, 32'd3, 32'd3, 32'd3, 32'd3, 32'd4, 32'd6, 32'd6};
  localparam bit [Cases*32-1:0] Latency =
      {32'd0, 32'd3, 32'd0, 32'd5, 32'd0, 32'd1, 32'd2, 32'd5, 32'd8, 32'd7, 32'd4, 32'd9};

  logic unused_clk, unused_rst;
  logic [Cases+Cuts-1:0] done;
  tb_end #(.Cases(Cases + Cuts)) i_end (.clk_o(unused_clk), .rst_o(unused_rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    adapter_case #(
        .Slots(Slots[32*i+:32]), .MemoryLatency(Latency[32*i+:32])
    ) i_case (.done_o(done[i]));
  end
  for (genvar i = 0; i < Cuts; i++) begin : g_cut
    cut_case #(.Slots(i + 1)) i_case (.done_o(done[Cases+i]));
  end
endmodule

// Resets at any time: of the words of a core cycle all leave, in order, or none.
module cut_case #(
    parameter int unsigned Slots = 3
) (
    output logic done_o
);
  localparam int unsigned Resets = 60;
  logic clk, clk_mem, rst;
  int unsigned resets, left;  // half cycles of the memory's clock until the reset changes
  assign done_o = resets == Resets;
  initial begin
    {clk, clk_mem, rst} = 3'b001;
    resets = 0;
    left = 7 * Slots;
    for (int unsigned half = 0; !done_o; half++) begin
      clk_mem = half % 2 == 0;
      clk = half % (2 * Slots) < Slots;
      #1;
      left--;
      // It is released at an edge of the core's clock at which no register looks at it.
      if (rst && left <= 2 * Slots && half % (2 * Slots) == Slots) begin
        rst = 1'b0;
        left = 16 * Slots + $urandom() % (4 * Slots);
      end else if (!rst && left == 0) begin
        rst = 1'b1;
        left = 4 * Slots + $urandom() % (4 * Slots);
        resets++;
      end
    end
  end

  // Each word names its core cycle and its slot.
  logic [15:0] cycle;
  initial cycle = '0;
  always_ff @(posedge clk) cycle <= cycle + 1'b1;
  logic [Slots*25-1:0] down;
  for (genvar k = 0; k < Slots; k++) begin : g_slot
    assign down[k*25+:25] = {1'b1, 8'(k), cycle};
  end
  logic [24:0] word;
  logic [Slots-1:0] unused;
  wl_rate_adapter #(
      .Slots(Slots), .DownWidth(25), .UpWidth(1), .MemoryLatency(1)
  ) i_dut (
      .clk_i(clk), .rst_i(rst), .down_i(down), .up_o(unused), .clk_mem_i(clk_mem), .down_o(word),
      .up_i(1'b0)
  );

  logic [7:0] slot;  // of the next word
  logic [15:0] of;   // its core cycle, if it is not the first
  initial slot = '0;
  always_ff @(posedge clk_mem) begin
    // Before the first reset the adapter knows nothing.
    if (resets != 0 || !rst) begin
      if (!word[24] && slot !== '0) $fatal(1, "%m: only %0d words of cycle %0d leave", slot, of);
      if (word[24]) begin
        if (word[23:16] !== slot || (slot !== '0 && word[15:0] !== of)) begin
          $fatal(1, "%m: word %0d of cycle %0d leaves after %0d of %0d", word[23:16], word[15:0],
              slot, of);
        end
        of   <= word[15:0];
        slot <= slot === 8'(Slots - 1) ? '0 : slot + 1'b1;
      end
    end
  end
endmodule

module adapter_case #(
    parameter int unsigned Slots = 3,
    parameter int unsigned MemoryLatency = 5
) (
    output logic done_o
);
  localparam int unsigned Latency = wl_pkg::adapter_latency(Slots, MemoryLatency);

  // One process drives both clocks, so that their common edges coincide.
  logic clk, clk_mem, rst;
  initial begin
    {clk, clk_mem, rst} = 3'b001;
    for (int unsigned edge_ = 0; !done_o; edge_++) begin
      // One memory cycle.
      clk_mem = 1'b1;
      if (edge_ % Slots == 0) clk = 1'b1;
      #1;
      clk_mem = 1'b0;
      if (edge_ % Slots == Slots / 2) clk = 1'b0;
      if (edge_ == 3 * Slots + Slots / 2) rst = 1'b0;
      #1;
    end
  end

  // The words to the memory: {1, word}. The number of a word is that of its core cycle times Slots,
  // plus its slot.
  int unsigned cycle;  // cycles since reset
  logic [Slots*33-1:0] down;
  logic [Slots*16-1:0] up;
  for (genvar k = 0; k < Slots; k++) begin : g_slot
    // Some slots are not used.
    assign down[k*33+:33] = cycle != 0 && tb_pkg::last(2, cycle * Slots + k) ? '0
        : {1'b1, 32'(tb_pkg::word(1, cycle * Slots + k))};
  end

  logic [32:0] memory_down;
  logic [15:0] memory_up;
  wl_rate_adapter #(
      .Slots(Slots), .DownWidth(33), .UpWidth(16), .MemoryLatency(MemoryLatency)
  ) i_dut (
      .clk_i(clk), .rst_i(rst), .down_i(down), .up_o(up), .clk_mem_i(clk_mem), .down_o(memory_down),
      .up_i(memory_up)
  );

  // The memory replies with the upper half of the word.
  logic [MemoryLatency:0][15:0] line;
  always_ff @(posedge clk_mem) begin
    for (int unsigned i = 1; i <= MemoryLatency; i++) begin
      line[i] <= i == 1 ? memory_down[31:16] : line[i-1];
    end
  end
  assign memory_up = MemoryLatency == 0 ? memory_down[31:16] : line[MemoryLatency];

  // The words that arrive at the memory: those of the second core cycle after reset on, in a row.
  int unsigned next;
  int unsigned words;
  logic begun;
  always_ff @(posedge clk_mem) begin
    if (rst) begin
      begun <= 1'b0;
      words <= 0;
    end else if (!begun) begin
      // The first valid word is the first that the adapter transfers, unless that slot is empty.
      if (memory_down[32]) begin
        begun <= 1'b1;
        next <= find(memory_down[31:0]) + 1;
      end
    end else begin
      bit used;
      used = !tb_pkg::last(2, next);
      if (memory_down[32] !== used
          || (used && memory_down[31:0] !== 32'(tb_pkg::word(1, next)))) begin
        $fatal(1, "%m: word %0d at the memory is %h", next, memory_down);
      end
      next <= next + 1;
      words <= words + 32'(used);
    end
  end
  function automatic int unsigned find(logic [31:0] word);
    for (int unsigned i = Slots; i < 3 * Slots; i++) if (word === 32'(tb_pkg::word(1, i))) return i;
    $fatal(1, "%m: the first word at the memory, %h, is none of the first that were sent", word);
    return 0;
  endfunction

  assign done_o = cycle == 600;
  always_ff @(posedge clk) begin
    if (rst) cycle <= 0;
    else if (!done_o) begin
      cycle <= cycle + 1;
      if (cycle >= Latency + 1) begin
        for (int unsigned k = 0; k < Slots; k++) begin
          int unsigned number;
          logic [31:0] word;
          number = (cycle - Latency) * Slots + k;
          word = tb_pkg::last(2, number) ? '0 : 32'(tb_pkg::word(1, number));
          if (up[k*16+:16] !== word[31:16]) begin
            $fatal(1, "%m: slot %0d of cycle %0d came back as %h", k, cycle - Latency,
                up[k*16+:16]);
          end
        end
      end
      if (cycle === 599 && words < 300) $fatal(1, "%m: only %0d words at the memory", words);
    end
  end
endmodule
