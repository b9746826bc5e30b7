// Proof of wl_body_buffer, without accesses of engines: a read shows the next beat of the oldest
// body as it was written, from the first one again after a rewind, and can skip the beats after it;
// bodies are freed whole, in order; a closed body is there two cycles later; and what is refused
// has no room. Unbounded, by induction: a queue of the stored beats and one of the bodies' sizes
// are tied to the memories at the end.
module wl_body_buffer_proof #(
    parameter int unsigned Beats = 4,
    parameter int unsigned Spare = 0,
    parameter int unsigned Ahead = 0,
    parameter int unsigned SkipBits = 0,
    localparam int unsigned ReadBits = SkipBits == 0 ? 1 : SkipBits
) (
    input logic clk_i,
    input logic rst_i,
    input logic write_i,
    input logic close_i,
    input logic [7:0] data_i,
    input logic [ReadBits-1:0] read_i,
    input logic rewind_i,
    input logic free_i
);
  localparam int unsigned Packets = 2;
  localparam int unsigned Left = Spare == 0 ? 0 : Spare + Ahead;
  localparam int unsigned Bits = wl_pkg::bits(Beats);

  logic ready, valid;
  logic [Bits-1:0] place;
  logic [7:0] read_data, unused_access;
  wl_body_buffer #(
      .DataBytes(1), .Beats(Beats), .Packets(Packets), .Spare(Spare), .Ahead(Ahead),
      .SkipBits(SkipBits)
  ) i_dut (
      .clk_i, .rst_i,
      .ready_o(ready), .write_i, .data_i, .close_i, .place_o(place),
      .access_read_i(1'b0), .access_address_i('0), .access_data_o(unused_access),
      .access_write_i(1'b0),
      .access_write_address_i('0), .access_write_data_i('0),
      .body_valid_o(valid), .read_i, .read_data_o(read_data), .rewind_i, .free_i
  );

  // The beats stored, the oldest first; those that are left free after a body are not known.
  logic [Beats-1:0] known, known_next;
  logic [Beats-1:0][7:0] beats, beats_next;
  logic [3:0] used, open;  // beats stored; of the body that is being written
  // The sizes of the closed bodies, the oldest first, with the beats left free.
  logic [Packets:0][3:0] sizes, sizes_next;
  logic [1:0] bodies;
  logic [3:0] reads;  // beats read of the oldest body since its begin
  logic [3:0] freed, added;
  assign freed = free_i ? sizes[0] : '0;
  assign added = 4'(write_i) + (close_i ? 4'(Left) : '0);
  always_comb begin
    known_next = known >> freed;
    beats_next = beats >> {freed, 3'd0};
    for (int unsigned i = 0; i < Beats; i++) begin
      if (i >= 32'(used) - 32'(freed)) known_next[i] = 1'b0;
      if (write_i && i == 32'(used) - 32'(freed)) begin
        known_next[i] = 1'b1;
        beats_next[i] = data_i;
      end
    end
    sizes_next = free_i ? sizes >> 4 : sizes;
    for (int unsigned i = 0; i <= Packets; i++) begin
      if (close_i && i == 32'(bodies) - 32'(free_i)) sizes_next[i] = open + added;
    end
  end

  logic was_read, was_known;
  logic [7:0] was;
  logic [1:0] waited;
  logic [3:0] at;
  assign at = 4'(Ahead) + reads;

  logic [6:0] closed;  // beats of the closed bodies
  always_comb begin
    closed = '0;
    for (int unsigned i = 0; i <= Packets; i++) if (i < 32'(bodies)) closed += 7'(sizes[i]);
  end

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    Either_M : assume (!(rewind_i && free_i));
    // Only beats of the body are read or skipped; it ends where its spare beats begin.
    Read_M : assume (read_i == '0 || 32'(at) + 32'(read_i) <= 32'(sizes[0]));
    was_read <= !rst_i && read_i != '0;
    was_known <= known[at[Bits-1:0]];
    was <= beats[at[Bits-1:0]];
    if (rst_i) begin
      {known, used, open, bodies, reads, waited} <= '0;
    end else begin
      known <= known_next;
      beats <= beats_next;
      sizes <= sizes_next;
      used <= used - freed + added;
      open <= close_i ? '0 : open + 4'(write_i);
      bodies <= bodies - 2'(free_i) + 2'(close_i);
      reads <= free_i || rewind_i ? '0 : reads + 4'(read_i);
      waited <= bodies != 0 && !valid ? waited + 2'd1 : '0;

      Data_A : assert (!was_read || !was_known || read_data == was);
      Valid_A : assert (!valid || bodies != 0);
      Prompt_A : assert (waited < 2'd2);
      Room_A : assert (ready || 32'(used) + Left >= Beats || 32'(bodies) >= Packets);
      Place_A : assert (place == Bits'(32'(i_dut.head) + 32'(closed) + Ahead));

      // The registers match the model.
      Used_A : assert (32'(i_dut.used) == 32'(used) && 32'(i_dut.open) == 32'(open)
          && 32'(used) == 32'(closed) + 32'(open));
      Fits_A : assert (32'(used) <=
          Beats && 32'(bodies) <= Packets + 1 && 32'(i_dut.i_packets.fill_o) == 32'(bodies));
      Pointers_A : assert (i_dut.tail == Bits'(32'(i_dut.head) + 32'(used))
          && i_dut.next == Bits'(32'(i_dut.head) + 32'(at)));
      Reads_A : assert (bodies == 0 ? reads == 0 : reads == 0 || 32'(at) <= 32'(sizes[0]));
      Sizes_A : assert (!valid || 32'(i_dut.beats) == 32'(sizes[0]));
      Places_A : assert (i_dut.i_packets.tail
          == 1'(32'(i_dut.i_packets.head) + 32'(i_dut.i_packets.stored)));
    end
  end
  for (genvar i = 0; i < Beats; i++) begin : g_beat
    logic [Bits-1:0] address;
    assign address = Bits'(32'(i_dut.head) + i);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        Stored_A : assert (!known[i]
            || (i < 32'(used) && i_dut.i_data.memory[address] == beats[i]));
      end
    end
  end
  for (genvar i = 0; i < Packets; i++) begin : g_body
    logic [0:0] address;
    assign address = i_dut.i_packets.head + 1'(i);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        Size_A : assert (i >= 32'(i_dut.i_packets.stored)
            || 32'(i_dut.i_packets.i_ram.memory[address]) == 32'(sizes[i+32'(valid)]));
      end
    end
  end
endmodule
