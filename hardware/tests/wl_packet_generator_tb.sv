// Test bench of the embedded test rig: wl_packet_generator sends well-formed packets of the
// selected kinds, one in each cycle; wl_packet_collector reports each one that is missing, late or
// changed, also when labels are pushed or popped, and nothing else; wl_report counts all that. Over
// kinds, labels and lanes.
module wl_packet_generator_tb;
  localparam int unsigned Cases = 4;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  rig_case #(.Templates(3'b001)) i_4 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  rig_case #(.Templates(3'b010), .PortBits(16)) i_6 (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  rig_case #(
      .Templates(3'b100), .Labels(4), .First(1), .Stride(2)
  ) i_mpls (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
  rig_case #(.Templates(3'b111), .Labels(2), .PortBits(3), .Mask4(32'h00ffff00),
      .Base4(32'h0a000001),
             .SourceMask4(32'h0000ffff), .SourceBase4(32'h0a020000), .Stride(4)) i_all (
      .clk_i(clk), .rst_i(rst), .done_o(done[3])
  );
endmodule

module rig_case #(
    parameter bit [2:0] Templates = 3'b001,
    parameter int unsigned Labels = 1,
    parameter int unsigned PortBits = 0,
    parameter bit [31:0] Mask4 = 32'hffffffff,
    parameter bit [31:0] Base4 = 32'd0,
    parameter bit [31:0] SourceMask4 = 32'hffffffff,
    parameter bit [31:0] SourceBase4 = 32'd0,
    parameter bit [31:0] First = 32'd0,
    parameter bit [31:0] Stride = 32'd1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam bit [47:0] Mac = 48'h0242ac110002;
  logic unused_send, window;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(unused_send), .idle_o(idle), .stall_o(stall), .window_o(window),
      .done_o
  );

  logic run, valid, ready, last;
  logic [511:0] data;
  logic [63:0] keep;
  logic [15:0] port;
  wl_packet_generator #(
      .Templates(Templates), .Labels(Labels), .PortBits(PortBits), .Mask4(Mask4), .Base4(Base4),
      .SourceMask4(SourceMask4),
      .SourceBase4(SourceBase4), .RouterMac(Mac), .First(First), .Stride(Stride)
  ) i_dut (
      .clk_i, .rst_i, .run_i(run),
      .m_tvalid_o(valid), .m_tready_i(ready), .m_tdata_o(data), .m_tkeep_o(keep), .m_tlast_o(last),
      .m_tuser_o(port)
  );

  // The packets, byte 0 most significant, and the fate of each on its way.
  logic [511:0] frame;
  for (genvar i = 0; i < 64; i++) begin : g_byte
    assign frame[8*(63-i)+:8] = data[8*i+:8];
  end
  function automatic bit checksum_right(logic [159:0] header);
    int unsigned sum = 0;
    for (int i = 0; i < 10; i++) sum += 32'(header[16*i+:16]);
    while (sum > 65535) sum = sum % 65536 + sum / 65536;
    return sum == 65535;
  endfunction

  // To the collector: one or two beats for each packet.
  logic to_valid, to_last, unused_ready, received, gap, late, wrong;
  logic [511:0] to_data;
  logic [63:0] to_keep;
  wl_packet_collector #(.First(First), .Stride(Stride)) i_collector (
      .clk_i, .rst_i,
      .s_tvalid_i(to_valid), .s_tready_o(unused_ready), .s_tdata_i(to_data), .s_tkeep_i(to_keep),
      .s_tlast_i(to_last),
      .received_o(received), .gap_o(gap), .late_o(late), .wrong_o(wrong)
  );

  // The control bus of the report, used at the begin to start the rig and at the end to read the
  // counters.
  logic ctl_valid, ctl_write, ctl_done;
  logic [31:0] ctl_address;
  logic [63:0] ctl_data, answer;
  wl_report #(.Lanes(2), .CtlTarget(8'd5)) i_report (
      .clk_i, .rst_i, .run_o(run),
      .sent_i({1'b0, valid && ready}), .refused_i({valid && !ready, 1'b0}),
      .received_i({received, 1'b0}), .gap_i({1'b0, gap}),
      .late_i({late, 1'b0}), .wrong_i({1'b0, wrong}), .event_i({2{valid && ready}}),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(8'd5),
      .ctl_address_i(ctl_address), .ctl_data_i(ctl_data),
      .ctl_done_o(ctl_done), .ctl_data_o(answer)
  );

  typedef enum {Pass, Longer, Shorter, Lose, Twice, Spoil} fate_t;
  int unsigned sent, refused, ran, packets, gaps, lates, wrongs, receiveds, gaps_seen, lates_seen,
      wrongs_seen;
  int unsigned kinds[3];
  logic [31:0] before_to;
  logic offered, second, lost;
  logic [511:0] was_data, tail;
  fate_t fate, fate_was;
  // While a second beat is sent, and at random, nothing is accepted.
  logic willing;
  assign ready = willing && !second;
  always_comb begin
    int unsigned random;
    random = tb_pkg::mix(sent + 3) % 64;
    fate = Spoil;
    if (window || random > 6) fate = Pass;
    else if (random < 2) fate = Longer;
    else if (random == 2) fate = Shorter;
    else if (random == 3) fate = Lose;
    else if (random == 4) fate = Twice;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      willing <= 1'b0;
      offered <= 1'b0;
      second <= 1'b0;
      lost <= 1'b0;
      to_valid <= 1'b0;
      {sent, refused, ran, packets, gaps, lates, wrongs, receiveds, gaps_seen, lates_seen,
          wrongs_seen} <= '0;
      for (int i = 0; i < 3; i++) kinds[i] <= 0;
      before_to <= '0;
    end else begin
      willing <= !tb_pkg::chance(stall);
      offered <= valid && !ready;
      was_data <= data;
      ran <= ran + 32'(run);
      refused <= refused + 32'(valid && !ready);
      if (offered && (!valid || data !== was_data)) $fatal(1, "%m: a packet was withdrawn");
      if (window && !(valid && ready)) $fatal(1, "%m: less than a packet a cycle");
      to_valid <= 1'b0;
      second <= 1'b0;
      if (second) begin
        to_valid <= 1'b1;
        to_last <= 1'b1;
        to_data <= tail;
        to_keep <= fate_was == Twice ? '1 : 64'hf;
      end
      if (valid && ready) begin
        logic [31:0] number;
        logic [511:0] changed;
        number = frame[63:32];
        changed = data;
        if (number !== First + Stride * sent) begin
          $fatal(1, "%m: packet %0d has number %0d", sent, number);
        end
        if (keep !== '1 || !last || 32'(port) >= 2 ** PortBits) begin
          $fatal(1, "%m: packet %0d: keep, last or port", sent);
        end
        if (frame[511:464] !== Mac) $fatal(1, "%m: packet %0d is for %h", sent, frame[511:464]);
        case (frame[415:400])
          16'h0800: begin
            kinds[0] <= kinds[0] + 1;
            if (!Templates[0] || !checksum_right(frame[399:240])
                || frame[399:368] != {16'h4500, 16'd50} || frame[335:328] != 8'd64) begin
              if (frame[335:328] !== 8'd64) $fatal(1, "%m: hop limit %h", frame[335:328]);
              $fatal(1, "%m: packet %0d: IPv4 header %h", sent, frame[399:240]);
            end
            if ((frame[271:240] & ~Mask4) !== (Base4 & ~Mask4)
                || (frame[271:240] & Base4) !== Base4) begin
              $fatal(1, "%m: packet %0d goes to %h", sent, frame[271:240]);
            end
            if ((frame[303:272] & ~SourceMask4) !== (SourceBase4 & ~SourceMask4)) begin
              $fatal(1, "%m: packet %0d is from %h", sent, frame[303:272]);
            end
            if (frame[271:240] === before_to) $fatal(1, "%m: two packets to %h", before_to);
            before_to <= frame[271:240];
          end
          16'h86dd: begin
            kinds[1] <= kinds[1] + 1;
            if (!Templates[1] || frame[399:336] !== {32'h60000000, 16'd10, 8'd59, 8'd64}) begin
              $fatal(1, "%m: IPv6 header %h", frame[399:336]);
            end
            if (frame[207:205] !== 3'b001) $fatal(1, "%m: IPv6 destination %h", frame[207:80]);
          end
          16'h8847: begin
            logic [159:0] inner;
            inner = 160'(frame >> (240 - 32 * Labels));
            kinds[2] <= kinds[2] + 1;
            if (!Templates[2]) $fatal(1, "%m: MPLS is not asked for");
            for (int i = 0; i < int'(Labels); i++) begin
              logic [31:0] label;
              label = frame[399-32*i-:32];
              if (label[7:0] !== 8'd64 || label[8] !== (i === int'(Labels) - 1)) begin
                $fatal(1, "%m: label %0d is %h", i, label);
              end
            end
            if (!checksum_right(inner) || inner[143:128] !== 16'(50 - 4 * Labels)) begin
              $fatal(1, "%m: inner header %h", inner);
            end
          end
          default: $fatal(1, "%m: packet %0d has type %h", sent, frame[415:400]);
        endcase
        // The fate of the packet.
        sent <= sent + 1;
        fate_was <= fate;
        to_valid <= fate != Lose;
        to_last <= fate != Longer;
        to_keep <= fate == Shorter ? 64'h0fff_ffff_ffff_ffff : '1;
        // Longer: four more bytes at the front; the collector then sees another type.
        if (fate == Longer) changed = {data[479:0], 32'h0};
        if (fate == Shorter) changed = {32'h0, data[511:128], data[95:0]};
        if (fate == Spoil) changed[511-(sent%64)] = !changed[511-(sent%64)];
        to_data <= changed;
        tail <= fate == Twice ? data : 512'(data[511:480]);
        second <= fate == Longer || fate == Twice;
        if (fate != Lose) receiveds <= receiveds + 1 + 32'(fate == Twice);
        if (fate == Spoil) wrongs <= wrongs + 1;
        if (fate == Twice) lates <= lates + 1;
        // The first good packet after lost or spoilt ones reports the gap.
        if (fate == Lose || fate == Spoil) lost <= 1'b1;
        else lost <= 1'b0;
        if (lost && fate != Lose && fate != Spoil) gaps <= gaps + 1;
      end
      packets <= packets + 32'(received);
      gaps_seen <= gaps_seen + 32'(gap);
      lates_seen <= lates_seen + 32'(late);
      wrongs_seen <= wrongs_seen + 32'(wrong);
      if (done_o) begin
        if (packets !== receiveds || gaps_seen !== gaps || lates_seen !== lates
            || wrongs_seen !== wrongs || gaps < 10 || lates < 10) begin
          $fatal(1, "%m: %0d of %0d came, gaps %0d of %0d, late %0d of %0d, wrong %0d of %0d",
              packets, receiveds, gaps_seen, gaps,
                 lates_seen, lates, wrongs_seen, wrongs);
        end
        for (int i = 0; i < 3; i++) begin
          if (Templates[i] !== (kinds[i] > 100)) begin
            $fatal(1, "%m: %0d packets of kind %0d", kinds[i], i);
          end
        end
      end
    end
  end

  // Start the rig, stop it before the end, and read everything.
  task automatic access(input logic write, input logic [31:0] address, input logic [63:0] data_in,
      output logic [63:0] data_out);
    @(negedge clk_i);
    ctl_valid = 1'b1;
    ctl_write = write;
    ctl_address = address;
    ctl_data = data_in;
    do @(posedge clk_i); while (!ctl_done);
    data_out = answer;
    @(negedge clk_i);
    ctl_valid = 1'b0;
  endtask
  logic [63:0] value;
  initial begin
    ctl_valid = 1'b0;
    @(negedge rst_i);
    access(1'b1, 0, 64'd1, value);
    repeat (2800) @(posedge clk_i);
    access(1'b1, 3, 64'd0, value);
    if (!run) $fatal(1, "%m: stopped by a write of a counter");
    access(1'b1, 0, 64'd0, value);
    repeat (100) @(posedge clk_i);
    for (int unsigned i = 0; i < 8; i++) begin
      int unsigned expected;
      case (i)
        0: expected = ran;
        1: expected = sent;
        2: expected = refused;
        3: expected = receiveds;
        4: expected = gaps;
        5: expected = lates;
        6: expected = wrongs;
        default: expected = 2 * sent;
      endcase
      access(1'b0, i, 64'd0, value);
      if (value !== 64'(expected)) $fatal(1, "%m: entry %0d is %0d, not %0d", i, value, expected);
    end
  end
endmodule
