// Test bench of a generated lookup service with QDR memories (crates/np/tests/suite/lookup.rs writes what it reads).
//
// First `Keys` lookups without a pause: one reply a cycle, each `Latency` cycles after its request, each with the expected value. Then
// the control plane's updates: while the writes of one go on, lookups of keys around it flow, with pauses and without; each answers the
// value of before or after an update that was under way while it was. At the end every memory reads back as it was written.
module lookup_tb #(
    parameter int unsigned Keys = 1,
    parameter int unsigned Updates = 1,
    parameter int unsigned Pool = 1,     // keys of an update
    parameter int unsigned Writes = 1,   // lines of all updates
    parameter int unsigned Latency = 1,
    parameter int unsigned KeyBits = 32,
    parameter int unsigned ValueBits = 27
);
  localparam int unsigned Slots = 3;
  localparam int unsigned MemoryLatency = 10;
  localparam int unsigned ReadLatency = wl_pkg::adapter_latency(Slots, MemoryLatency);
  localparam int unsigned CtlBits = 288;
  localparam int unsigned TagBits = 24;
  localparam int unsigned AddressBits = 21;
`ifdef TWO_CHANNELS
  localparam int unsigned Channels = 2;
`else
  localparam int unsigned Channels = 1;
`endif

  logic clk, clk_mem, rst;
  tb_clocks #(
      .Slots(Slots)
  ) i_clocks (
      .clk_o(clk),
      .clk_mem_o(clk_mem),
      .rst_o(rst)
  );

  logic request_valid, request_ready, reply_valid;
  logic [TagBits-1:0] request_tag, reply_tag;
  logic [KeyBits-1:0] request_data;
  logic [ValueBits-1:0] reply_data;
  logic ctl_valid, ctl_write;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_data;
  logic [Channels:0] done;
  logic [(Channels+1)*CtlBits-1:0] answer;
  logic [Channels*Slots-1:0] read_valid;
  logic [Channels*Slots*AddressBits-1:0] read_address;
  logic [Channels*Slots*36-1:0] read_data;
  logic [Channels-1:0] hold;

  `LOOKUP #(
`ifdef TWO_CHANNELS
      .NearLatency(ReadLatency),
      .FarLatency (ReadLatency),
`else
      .MemoryLatency(ReadLatency),
`endif
      .TagBits(TagBits),
      .ValueBits(ValueBits),
      .Values(1000),
      .CtlBits(CtlBits),
      .CtlTarget(8'(Channels)),
      .Image("trie")
  ) i_lookup (
      .clk_i(clk),
      .rst_i(rst),
      .request_valid_i(request_valid),
      .request_ready_o(request_ready),
      .request_tag_i(request_tag),
      .request_data_i(request_data),
      .reply_valid_o(reply_valid),
      .reply_tag_o(reply_tag),
      .reply_data_o(reply_data),
`ifdef TWO_CHANNELS
      .near_read_valid_o(read_valid[Slots-1:0]),
      .near_read_address_o(read_address[Slots*AddressBits-1:0]),
      .near_read_data_i(read_data[Slots*36-1:0]),
      .near_hold_i(hold[0]),
      .far_read_valid_o(read_valid[2*Slots-1:Slots]),
      .far_read_address_o(read_address[2*Slots*AddressBits-1:Slots*AddressBits]),
      .far_read_data_i(read_data[2*Slots*36-1:Slots*36]),
      .far_hold_i(hold[1]),
