// Proof of wl_meter, for any requests and control accesses: each is answered once, with its tag,
// within the promised cycles, and none is accepted meanwhile; the control plane waits for at most
// one request; and no bucket ever lacks more tokens than it can hold, so that no missing token is
// spent. The test bench checks the number of tokens against RFC 2697 and RFC 2698. Unbounded, by
// induction.
module wl_meter_proof #(
    parameter bit TwoRates = 1'b0,
    parameter int unsigned MethodCount = 2,
    parameter logic [MethodCount-1:0] Methods = 2'b10,
    localparam int unsigned RequestBits = (MethodCount > 1 ? 1 : 0) + (Methods == '0 ? 64 : 66) + 64
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic [1:0] request_tag_i,
    input logic [RequestBits-1:0] request_data_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [204:0] ctl_data_i
);
  localparam int unsigned Size = 2;
  // A rate of more than one token a nanosecond, and buckets of 3000, 5000 and 7000 bytes.
  localparam logic [204:0] Declared = {41'd1_000_000_007, 41'd3000, 41'd5000, 41'd64, 41'd7000};

  // The encoding of the module.
  typedef enum logic [3:0] {CLEAR, IDLE, READ, BEGIN, COUNT, SUM, FELL, FILL, MARK, SET} state_e;
  logic [3:0] state;
  assign state = i_dut.state;

  logic request_ready, reply_valid, ctl_done;
  logic [1:0] reply_tag, reply_data;
  logic [204:0] ctl_data;
  wl_meter #(
      .Size(Size), .TwoRates(TwoRates), .Declared(Declared), .MethodCount(MethodCount),
      .Methods(Methods), .TagBits(2)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i, .request_data_i,
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i(8'd0), .ctl_address_i, .ctl_data_i,
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_data)
  );

  logic started, due, due_ctl, take, take_ctl;
  logic [5:0] since;  // cycles since the operation under way was accepted
  single_request_model #(.TagBits(2), .CtlBits(205)) i_model (
      .clk_i, .rst_i, .request_valid_i, .request_ready_i(request_ready), .request_tag_i,
      .reply_valid_i(reply_valid), .reply_tag_i(reply_tag),
      .ctl_valid_i, .ctl_write_i, .ctl_address_i, .ctl_data_i, .ctl_done_i(ctl_done),
      .clear_i(state == CLEAR), .idle_i(state == IDLE), .is_control_i(i_dut.is_control),
      .control_turn_i(i_dut.control_turn),
      .from_control_i(i_dut.setting), .tag_i(i_dut.tag),
      .started_o(started), .take_o(take), .take_ctl_o(take_ctl), .due_o(due), .due_ctl_o(due_ctl)
  );

  always_ff @(posedge clk_i) begin
    since <= take || take_ctl ? 6'd1 : since + 1'b1;
    if (!rst_i) begin
      Within_A : assert (!(due || due_ctl) || since <= 6'd41);
      // Ready again once the operation is answered, except for the control plane.
      Ready_A : assert (due || due_ctl || state == CLEAR || state == IDLE);
    end
  end

  // Invariants for the induction: the duration of each state, and that the current meter is as
  // valid as those stored.
  always_ff @(posedge clk_i) begin
    if (!rst_i && started) begin
      Clear_A : assert (state != CLEAR || 32'(i_dut.at) < Size);
      Write_A : assert (!(due_ctl && state > READ) || ctl_write_i);
      case (state)
        READ: Read_A : assert (since == 6'd1);
        BEGIN: Begin_A : assert (since == 6'd2);
        COUNT: Count_A : assert (since == 6'd3 + i_dut.count && i_dut.count < 6'd32);
        SUM: Sum_A : assert (since == 6'd35);
        FELL: Fell_A : assert ((since == 6'd36 || since == 6'd3) && due);
        FILL: Fill_A : assert ((since == 6'd37 || since == 6'd4) && due);
        MARK: Mark_A
            : assert (((since == 6'd38 || since == 6'd5) && !i_dut.fit
            || (since == 6'd39 || since == 6'd6) && i_dut.fit) && due);
        SET: Set_A : assert (since == 6'd36 && due_ctl);
        default: ;
      endcase
      Fit_A : assert (!i_dut.fit || state == MARK);
      State_A : assert (state <= SET);
    end
  end

  // Buckets of each stored meter, and of the current one.
  logic in_hand;
  assign in_hand = state != CLEAR && state != IDLE;
  localparam int unsigned MeterBits = 2 * 41 + 64 + (TwoRates ? 2 : 1) * 75;
  localparam int unsigned RatesBits = 1 + 205 + (TwoRates ? 2 : 1) * 41;
  logic [MeterBits-1:0] hand;
  logic [204:0] hand_rates;
  for (genvar m = 0; m < Size; m++) begin : g_meter
    logic [MeterBits-1:0] meter;
    logic [RatesBits-1:0] stored;
    logic [40:0] committed, other, cir, cbs, ebs, pir, pbs;
    assign meter = i_dut.i_meters.memory[m];
    assign stored = i_dut.i_rates.memory[m];
    assign {committed, other} = meter[MeterBits-1-:82];
    assign {cir, cbs, ebs, pir, pbs} = stored[RatesBits-1] ? stored[RatesBits-2-:205] : Declared;
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && (state != CLEAR || m < 32'(i_dut.at))) begin
        Committed_A : assert (committed <= cbs);
        Other_A : assert (other <= (TwoRates ? pbs : ebs));
        if (in_hand && 32'(i_dut.at) == m) begin
          Read_A : assert (hand == meter && hand_rates == {cir, cbs, ebs, pir, pbs});
        end
      end
    end
  end
  logic [40:0] hand_committed, hand_other, cbs, ebs, pbs, size_other;
  assign hand = i_dut.meter;
  assign hand_rates = i_dut.rates;
  assign {hand_committed, hand_other} = hand[MeterBits-1-:82];
  assign {cbs, ebs} = hand_rates[163:82];
  assign pbs = hand_rates[40:0];
  assign size_other = TwoRates ? pbs : ebs;
  always_ff @(posedge clk_i) begin
    if (!rst_i && started && in_hand && i_dut.in_range) begin
      At_A : assert (32'(i_dut.at) < Size);
      Hand_A : assert (hand_committed <= cbs && hand_other <= size_other);
      if (state == MARK) begin
        Left_A : assert (i_dut.committed <= cbs && i_dut.other <= size_other);
        if (i_dut.fit) begin
          Fits_A : assert (i_dut.fits_committed
              == (cbs - i_dut.committed >= 41'(i_dut.asked.bytes)));
          Fits_Other_A : assert (i_dut.fits_other
              == (size_other - i_dut.other >= 41'(i_dut.asked.bytes)));
        end
      end
    end
  end
endmodule
