// Test bench of wl_payload with wl_body_buffer: while bodies wait for their headers, chunks are
// read, written and appended, of several bodies at once, at any place, partly or wholly outside;
// each body leaves with what was written to it, and nothing else. Requests pass at the promised
// rate. Over sizes of chunks, reads, writes and both.
module wl_payload_tb;
  localparam int unsigned Cases = 6;
  localparam bit [Cases*32-1:0] ChunkBytes = {32'd1, 32'd4, 32'd64, 32'd100, 32'd16, 32'd64};
  localparam bit [Cases-1:0] HasRead = 6'b111101;
  localparam bit [Cases-1:0] HasWrite = 6'b111110;
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 6'b000111;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    payload_case #(
        .ChunkBytes(ChunkBytes[32*i+:32]), .HasRead(HasRead[i]), .HasWrite(HasWrite[i])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module payload_case #(
    parameter int unsigned ChunkBytes = 64,
    parameter bit HasRead = 1'b1,
    parameter bit HasWrite = 1'b1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned DataBytes = 64;
  localparam int unsigned Beats = 64;
  localparam int unsigned Spare = 3;
  localparam int unsigned Slots = 8;  // most bodies that wait
  localparam int unsigned Packets = 400;
  localparam int unsigned AddressBits = 6;
  localparam int unsigned Room = 16 * DataBytes;
  localparam int unsigned Spans = (ChunkBytes + DataBytes - 2) / DataBytes + 1;

  logic room, write, close, body_valid, read, free;
  logic [8*DataBytes-1:0] arriving, body;
  logic [AddressBits-1:0] place;
  logic access_read, access_write;
  logic [AddressBits-1:0] access_address, access_write_address;
  logic [8*DataBytes-1:0] access_data, access_write_data;
  wl_body_buffer #(
      .DataBytes(DataBytes), .Beats(Beats), .Packets(Slots), .Spare(Spare), .HasAccess(1'b1)
  ) i_body (
      .clk_i, .rst_i,
      .ready_o(room), .write_i(write), .data_i(arriving), .close_i(close), .place_o(place),
      .access_read_i(access_read), .access_address_i(access_address), .access_data_o(access_data),
      .access_write_i(access_write), .access_write_address_i(access_write_address),
      .access_write_data_i(access_write_data),
      .body_valid_o(body_valid), .read_i(read), .read_data_o(body), .rewind_i(1'b0), .free_i(free)
  );

  localparam int unsigned RequestBits = 32'(HasRead && HasWrite) + AddressBits + 33
      + (HasWrite ? 8 * ChunkBytes : 0);
  localparam int unsigned ReplyBits = HasRead ? 8 * ChunkBytes : 1;
  logic valid, ready, reply_valid;
  logic [2:0] tag, reply_tag;
  logic [RequestBits-1:0] request;
  logic [ReplyBits-1:0] reply;
  wl_payload #(
      .ChunkBytes(ChunkBytes), .HasRead(HasRead), .HasWrite(HasWrite), .DataBytes(DataBytes),
      .AddressBits(AddressBits),
      .TagBits(3)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i(request),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply),
      .access_read_o(access_read), .access_address_o(access_address), .access_data_i(access_data),
      .access_write_o(access_write), .access_write_address_o(access_write_address),
      .access_write_data_o(access_write_data)
  );

  // ---- Bodies arrive, and are stored byte by byte, by slot ----
  byte unsigned bytes[Slots][Room];
  int unsigned length[Slots], longest[Slots];
  logic [AddressBits-1:0] places[Slots];
  int unsigned closed, freed;  // packets so far
  int unsigned beat, beats, in_length;
  logic willing;
  assign write = willing && room && beat < beats;
  assign close = willing && room && beat + 1 >= beats;
  always_comb begin
    for (int unsigned i = 0; i < DataBytes; i++) begin
      arriving[8*i+:8] = tb_pkg::octet(1, closed, beat * DataBytes + i);
    end
  end

  // ---- Requests for a body that has none under way ----
  logic [Slots-1:0] pending;  // a request is under way
  logic [8*ChunkBytes-1:0] expected[Slots];
  logic expects[Slots];  // the data of the reply are valid
  int unsigned requests, cycle, taken, window;

  // ---- The oldest body leaves ----
  logic leaving, was_read;
  int unsigned out_beat, was_beat, out_slot;
  assign out_slot = freed % Slots;
  assign read = leaving && body_valid && out_beat * DataBytes < length[out_slot];
  assign free = leaving && body_valid && !read && !was_read;

  assign done_o = freed == Packets;

  function automatic int choose_slot();
    int found;
    found = -1;
    for (int unsigned n = freed; n < closed; n++) begin
      if (!pending[n%Slots] && !(valid && 32'(tag) == n % Slots) && !(leaving && n == freed)
          && (found < 0 || tb_pkg::chance(100))) begin
        found = int'(n % Slots);
      end
    end
    return found;
  endfunction

  int chosen;  // slot of a request in this cycle
  always @(posedge clk_i) begin
    if (rst_i) begin
      {willing, valid, leaving, was_read} <= '0;
      closed <= 0;
      freed <= 0;
      beat <= 0;
      beats <= 0;
      in_length <= 0;
      pending <= '0;
      requests <= 0;
      cycle <= 0;
      out_beat <= 0;
      taken <= 0;
      window <= 0;
    end else if (!done_o) begin
      cycle <= cycle + 1;
      // Arrival.
      willing <= closed + 32'(close) < Packets && closed + 32'(close) - freed < Slots
          && tb_pkg::chance(200);
      for (int unsigned i = 0; write && i < DataBytes; i++) begin
        bytes[closed%Slots][beat*DataBytes+i] <= arriving[8*i+:8];
      end
      if (write) beat <= beat + 1;
      if (close) begin
        int unsigned next;
        next = tb_pkg::chance(60) ? 0 : $urandom() % (6 * DataBytes);
        places[closed%Slots] <= place;
        length[closed%Slots] <= in_length;
        longest[closed%Slots] <= beats * DataBytes + Spare * DataBytes;
        closed <= closed + 1;
        beat <= 0;
        beats <= (next + DataBytes - 1) / DataBytes;
        in_length <= next;
      end
      // Requests.
      chosen = -1;
      if (!valid || ready) begin
        int slot;
        slot = choose_slot();
        valid <= 1'b0;
        if (slot >= 0 && (cycle < 1000 || tb_pkg::chance(150))) begin
          int unsigned now;
          logic [8*ChunkBytes-1:0] data;
          logic is_write;
          int begins;
          int unsigned limit;
          now = length[slot];
          data = '0;
          is_write = HasWrite && (!HasRead || tb_pkg::chance(120));
          begins = int'($urandom() % (now + 20)) - 10;
          limit = now;
          for (int unsigned i = 0; i < ChunkBytes; i++) data[8*i+:8] = 8'($urandom());
          if (tb_pkg::chance(20)) begin
            begins = tb_pkg::chance(128) ? -256 + int'($urandom() % 256)
                : 65535 - int'($urandom() % 3);
          end
          if (is_write) begin
            int unsigned most;
            most = ChunkBytes;
            if (tb_pkg::chance(80)) begins = int'(now);  // an append
            if (begins >= int'(longest[slot])) begins = 0;
            if (begins + int'(most) > int'(longest[slot])) most = longest[slot] - begins;
            limit = tb_pkg::chance(60) ? most : $urandom() % (most + 1);
            if (begins > int'(now)) begins = int'(now);
            if (begins + int'(limit) > int'(now)) length[slot] <= begins + limit;
            for (int unsigned k = 0; k < limit; k++) begin
              if (begins + int'(k) >= 0) bytes[slot][begins+int'(k)] <= data[8*(ChunkBytes-1-k)+:8];
            end
          end else begin
            for (int unsigned k = 0; k < ChunkBytes; k++) begin
              int at;
              at = begins + int'(k);
              expected[slot][8*(ChunkBytes-1-k)+:8] <= at >= 0 && at < int'(now) ? bytes[slot][at]
                  : 8'd0;
            end
          end
          chosen = slot;
          expects[slot] <= !is_write;
          valid <= 1'b1;
          tag <= 3'(slot);
          if (HasRead && HasWrite) begin
            request <= RequestBits'({is_write, places[slot], 17'(begins), 16'(limit), data});
          end else if (HasWrite) begin
            request <= RequestBits'({places[slot], 17'(begins), 16'(limit), data});
          end else request <= RequestBits'({places[slot], 17'(begins), 16'(limit)});
          requests <= requests + 1;
        end
      end
      if (valid && ready) begin
        if (pending[tag]) $fatal(1, "%m: the bench asks twice");
        pending[tag] <= 1'b1;
      end
      if (reply_valid) begin
        if (!pending[reply_tag]) $fatal(1, "%m: a reply that nobody waits for");
        pending[reply_tag] <= 1'b0;
        if (HasRead && expects[reply_tag] && reply !== ReplyBits'(expected[reply_tag])) begin
          $fatal(1, "%m: body %0d: read %h, not %h", reply_tag, reply, expected[reply_tag]);
        end
      end
      // Throughput: while several requests wait, one is accepted every Spans cycles.
      if (valid && !ready) window <= window + 1;
      else window <= 0;
      if (window > Spans) $fatal(1, "%m: a request waits for %0d cycles", window);
      // Departures.
      was_read <= read;
      was_beat <= out_beat;
      if (read) out_beat <= out_beat + 1;
      if (was_read) begin
        for (int unsigned i = 0; i < DataBytes; i++) begin
          int unsigned at;
          at = was_beat * DataBytes + i;
          if (at < length[out_slot] && body[8*i+:8] !== bytes[out_slot][at]) begin
            $fatal(1, "%m: packet %0d: byte %0d of %0d is %h, not %h", freed, at, length[out_slot],
                body[8*i+:8], bytes[out_slot][at]);
          end
        end
      end
      if (free) begin
        freed <= freed + 1;
        leaving <= 1'b0;
        out_beat <= 0;
      end else if (!leaving && closed > freed && !pending[out_slot]
          && !(valid && 32'(tag) == out_slot) && chosen != int'(out_slot)
          && tb_pkg::chance(30)) begin
        // A thread sends a packet only after its requests are done, so a body with a pending
        // request does not leave.
        leaving <= 1'b1;
      end
    end else if (requests < Packets) begin
      $fatal(1, "%m: only %0d requests", requests);
    end
  end
endmodule
