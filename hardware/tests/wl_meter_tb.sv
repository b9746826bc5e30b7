// Test bench of wl_meter: calls with times that repeat, jump and decrease, near the limits of
// buckets, with rates from one byte a second to 2^40, compared with the definition in wide numbers;
// rates and buckets are read and set meanwhile. Both RFCs, blind and aware, one meter and several.
module wl_meter_tb;
  localparam int unsigned Cases = 4;
  localparam bit [Cases*32-1:0] Size = {32'd1, 32'd5, 32'd4, 32'd3};
  localparam bit [Cases-1:0] TwoRates = 4'b0011;
  localparam bit [Cases*32-1:0] MethodCount = {32'd2, 32'd1, 32'd2, 32'd1};
  localparam bit [Cases*2-1:0] Methods = {2'd2, 2'd0, 2'd2, 2'd1};

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases), .Limit(400000)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    meter_case #(
        .Size(Size[32*i+:32]), .TwoRates(TwoRates[i]), .MethodCount(MethodCount[32*i+:32]),
        .Methods(Methods[2*i+:2])
    ) i_case (.clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module meter_case #(
    parameter int unsigned Size = 4,
    parameter bit TwoRates = 1'b0,
    parameter int unsigned MethodCount = 1,
    parameter logic [1:0] Methods = 2'd0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned ArgumentBits = Methods == 0 ? 64 : 66;
  localparam int unsigned RequestBits = (MethodCount > 1 ? 1 : 0) + ArgumentBits + 64;
  localparam int unsigned Operations = 1500;
  // A third of a token a nanosecond; bursts of a few packets.
  localparam logic [204:0] Declared =
      {41'd333_333_333, 41'd2000, 41'd900, 41'd700_000_001, 41'd3001};

  logic request_valid, request_ready, reply_valid, ctl_valid, ctl_write, ctl_done;
  logic [2:0] request_tag, reply_tag;
  logic [RequestBits-1:0] request_data;
  logic [1:0] reply_data;
  logic [31:0] ctl_address;
  logic [204:0] ctl_data, ctl_answer;

  wl_meter #(
      .Size(Size), .TwoRates(TwoRates), .Declared(Declared), .MethodCount(MethodCount),
      .Methods(MethodCount'(Methods)),
      .TagBits(3), .CtlBits(205), .CtlTarget(8'd9)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(request_valid), .request_ready_o(request_ready), .request_tag_i(request_tag),
      .request_data_i(request_data),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(8'd9),
      .ctl_address_i(ctl_address), .ctl_data_i(ctl_data),
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_answer)
  );

  // The model: rates, missing tokens, times.
  logic [204:0] rates[Size];
  logic [127:0] missing_committed[Size], missing_other[Size];
  logic [63:0] last[Size];

  function automatic logic [127:0] fell(logic [40:0] rate, logic [63:0] from, logic [63:0] to);
    return 128'(to) * 128'(rate) / 128'd1_000_000_000
        - 128'(from) * 128'(rate) / 128'd1_000_000_000;
  endfunction

  function automatic logic [1:0] mark(int unsigned i, logic [31:0] bytes, logic [1:0] color,
      logic [63:0] now);
    logic [40:0] cir, cbs, ebs, pir, pbs;
    logic [127:0] fallen, into;
    logic [63:0] to;
    if (i >= Size) return 2'd2;
    {cir, cbs, ebs, pir, pbs} = rates[i];
    to = now > last[i] ? now : last[i];
    fallen = fell(cir, last[i], to);
    into = fallen < missing_committed[i] ? fallen : missing_committed[i];
    missing_committed[i] -= into;
    fallen = TwoRates ? fell(pir, last[i], to) : fallen - into;
    missing_other[i] -= fallen < missing_other[i] ? fallen : missing_other[i];
    last[i] = to;
    if (TwoRates) begin
      if (color > 1 || 128'(pbs) - missing_other[i] < 128'(bytes)) return 2'd2;
      missing_other[i] += 128'(bytes);
      if (color == 1 || 128'(cbs) - missing_committed[i] < 128'(bytes)) return 2'd1;
      missing_committed[i] += 128'(bytes);
      return 2'd0;
    end
    if (color == 0 && 128'(cbs) - missing_committed[i] >= 128'(bytes)) begin
      missing_committed[i] += 128'(bytes);
      return 2'd0;
    end
    if (color < 2 && 128'(ebs) - missing_other[i] >= 128'(bytes)) begin
      missing_other[i] += 128'(bytes);
      return 2'd1;
    end
    return 2'd2;
  endfunction

  function automatic logic [40:0] some_rate();
    case ($urandom() % 5)
      0: return 41'd1 << 40;
      1: return 41'($urandom() % 4);
      2: return 41'({$urandom(), 8'h55});
      3: return 41'd1_000_000_000 + 41'($urandom() % 3) - 41'd1;
      default: return 41'($urandom());
    endcase
  endfunction

  int unsigned done, meter, method, seen[3], waited;
  logic [31:0] bytes;
  logic [1:0] color;
  logic [63:0] now, clock;
  bit calling;
  assign done_o = done == Operations;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {request_valid, ctl_valid, calling} <= '0;
      done = 0;
      for (int unsigned k = 0; k < 3; k++) seen[k] = 0;
      clock = 64'd1_447_000_000_000_000_000;
      for (int unsigned k = 0; k < Size; k++) begin
        rates[k] = Declared;
        missing_committed[k] = '0;
        missing_other[k] = '0;
        last[k] = '0;
      end
    end else if (!done_o) begin
      waited <= request_valid && request_ready ? 0 : waited + 1;
      if (request_valid && request_ready) request_valid <= 1'b0;
      if (reply_valid) begin
        logic [1:0] expected;
        expected = mark(meter, bytes, color, now);
        if (!calling || reply_tag !== request_tag || reply_data !== expected) begin
          $fatal(1, "%m: meter %0d, %0d bytes, color %0d, at %0d: %0d, not %0d", meter, bytes,
              color, now, reply_data, expected);
        end
        if (waited > 41) $fatal(1, "%m: %0d cycles", waited);
        seen[expected] = seen[expected] + 1;
        calling <= 1'b0;
        done = done + 1;
        if (done === Operations && (seen[0] < 20 || seen[1] < 20 || seen[2] < 20)) begin
          $fatal(1, "%m: a colour is rare");
        end
      end
      if (!calling && tb_pkg::chance(200)) begin
        case ($urandom() % 16)
          0: clock += 64'($urandom());
          1: clock += {32'd0, $urandom()} << 20;
          2, 3: ;
          default: clock += 64'($urandom() % 1500);
        endcase
        meter = $urandom() % (tb_pkg::chance(20) ? Size + 1 : Size);
        method = MethodCount == 2 ? $urandom() % 2 : 32'(Methods[0]);
        bytes = tb_pkg::chance(8) ? $urandom() : $urandom() % 900;
        color = method == 0 ? 2'd0 : 2'($urandom());
        now = tb_pkg::chance(20) ? clock - 64'd5000 : clock;
        calling <= 1'b1;
        request_valid <= 1'b1;
        request_tag <= 3'($urandom());
        request_data <= method == 0 ? RequestBits'({meter, bytes, now})
            : RequestBits'({1'b1, meter, bytes, color, now});
      end

      if (ctl_valid && ctl_done) begin
        int unsigned i;
        int unsigned j;
        logic [204:0] old;
        i = 32'(ctl_address[30:0]);
        j = i < Size ? i : 0;
        old = ctl_address[31] ? 205'({41'(missing_committed[j]), 41'(missing_other[j]), last[j]})
            : rates[j];
        ctl_valid <= 1'b0;
        if (ctl_answer !== (i < Size ? old : '0)) begin
          $fatal(1, "%m: meter %h is %h, not %h", ctl_address, ctl_answer, old);
        end
        if (ctl_write && i < Size && ctl_address[31]) begin
          missing_committed[i] = 128'(ctl_data[145:105]);
          missing_other[i] = 128'(ctl_data[104:64]);
          last[i] = ctl_data[63:0];
        end else if (ctl_write && i < Size) begin
          rates[i] = ctl_data;
          missing_committed[i] = '0;
          missing_other[i] = '0;
          last[i] = '0;
        end
      end else if (!ctl_valid && tb_pkg::chance(3)) begin
        int unsigned i;
        logic [40:0] cbs;
        logic [40:0] other;
        i = $urandom() % Size;
        cbs = rates[i][163:123];
        other = TwoRates ? rates[i][40:0] : rates[i][122:82];
        ctl_valid <= 1'b1;
        ctl_write <= tb_pkg::chance(180);
        if (tb_pkg::chance(128)) begin
          // Buckets never lack more than they hold.
          ctl_address <= 32'h8000_0000 | (tb_pkg::chance(20) ? Size : i);
          ctl_data <=
              205'({41'(64'($urandom()) % (64'(cbs) + 1)), 41'(64'($urandom()) % (64'(other) + 1)),
                            tb_pkg::chance(20) ? clock + 64'd9999 : clock - 64'($urandom())});
        end else begin
          ctl_address <= $urandom() % (Size + 1);
          ctl_data <= {some_rate(), 41'($urandom() % 4000), 41'($urandom() % 4000), some_rate(),
              41'($urandom() % 4000)};
        end
      end
    end
  end
endmodule
