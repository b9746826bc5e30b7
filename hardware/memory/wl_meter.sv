`include "wl_reset.svh"

// Meters as a service: the `meter` kind (docs/offloads.md), three-colour markers of RFC 2697 and
// RFC 2698, in block RAM.
//
//   meter is read --> tokens since 1970, by long multiplication and division, two bits of the time
//   a cycle --> buckets, colour --> reply
//
// At a rate of r bytes a second, one token falls at each time k / r seconds. By a given time
// floor(time * r / 10^9) tokens have therefore fallen, and the tokens since the previous packet are
// the difference from that number at the previous packet's time, which is stored: no fraction is
// ever lost. The rate r is stored as a multiple of 10^9 and a remainder; the long multiplication by
// the time, highest bit first, keeps its sum in the same form.
//
// Contract
//   Data: each request is one atomic operation, in the order in which the requests are taken. A
//   time before that of the previous packet counts as the previous packet's time. The reply to an
//   index out of range is red, and nothing changes. The control plane reads or writes the rates of
//   one meter, or its buckets and time, in one operation among the others. New rates fill the
//   buckets; buckets are written after the rates that they suit.
//   Latency and throughput: one operation at a time, in 41 cycles at most.
//   After a reset all meters are as declared, with full buckets; Size cycles pass before the first
//   operation.
// Timing: between two registers there are two steps of the division, each a sum of 32 bits and a
// comparison.
//
// Request: {method, if there are two; index, bytes (, colour), zero-extended on the left; time in
// nanoseconds}.
//
// Parameters
//   Size          meters
//   TwoRates      0: RFC 2697; 1: RFC 2698
//   Declared      cir, cbs, ebs, pir and pbs of a meter that the control plane has not set; 41 bits
//                 each, at most 2^40
//   MethodCount   methods that are called: 1 or 2
//   Methods       0 `color`, 1 `color_aware`; one bit each, method 0 lowest
//   TagBits       bits of the tag that a reply repeats
//   CtlBits, CtlTarget   those of the control bus. Addresses are indices. The data are the five
//                        rates as in Declared or, if address bit 31 is set, the tokens missing from
//                        bucket C (41 bits), those missing from E or P (41), and the time of the
//                        previous packet (64)
module wl_meter #(
    parameter int unsigned Size = 64,
    parameter bit TwoRates = 1'b0,
    parameter logic [204:0] Declared = '0,
    parameter int unsigned MethodCount = 1,
    parameter logic [MethodCount-1:0] Methods = '0,
    parameter int unsigned TagBits = 8,
    parameter int unsigned CtlBits = 205,
    parameter logic [7:0] CtlTarget = 8'd0,
    localparam int unsigned SelectBits = MethodCount > 1 ? 1 : 0,
    localparam int unsigned ArgumentBits = Methods == '0 ? 64 : 66,
    localparam int unsigned RequestBits = SelectBits + ArgumentBits + 64
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [    TagBits-1:0] request_tag_i,
    input  logic [RequestBits-1:0] request_data_i,

    output logic               reply_valid_o,
    output logic [TagBits-1:0] reply_tag_o,
    output logic [        1:0] reply_data_o,

    input  logic               ctl_valid_i,    // held until `ctl_done_o`
    input  logic               ctl_write_i,
    input  logic [        7:0] ctl_target_i,
    input  logic [       31:0] ctl_address_i,
    input  logic [CtlBits-1:0] ctl_data_i,
    output logic               ctl_done_o,     // a pulse
    output logic [CtlBits-1:0] ctl_data_o      // the old rates or buckets, zero unless done
);
  if (Size < 1 || CtlBits < 205) begin : g_illegal
    $fatal(1, "wl_meter: Size must be at least one, and CtlBits hold five rates of 41 bits");
  end
  if (MethodCount < 1 || MethodCount > 2
      || (MethodCount == 2 && Methods != MethodCount'(2))) begin : g_illegal_methods
    $fatal(1, "wl_meter: there are the methods 0, 1 or both, in this order");
  end

  localparam int unsigned IndexBits = wl_pkg::bits(Size);
  localparam int unsigned RateBits = 41;
  localparam int unsigned FallenBits = 75;  // for 2^64 nanoseconds at 2^40 bytes a second
  localparam logic [31:0] Second = 32'd1_000_000_000;
  localparam int unsigned Units = TwoRates ? 2 : 1;

  typedef struct packed {
    logic [RateBits-1:0] cir;
    logic [RateBits-1:0] cbs;
    logic [RateBits-1:0] ebs;
    logic [RateBits-1:0] pir;
    logic [RateBits-1:0] pbs;
  } rates_t;

  // A rate as a multiple of 10^9 and a remainder.
  typedef struct packed {
    logic [10:0] times;
    logic [29:0] rest;
  } parts_t;

  function automatic parts_t parts(logic [RateBits-1:0] rate);
    return {11'(rate / RateBits'(Second)), 30'(rate % RateBits'(Second))};
  endfunction

  // The state of a meter: the tokens that its buckets lack, the time of the previous packet, and
  // the tokens that had fallen by then. The control plane does not see the last of these.
  typedef struct packed {
    logic [RateBits-1:0] committed;
    logic [RateBits-1:0] other;
    logic [63:0] last;
  } buckets_t;
  typedef struct packed {
    buckets_t buckets;
    logic [Units-1:0][FallenBits-1:0] fallen;
  } meter_t;

  typedef enum logic [3:0] {CLEAR, IDLE, READ, BEGIN, COUNT, SUM, FELL, FILL, MARK, SET} state_e;
  state_e state;

  // ---- Requests and control accesses ----

  // `setting`: the operation is the control plane's; `of_buckets`: on buckets and time.
  logic is_control, take, setting, of_buckets, control_turn;
  // What a request asks for; its time is separate.
  typedef struct packed {
    logic [31:0] index;
    logic [31:0] bytes;
    logic [1:0] color;
  } asked_t;
  asked_t request, asked;
  logic [63:0] now;
  logic [TagBits-1:0] tag;
  assign is_control = ctl_valid_i && ctl_target_i == CtlTarget && !ctl_done_o;
  assign request_ready_o = state == IDLE && !(is_control && control_turn);
  assign take = request_valid_i && request_ready_o;

  logic is_aware;
  assign is_aware = Methods == '0 ? 1'b0 : MethodCount == 1 ? 1'b1 : request_data_i[RequestBits-1];
  typedef struct packed {
    logic [31:0] index;
    logic [31:0] bytes;
    logic [63:0] now;
  } blind_t;
  typedef struct packed {
    asked_t asked;
    logic [63:0] now;
  } aware_t;
  blind_t blind;
  assign blind = request_data_i[$bits(blind_t)-1:0];
  if (ArgumentBits == 64) begin : g_blind
    assign request.index = blind.index;
    assign request.bytes = blind.bytes;
    assign request.color = 2'd0;
  end else begin : g_aware
    aware_t aware;
    assign aware = request_data_i[$bits(aware_t)-1:0];
    assign request.index = is_aware ? aware.asked.index : blind.index;
    assign request.bytes = is_aware ? aware.asked.bytes : blind.bytes;
    assign request.color = is_aware ? aware.asked.color : 2'd0;
    logic unused;
    assign unused = &aware.now;
  end

  // ---- Memories ----

  logic [IndexBits-1:0] at;  // the current meter; in CLEAR the one that is cleared
  logic in_range, read;
  logic [IndexBits-1:0] read_at;
  assign read = state == IDLE;
  assign read_at = take ? request.index[IndexBits-1:0] : ctl_address_i[IndexBits-1:0];

  meter_t meter, new_meter;
  logic meter_write;
  logic [CtlBits-1:0] old;  // for the control plane
  wl_ram_block #(
      .Width($bits(meter_t)),
      .Depth(Size)
  ) i_meters (
      .clk_i,
      .write_i(meter_write),
      .write_address_i(at),
      .write_data_i(new_meter),
      .read_i(read),
      .read_address_i(read_at),
      .read_data_o(meter)
  );

  // Rates, if the control plane has set them.
  typedef struct packed {
    logic is_set;
    rates_t rates;
    parts_t [Units-1:0] parts;
  } setting_t;
  setting_t stored, new_setting;
  logic rates_write;
  rates_t rates, new_rates;
  parts_t [Units-1:0] rate, declared_parts, found_parts;
  assign new_setting.is_set = state != CLEAR;
  assign new_setting.rates = new_rates;
  assign new_setting.parts = found_parts;
  wl_ram_block #(
      .Width($bits(setting_t)),
      .Depth(Size)
  ) i_rates (
      .clk_i,
      .write_i(rates_write),
      .write_address_i(at),
      .write_data_i(new_setting),
      .read_i(read),
      .read_address_i(read_at),
      .read_data_o(stored)
  );
  rates_t declared;
  assign declared = Declared;
  assign rates = stored.is_set ? stored.rates : declared;
  assign declared_parts[0] = parts(declared.cir);
  if (TwoRates) begin : g_peak
    assign declared_parts[1] = parts(declared.pir);
  end
  assign rate = stored.is_set ? stored.parts : declared_parts;

  // ---- Tokens until a time: long multiplication by the time; the sum is kept divided by 10^9 ----

  logic [5:0] count;
  logic [Units-1:0][63:0] rest_of_time;
  logic [Units-1:0][FallenBits-1:0] tokens;
  for (genvar k = 0; k < Units; k++) begin : g_unit
    // One step: the sum is doubled, and the rate is added if the bit of the time is set. What
    // exceeds 10^9 is carried to the quotient.
    typedef struct packed {
      logic [1:0] carry;
      logic [29:0] rest;
    } step_t;
    function automatic step_t step(logic [29:0] rest, logic [29:0] addend);
      logic [31:0] sum;
      sum = {1'b0, rest, 1'b0} + 32'(addend);
      // The two highest bits are carries; the remainder, below 10^9, needs only 30 bits.
      if (sum >= 2 * Second) return {2'd2, 30'(sum - 2 * Second)};
      if (sum >= Second) return {2'd1, 30'(sum - Second)};
      return {2'd0, 30'(sum)};
    endfunction

    parts_t by;
    logic [29:0] rest;
    step_t high, low;
    logic [13:0] carries;  // what the two steps of this cycle add to the quotient, a cycle later
    logic counted;
    logic [1:0][11:0] added;  // by each of the two steps
    assign added[1] = (rest_of_time[k][63] ? {1'b0, by.times} : 12'd0) + 12'(high.carry);
    assign added[0] = (rest_of_time[k][62] ? {1'b0, by.times} : 12'd0) + 12'(low.carry);
    assign high = step(rest, rest_of_time[k][63] ? by.rest : 30'd0);
    assign low = step(high.rest, rest_of_time[k][62] ? by.rest : 30'd0);
    always_ff @(posedge clk_i) begin
      counted <= state == COUNT;
      carries <= 14'({added[1], 1'b0}) + 14'(added[0]);
      if (state == BEGIN) begin
        by <= setting && !of_buckets ? {11'd0, 30'd1} : rate[k];
        rest <= '0;
        tokens[k] <= '0;
        rest_of_time[k] <= !setting || of_buckets ? now : k == 0 ? 64'(new_rates.cir)
            : 64'(new_rates.pir);
      end else begin
        if (state == COUNT) begin
          rest <= low.rest;
          rest_of_time[k] <= rest_of_time[k] << 2;
        end
        if (counted) tokens[k] <= {tokens[k][FallenBits-3:0], 2'b00} + FallenBits'(carries);
      end
    end
    assign found_parts[k] = {tokens[k][10:0], rest};
  end

  // ---- Buckets ----

  logic is_later;
  logic [Units-1:0][FallenBits-1:0] fell, fallen;
  assign fallen = meter.fallen;
  logic [RateBits-1:0] committed, other, size_committed, size_other;
  logic [FallenBits-1:0] over;
  logic red_before, fits_committed, fits_other;
  logic [1:0] marked;

  // Returns the number of missing tokens after `falling` tokens have fallen.
  function automatic logic [RateBits-1:0] filled(logic [RateBits-1:0] missing,
      logic [FallenBits-1:0] falling);
    return falling >= FallenBits'(missing) ? '0 : missing - falling[RateBits-1:0];
  endfunction

  assign size_committed = rates.cbs;
  assign size_other = TwoRates ? rates.pbs : rates.ebs;
  assign red_before = asked.color > 2'd1;
  assign over = fell[0] > FallenBits'(meter.buckets.committed)
      ? fell[0] - FallenBits'(meter.buckets.committed) : '0;

  // The marking, from registers that FILL and the cycle after it have set.
  logic takes_committed, takes_other;
  always_comb begin
    if (TwoRates) begin
      takes_other = !red_before && fits_other;
      takes_committed = takes_other && asked.color == 2'd0 && fits_committed;
      marked = !takes_other ? 2'd2 : takes_committed ? 2'd0 : 2'd1;
    end else begin
      takes_committed = asked.color == 2'd0 && fits_committed;
      takes_other = !takes_committed && !red_before && fits_other;
      marked = takes_committed ? 2'd0 : takes_other ? 2'd1 : 2'd2;
    end
  end

  logic fit;  // MARK is in its second cycle
  buckets_t written;  // by the control plane
  assign written = new_rates[$bits(buckets_t)-1:0];
  always_comb begin
    meter_write = state == CLEAR || (state == SET && in_range)
        || (state == MARK && fit && in_range);
    rates_write = state == CLEAR || (state == SET && in_range && !of_buckets);
    old = !in_range ? '0 : of_buckets ? CtlBits'(meter.buckets) : CtlBits'(rates);
    new_meter = '0;
    if (state == SET && of_buckets) begin
      new_meter.buckets = written;
      new_meter.buckets.last = now;
      new_meter.fallen = tokens;
    end
    if (state == MARK) begin
      new_meter.buckets.committed =
          takes_committed ? committed + RateBits'(asked.bytes) : committed;
      new_meter.buckets.other = takes_other ? other + RateBits'(asked.bytes) : other;
      new_meter.buckets.last = is_later ? now : meter.buckets.last;
      new_meter.fallen = is_later ? tokens : meter.fallen;
    end
  end

  // The state: which step of an operation this is, and what the control port gets.
  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
    if (rst_i) begin
      state <= CLEAR;
      at <= '0;
      control_turn <= 1'b1;
      fit <= 1'b0;
      {reply_valid_o, ctl_done_o} <= '0;
      ctl_data_o <= '0;
    end else begin
      reply_valid_o <= 1'b0;
      ctl_done_o <= 1'b0;
      ctl_data_o <= '0;
      fit <= state == MARK && !fit;
      unique case (state)
        CLEAR: begin
          at <= at + 1'b1;
          if (32'(at) == Size - 1) state <= IDLE;
        end

        IDLE: begin
          if (take) control_turn <= 1'b1;
          else if (is_control) control_turn <= 1'b0;
          at <= read_at;
          if (take || is_control) state <= READ;
        end

        READ: begin
          state <= BEGIN;
          // A read is done here; a write returns the old data in SET.
          if (setting && !ctl_write_i) begin
            ctl_done_o <= 1'b1;
            ctl_data_o <= old;
            state <= IDLE;
          end
        end

        BEGIN: state <= state_e'(setting || is_later ? COUNT : FELL);
        COUNT: if (count == 6'd31) state <= SUM;
        // The last two steps reach the quotient.
        SUM: state <= state_e'(setting ? SET : FELL);
        FELL: state <= FILL;
        FILL: state <= MARK;

        MARK: begin
          if (fit) begin
            reply_valid_o <= 1'b1;
            state <= IDLE;
          end
        end

        SET: begin
          ctl_done_o <= 1'b1;
          ctl_data_o <= old;
          state <= IDLE;
        end

        default: state <= CLEAR;
      endcase
    end
  end

  // The operation's data.
  always_ff @(posedge clk_i) begin
    unique case (state)
      IDLE: begin
        setting <= !take;
        tag <= request_tag_i;
        asked <= request;
        of_buckets <= !take && ctl_address_i[31];
        now <= take ? blind.now : ctl_data_i[63:0];
        new_rates <= ctl_data_i[204:0];
        in_range <= {1'b0, take ? request.index : {1'b0, ctl_address_i[30:0]}} < 33'(Size);
      end

      // Out of range nothing is stored, and what is read is not known.
      READ: is_later <= in_range && now > meter.buckets.last;
      BEGIN: count <= '0;
      COUNT: count <= count + 1'b1;

      FELL: begin
        for (int unsigned k = 0; k < Units; k++) fell[k] <= is_later ? tokens[k] - fallen[k] : '0;
      end

      FILL: begin
        committed <= filled(meter.buckets.committed, fell[0]);
        other <= filled(meter.buckets.other, TwoRates ? fell[Units-1] : over);
      end

      MARK: begin
        fits_committed <= size_committed - committed >= RateBits'(asked.bytes);
        fits_other <= size_other - other >= RateBits'(asked.bytes);
        if (fit) begin
          reply_tag_o <= tag;
          reply_data_o <= in_range ? marked : 2'd2;
        end
      end

      default: ;
    endcase
  end

  logic unused;
  assign unused = &{1'b0, asked.index, rates, ctl_data_i, is_aware, request_data_i};

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i && state == MARK && in_range) begin
      Buckets_A : assert (committed <= size_committed && other <= size_other);
    end
    if (!rst_i && state == SET && of_buckets && in_range) begin
      Written_M : assume (new_meter.buckets.committed <= size_committed
          && new_meter.buckets.other <= size_other);
    end
  end
`endif
endmodule
