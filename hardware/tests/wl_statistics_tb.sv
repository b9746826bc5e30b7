// Test bench of wl_statistics: a read returns what a plain count had at most 2 * Counters + 4
// cycles before, and all of it when nothing has been added since; it is done in time; writes, other
// targets and counters that do not exist have no effect; counters are zero after each reset. Over
// numbers of counters and bits of an increment, at the greatest rate, with idle cycles, and with
// reads without a pause and with pauses.
module wl_statistics_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Counters = {32'd65, 32'd16, 32'd5, 32'd3, 32'd2};
  localparam bit [Cases*32-1:0] AddBits = {32'd3, 32'd1, 32'd8, 32'd32, 32'd1};
  localparam bit [Cases*32-1:0] CtlBits = {32'd216, 32'd64, 32'd100, 32'd64, 32'd64};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    statistics_case #(
        .Counters(Counters[32*i+:32]), .AddBits(AddBits[32*i+:32]), .CtlBits(CtlBits[32*i+:32])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module statistics_case #(
    parameter int unsigned Counters = 16,
    parameter int unsigned AddBits = 1,
    parameter int unsigned CtlBits = 64
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam bit [7:0] Target = 8'd5;
  localparam int unsigned Phase = 600;
  localparam int unsigned Phases = 5;              // between two resets
  localparam int unsigned Lag = 2 * Counters + 4;  // most cycles by which a value is old
  localparam int unsigned Kept = Lag + 8;          // cycles of which the counts are remembered

  // Twice the same: the second run begins with a reset, in the middle of a read.
  int unsigned all, cycle, phase;
  logic rst, again;
  always_ff @(posedge clk_i) all <= rst_i ? 0 : all + 1;
  assign again = all >= Phases * Phase && all < Phases * Phase + 4;
  assign rst = rst_i || again;
  assign done_o = !rst_i && all >= 2 * Phases * Phase + 4;
  always_ff @(posedge clk_i) cycle <= rst ? 0 : cycle + 1;
  assign phase = cycle / Phase;

  // ---- Increments ----

  // All at the greatest rate; random; seldom; only one of them, in turn; none.
  logic [Counters*AddBits-1:0] add;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Counters; i++) begin
      logic [AddBits-1:0] value;
      value = '0;
      case (phase)
        0: value = '1;
        1: value = AddBits'($urandom());
        2: if (tb_pkg::chance(20)) value = AddBits'($urandom());
        3: if (cycle / 8 % Counters == i) value = '1;
        default: value = '0;
      endcase
      add[i*AddBits+:AddBits] <= rst ? '0 : value;
    end
  end

  // The counts, and those of the cycles before.
  logic [63:0] counts[Counters];
  logic [63:0] past[Kept*Counters];
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Counters; i++) begin
      counts[i] <= rst ? '0 : counts[i] + 64'(add[i*AddBits+:AddBits]);
      past[(cycle%Kept)*Counters+i] <= counts[i];
    end
  end

  // ---- Control bus ----

  logic ask, write, done;
  logic [7:0] target;
  logic [31:0] address;
  logic [CtlBits-1:0] data, answer;
  wl_statistics #(
      .Counters(Counters), .AddBits(AddBits), .CtlTarget(Target), .CtlBits(CtlBits)
  ) i_dut (
      .clk_i, .rst_i(rst), .add_i(add),
      .ctl_valid_i(ask), .ctl_write_i(write), .ctl_target_i(target), .ctl_address_i(address),
      .ctl_data_i(data), .ctl_done_o(done), .ctl_data_o(answer)
  );

  int unsigned waited;          // cycles that the access has waited
  int unsigned next;            // the counter to read next
  int unsigned reads, strange;  // reads of counters, and accesses that must have no effect
  always_ff @(posedge clk_i) begin
    if (rst) begin
      ask <= 1'b0;
      waited <= 0;
      next <= 0;
    end else if (ask && !done && !(target != Target && waited > 8)) begin
      waited <= waited + 1;
    end else begin
      // At the greatest rate, and of what no longer changes, counters are read without a pause.
      ask <= phase == 0 || phase == 4 || !tb_pkg::chance(100);
      waited <= 0;
      target <= Target;
      write <= 1'b0;
      address <= next;
      data <= CtlBits'({$urandom(), $urandom(), $urandom()});
      next <= (next + 1) % Counters;
      if (phase != 4 && tb_pkg::chance(60)) begin
        case ($urandom() % 4)
          0: target <= 8'($urandom());
          1: write <= 1'b1;
          2: address <= Counters + $urandom() % 16;
          default: address <= next ^ (32'd1 << (10 + $urandom() % 22));
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      reads   <= 0;
      strange <= 0;
    end else if (!rst && ask) begin
      if (done) begin
        logic [63:0] most, least;
        most = '0;
        least = '0;
        if (address < Counters && !write) begin
          most = counts[address];
          if (cycle > Lag + 2) least = past[((cycle-Lag-2)%Kept)*Counters+address];
          reads <= reads + 1;
        end else strange <= strange + 1;
        if (target !== Target) $fatal(1, "%m: replies in place of target %0d", target);
        if (answer > CtlBits'(most) || answer < CtlBits'(least) || (^answer) === 1'bx) begin
          $fatal(1, "%m: counter %0d is %0d in cycle %0d, not %0d to %0d", address, answer, cycle,
              least, most);
        end
      end else if (answer !== '0) begin
        $fatal(1, "%m: drives the bus without a reply");
      end else if (target == Target && waited >= 4 && cycle > 2 * Counters + 8) begin
        $fatal(1, "%m: no reply after %0d cycles, in cycle %0d", waited, cycle);
      end
    end else if (!rst && (done || answer !== '0)) $fatal(1, "%m: replies without an access");
    if (done_o && (reads < 2 * Phase || strange < 40)) begin
      $fatal(1, "%m: %0d reads, %0d other accesses", reads, strange);
    end
  end
endmodule
