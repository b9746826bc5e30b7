// Test bench of wl_pipeline_unload: packets leave in order, each byte of a window at its place in a
// beat, with their results on every beat; those without data as one beat; each is reported once.
// Over packets, headroom and bytes of a beat, with windows that begin anywhere and have any length,
// idle cycles and back-pressure.
module wl_pipeline_unload_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Packets = {32'd64, 32'd5, 32'd1, 32'd64, 32'd3};
  localparam bit [Cases*32-1:0] Headrooms = {32'd128, 32'd48, 32'd16, 32'd0, 32'd128};
  localparam bit [Cases*32-1:0] Beats = {32'd64, 32'd128, 32'd64, 32'd32, 32'd16};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    unload_case #(
        .Packets(Packets[32*i+:32]), .Headroom(Headrooms[32*i+:32]), .DataBytes(Beats[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module unload_case #(
    parameter int unsigned Packets = 4,
    parameter int unsigned Headroom = 16,
    parameter int unsigned DataBytes = 64
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Bytes = Headroom + 128;
  localparam int unsigned First = 128 - Headroom;  // physical byte of the lowest
  localparam int unsigned ResultBits = wl_pkg::ResultBits;

  logic send, full_speed;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(full_speed), .done_o
  );

  // Packets follow from their number: byte p of the memory, where the window begins, its length,
  // and the kind of end. Every other phase has windows of one beat only.
  function automatic int unsigned begin_of(int unsigned number);
    return First + tb_pkg::mix(number) % Bytes;
  endfunction
  function automatic int unsigned length_of(int unsigned number);
    int unsigned most;
    most = 256 - begin_of(number);
    if (tb_pkg::mix(number + 7) % 8 == 0) return 0;
    if (number < 400) return 1 + tb_pkg::mix(number + 1) % (most < 16 ? most : 16);
    return 1 + tb_pkg::mix(number + 1) % most;
  endfunction
  function automatic wl_pkg::result_t result_of(int unsigned number);
    wl_pkg::result_t result;
    logic [31:0] random;
    random = tb_pkg::mix(number + 2);
    case (random[1:0])
      2'd0: result.kind = wl_pkg::EXIT_DROP;
      2'd1: result.kind = wl_pkg::EXIT_TO_CPU;
      2'd2: result.kind = random[2] ? wl_pkg::EXIT_DONE : wl_pkg::EXIT_FINISH;
      default: result.kind = wl_pkg::EXIT_FINISH;
    endcase
    result.reason = random[31:8];
    result.egress = 16'(tb_pkg::mix(number + 3));
    result.start = 4'(begin_of(number));
    result.window = 9'(length_of(number));
    result.length = 16'(tb_pkg::mix(number + 4));
    result.more = 1'b0;
    return result;
  endfunction

  logic valid, left, beat_valid, beat_ready, beat_last;
  logic [8*Bytes-1:0] window;
  logic [8*DataBytes-1:0] beat;
  logic [ResultBits-1:0] beat_result;
  wl_pkg::result_t entering;
  int unsigned number, reported;  // packets that entered, and that were reported
  assign entering = result_of(number);
  always_comb begin
    for (int unsigned p = 0; p < Bytes; p++) window[8*p+:8] = tb_pkg::octet(1, number, p);
  end
  wl_pipeline_unload #(
      .Packets(Packets), .Headroom(Headroom), .DataBytes(DataBytes)
  ) i_dut (
      .clk_i, .rst_i, .valid_i(valid), .window_i(window), .front_i(8'(begin_of(number))),
      .length_i(entering.window), .packet_i(entering.length), .egress_i(entering.egress),
      .exit_i(entering.kind), .reason_i(entering.reason), .left_o(left),
      .beat_valid_o(beat_valid), .beat_ready_i(beat_ready), .beat_data_o(beat),
      .beat_last_o(beat_last), .beat_result_o(beat_result)
  );

  // The entrance of the pipeline admits packets while there is room.
  logic wants;
  assign valid = wants && number - reported < Packets;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wants  <= 1'b0;
      number <= 0;
      reported <= 0;
    end else begin
      wants <= send && !tb_pkg::chance(idle);
      if (valid) number <= number + 1;
      if (left) reported <= reported + 1;
    end
  end

  int unsigned count, at;  // packets that have left, and beats of the next one
  int unsigned in_window;  // beats in the middle of the full-speed phase
  logic offered;
  logic [8*DataBytes+ResultBits:0] was;
  always_ff @(posedge clk_i) begin
    beat_ready <= !rst_i && !tb_pkg::chance(stall);
    if (rst_i) begin
      count <= 0;
      at <= 0;
      in_window <= 0;
      offered <= 1'b0;
    end else begin
      int unsigned beats, length;
      wl_pkg::result_t result;
      logic has_data;
      result = result_of(count);
      length = length_of(count);
      has_data = length != 0 && result.kind !== wl_pkg::EXIT_DROP
          && result.kind !== wl_pkg::EXIT_DONE;
      beats = has_data ? (length + DataBytes - 1) / DataBytes : 1;
      offered <= beat_valid && !beat_ready;
      was <= {beat_valid, beat_result, beat};
      if (offered && {beat_valid, beat_result, beat} !== was && has_data) begin
        $fatal(1, "%m: an offered beat of packet %0d changes", count);
      end
      if (beat_valid) begin
        if (count >= number) $fatal(1, "%m: a packet that never entered");
        if (beat_result !== result) $fatal(1, "%m: packet %0d has another result", count);
        if (beat_last !== (at + 1 == beats)) begin
          $fatal(1, "%m: last is %b at beat %0d of %0d", beat_last, at, beats);
        end
        for (int unsigned i = at * DataBytes; has_data && i < (at + 1) * DataBytes; i++) begin
          logic [7:0] octet;
          octet = beat[8*((32'(result.start)+i)%DataBytes)+:8];
          if (i < length && octet !== tb_pkg::octet(1, count, begin_of(count) - First + i)) begin
            $fatal(1, "%m: byte %0d of packet %0d is %h", i, count, octet);
          end
        end
      end
      if (beat_valid && beat_ready) begin
        if (full_speed) in_window <= in_window + 1;
        at <= beat_last ? 0 : at + 1;
        if (beat_last) count <= count + 1;
      end
      // A packet is reported when its last beat is offered, or before.
      if (reported < count) $fatal(1, "%m: %0d packets reported, %0d left", reported, count);
      if (done_o) begin
        if (count !== number || reported !== number || number < 400) begin
          $fatal(1, "%m: %0d packets, %0d reported, %0d left", number, reported, count);
        end
        if (Packets >= 64 && in_window !== 300) begin
          $fatal(1, "%m: %0d beats in 300 cycles", in_window);
        end
      end
    end
  end
endmodule