`else
      .memory_read_valid_o(read_valid),
      .memory_read_address_o(read_address),
      .memory_read_data_i(read_data),
      .memory_hold_i(hold[0]),
`endif
      .ctl_valid_i(ctl_valid),
      .ctl_write_i(ctl_write),
      .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_data),
      .ctl_done_o(done[Channels]),
      .ctl_data_o(answer[Channels*CtlBits+:CtlBits])
  );

  for (genvar c = 0; c < Channels; c++) begin : g_channel
    logic rd_cmd, wr_cmd;
    logic [AddressBits-1:0] rd_addr, wr_addr;
    logic [35:0] rd_data, wr_data;
    wl_memory_channel #(
        .Slots(Slots),
        .MemoryLatency(MemoryLatency),
        .CtlBits(CtlBits),
        .CtlTarget(8'(c))
    ) i_channel (
        .clk_i(clk),
        .rst_i(rst),
        .read_valid_i(read_valid[c*Slots+:Slots]),
        .read_address_i(read_address[c*Slots*AddressBits+:Slots*AddressBits]),
        .read_data_o(read_data[c*Slots*36+:Slots*36]),
        .write_valid_i('0),
        .write_address_i('0),
        .write_data_i('0),
        .hold_o(hold[c]),
        .ctl_valid_i(ctl_valid),
        .ctl_write_i(ctl_write),
        .ctl_target_i(ctl_target),
        .ctl_address_i(ctl_address),
        .ctl_data_i(ctl_data),
        .ctl_done_o(done[c]),
        .ctl_data_o(answer[c*CtlBits+:CtlBits]),
        .clk_mem_i(clk_mem),
        .rd_cmd_o(rd_cmd),
        .rd_addr_o(rd_addr),
        .rd_data_i(rd_data),
        .wr_cmd_o(wr_cmd),
        .wr_addr_o(wr_addr),
        .wr_data_o(wr_data)
    );
    wl_qdr_model #(
        .Latency(MemoryLatency),
        .Image  (c == 0 ? "near" : "far")
    ) i_memory (
        .clk_mem_i(clk_mem),
        .rd_cmd_i(rd_cmd),
        .rd_addr_i(rd_addr),
        .rd_data_o(rd_data),
        .wr_cmd_i(wr_cmd),
        .wr_addr_i(wr_addr),
        .wr_data_i(wr_data)
    );
  end

  // {key, value}; {key, value before, behind, behind the next update}; {kind, target, address, data}: kind 0 writes, 1 waits until
  // all lookups have ended, 2 ends an update.
  logic [KeyBits+31:0] keys[Keys];
  logic [KeyBits+95:0] pool[Updates*Pool];
  logic [CtlBits+47:0] writes[Writes];
  string folder;

  // Replies. A tag is the index of the key; its top bit says that it belongs to an update.
  int unsigned replies, since[int unsigned];
  longint unsigned cycle;
  always @(posedge clk) begin
    if (rst) cycle <= 0;
    else cycle <= cycle + 1;
    if (!rst && reply_valid) begin
      replies <= replies + 1;
      if (reply_tag[TagBits-1]) begin
        automatic logic [KeyBits+95:0] line = pool[reply_tag[TagBits-2:0]];
        if (reply_data != line[64+:ValueBits] && reply_data != line[32+:ValueBits] && reply_data != line[0+:ValueBits])
          $fatal(1, "key %h: %h, which is not one of %h %h %h", line[96+:KeyBits], reply_data, line[95:64], line[63:32], line[31:0]);
      end else begin
        automatic logic [KeyBits+31:0] line = keys[reply_tag[TagBits-2:0]];
        if (reply_data != line[ValueBits-1:0]) $fatal(1, "key %h: %h instead of %h", line[32+:KeyBits], reply_data, line[31:0]);
        if (cycle != first + 64'(reply_tag) + 64'(Latency))
          $fatal(1, "the reply to lookup %0d came in cycle %0d after the first request", reply_tag, cycle - first);
      end
    end
  end
  longint unsigned first;

  // The control plane.
  task automatic access(input logic write, input logic [7:0] target, input logic [31:0] address, input logic [CtlBits-1:0] data);
    ctl_valid = 1'b1;
    ctl_write = write;
    ctl_target = target;
    ctl_address = address;
    ctl_data = data;
    do @(negedge clk); while (done == '0);
    @(posedge clk) #1 ctl_valid = 1'b0;
    @(negedge clk);
  endtask

  int unsigned written, ended;  // lines of writes, updates
  logic updating;
  task automatic update();
    automatic logic at_end = 1'b0;
    updating = 1'b1;
    while (!at_end) begin
      automatic logic [CtlBits+47:0] line = writes[written];
      case (line[CtlBits+40+:8])
        0: access(1'b1, line[CtlBits+32+:8], line[CtlBits+:32], line[CtlBits-1:0]);
        1: repeat (Latency + 1) @(negedge clk);
        default: at_end = 1'b1;
      endcase
      written++;
    end
    updating = 1'b0;
  endtask

  function automatic logic [CtlBits-1:0] any();
    automatic logic [CtlBits-1:0] found = '0;
    for (int unsigned k = 0; k <= Channels; k++) found |= answer[k*CtlBits+:CtlBits];
    return found;
  endfunction

  initial begin
    request_valid = 1'b0;
    ctl_valid = 1'b0;
    replies = 0;
    written = 0;
    updating = 1'b0;
    if ($value$plusargs("folder=%s", folder) == 0) $fatal(1, "+folder= is missing");
    $readmemh({folder, "/keys.hex"}, keys);
    $readmemh({folder, "/pool.hex"}, pool);
    $readmemh({folder, "/writes.hex"}, writes);
    @(negedge rst);
    repeat (4) @(negedge clk);

    first = cycle;
    for (int unsigned k = 0; k < Keys; k++) begin
      request_valid = 1'b1;
      request_tag = TagBits'(k);
      request_data = keys[k][32+:KeyBits];
      #1;
      if (!request_ready) $fatal(1, "the service does not take a request every cycle");
      @(negedge clk);
    end
    request_valid = 1'b0;
    repeat (Latency + 2) @(negedge clk);
    if (replies != Keys) $fatal(1, "%0d replies to %0d lookups", replies, Keys);

    for (int unsigned u = 0; u < Updates; u++) begin
      automatic int unsigned asked = 0;
      fork
        update();
        begin
          @(negedge clk);
          // Long enough that only two updates are ever seen by one lookup.
          while (updating || asked < Latency + 8) begin
            automatic int unsigned pick = u * Pool + ($urandom() % Pool);
            request_valid = u % 3 != 0 || $urandom() % 4 != 0;
            request_tag = {1'b1, (TagBits - 1)'(pick)};
            request_data = pool[pick][96+:KeyBits];
            #1;
            if (!request_ready) request_valid = 1'b0;
            asked++;
            @(negedge clk);
          end
          request_valid = 1'b0;
        end
      join
    end
    repeat (Latency + 2) @(negedge clk);

    // What was written last to each address is read back, while lookups take all but the idle cycles.
    fork : reading
      forever begin
        request_valid = 1'b1;
        request_tag = {1'b1, (TagBits - 1)'((Updates - 1) * Pool)};
        request_data = pool[(Updates-1)*Pool][96+:KeyBits];
        #1;
        if (!request_ready) request_valid = 1'b0;
        @(negedge clk);
      end
      begin
        automatic int unsigned checked = 0;
        for (int unsigned w = Writes; w > 0 && checked < 40; w--) begin
          automatic logic [CtlBits+47:0] line = writes[w-1];
          automatic logic last = line[CtlBits+40+:8] == 0;
          for (int unsigned v = w; v < Writes; v++) if (writes[v][CtlBits+:48] == line[CtlBits+:48]) last = 1'b0;
          if (last) begin
            automatic logic [CtlBits-1:0] found;
            ctl_valid = 1'b1;
            ctl_write = 1'b0;
            ctl_target = line[CtlBits+32+:8];
            ctl_address = line[CtlBits+:32];
            do @(negedge clk); while (done == '0);
            found = any();
            @(posedge clk) #1 ctl_valid = 1'b0;
            @(negedge clk);
            if (found != line[CtlBits-1:0]) $fatal(1, "target %0d, %h: %h instead of %h", ctl_target, ctl_address, found, line[CtlBits-1:0]);
            checked++;
          end
        end
      end
    join_any
    disable reading;
    $display("PASS");
    $finish;
  end
endmodule
