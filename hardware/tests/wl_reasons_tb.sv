// Test bench of wl_reasons with wl_statistics after it: random events and packets on several lanes;
// at the end every counter has what a plain count has, those of reasons outside the list included.
module wl_reasons_tb;
  localparam int unsigned Cases = 3;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  reasons_case #(.Lanes(1)) i_1 (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  reasons_case #(.Lanes(2)) i_2 (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  reasons_case #(.Lanes(8)) i_8 (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
endmodule

module reasons_case #(
    parameter int unsigned Lanes = 2
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Reasons = 4;
  localparam int unsigned Counters = Reasons + 2;
  localparam int unsigned Cycles = 3000;
  // Reasons of two sets; reason 5 of set 1 both drops packets and sends them to the processor.
  localparam logic [25*Reasons-1:0] Values =
      {25'h1_01_0005, 25'h0_01_0005, 25'h0_00_0005, 25'h0_00_0000};
  localparam int unsigned AddBits = $clog2(Lanes + 1);

  int unsigned cycle;
  always_ff @(posedge clk_i) cycle <= rst_i ? 0 : cycle + 1;

  logic [Lanes-1:0] event_valid, sent;
  logic [Lanes*3-1:0] event_kind;
  logic [Lanes*24-1:0] event_reason;
  logic [Lanes*wl_pkg::SentBits-1:0] sent_user;
  logic [63:0] expected[Counters];

  // The counter of a packet, or Counters if it does not count.
  function automatic int unsigned counter_of(logic is_event, logic [2:0] kind, logic [23:0] reason);
    if (is_event && kind != wl_pkg::EXIT_DROP) return Counters;
    if (!is_event && (kind == wl_pkg::EXIT_FINISH || kind == wl_pkg::EXIT_EMIT)) return Counters;
    for (int unsigned k = 0; k < Reasons; k++) begin
      if (Values[25*k+:25] == {!is_event, reason}) return k;
    end
    return is_event ? Reasons : Reasons + 1;
  endfunction

  always @(negedge clk_i) begin
    {event_valid, sent} = '0;
    if (rst_i) for (int unsigned k = 0; k < Counters; k++) expected[k] = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      logic is_event;
      logic [2:0] kind;
      logic [23:0] reason;
      int unsigned counter;
      is_event = $urandom_range(1) == 1;
      kind = is_event ? ($urandom_range(3) == 0 ? wl_pkg::EXIT_DONE : wl_pkg::EXIT_DROP)
          : $urandom_range(3) == 0 ? wl_pkg::EXIT_COPY_TO_CPU
          : ($urandom_range(2) == 0 ? wl_pkg::EXIT_FINISH : wl_pkg::EXIT_TO_CPU);
      reason =
          {7'd0, 1'($urandom_range(1)), 13'd0, 3'($urandom_range(1) == 0 ? 5 : $urandom_range(2))};
      event_kind[lane*3+:3] = kind;
      event_reason[lane*24+:24] = reason;
      sent_user[lane*wl_pkg::SentBits+:wl_pkg::SentBits] = {kind, reason, 16'($urandom)};
      if (!rst_i && cycle < Cycles && $urandom_range(2) != 0) begin
        event_valid[lane] = is_event;
        sent[lane] = !is_event;
        counter = counter_of(is_event, kind, reason);
        if (counter < Counters) expected[counter]++;
      end
    end
  end

  logic [Counters*AddBits-1:0] add;
  wl_reasons #(
      .Lanes(Lanes), .Reasons(Reasons), .Values(Values)
  ) i_reasons (
      .clk_i, .rst_i, .event_valid_i(event_valid), .event_kind_i(event_kind),
      .event_reason_i(event_reason),
      .sent_i(sent), .sent_user_i(sent_user), .add_o(add)
  );

  logic ask, ctl_done;
  logic [31:0] address;
  logic [63:0] answer;
  wl_statistics #(
      .Counters(Counters), .AddBits(AddBits)
  ) i_statistics (
      .clk_i, .rst_i, .add_i(add), .ctl_valid_i(ask), .ctl_write_i(1'b0), .ctl_target_i(8'd0),
      .ctl_address_i(address), .ctl_data_i('0), .ctl_done_o(ctl_done), .ctl_data_o(answer)
  );

  assign ask = cycle > Cycles + 50 && !done_o;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      address <= '0;
      done_o  <= 1'b0;
    end else if (ctl_done) begin
      if (answer != expected[address[2:0]] || answer == '0) begin
        $fatal(1, "counter %0d of %0d lanes has %0d, not %0d", address, Lanes, answer,
            expected[address[2:0]]);
      end
      address <= address + 1;
      if (address == Counters - 1) done_o <= 1'b1;
    end
  end
endmodule
