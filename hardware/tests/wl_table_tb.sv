// Test bench of wl_table: compares random operations and control accesses with an array, and checks
// the promised latency and rate.
module wl_table_check
  import wl_pkg::*;
#(
    parameter int unsigned Width = 16,
    parameter int unsigned Size = 4,
    parameter int unsigned MethodCount = 1,
    parameter logic [MethodCount*MethodBits-1:0] Methods = '0,
    parameter logic [Width-1:0] Cuts = '0,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned Idle = 0,     // percent of cycles without a request
    // Percent of cycles in which an idle control master begins an access.
    parameter int unsigned Control = 0,
    parameter int unsigned Cycles = 5000
) (
    input  logic clk,
    output logic done
);
  localparam int unsigned TagBits = 5;
  localparam int unsigned CtlBits = Width + 3;
  localparam logic [7:0] Target = 8'd9;
  localparam logic Swap = table_has(MethodCount, 24'(Methods), TABLE_COMPARE_SWAP);
  localparam int unsigned RequestBits =
      table_request_bits(MethodCount, 24'(Methods), IndexBits, Width);
  localparam int unsigned ReplyBits = Width + 32'(Swap);
  localparam int unsigned Latency = 3;

  function automatic logic percent(int unsigned p);
    return $urandom() % 100 < p;
  endfunction
  // Few values, so that compare_swap often succeeds.
  function automatic logic [Width-1:0] word();
    return percent(50) ? Width'($urandom() % 2) : Width'({$urandom(), $urandom(), $urandom()});
  endfunction
  function automatic logic [31:0] any_index();
    logic [31:0] top = IndexBits < 32 ? (32'd1 << (IndexBits % 32)) - 1 : '1;
    return (percent(90) ? $urandom() % Size : $urandom() >> $urandom() % 32) & top;
  endfunction

  logic rst, request_valid, request_ready, reply_valid, ctl_valid, ctl_write, ctl_done;
  logic [TagBits-1:0] request_tag, reply_tag;
  logic [RequestBits-1:0] request_data;
  logic [ReplyBits-1:0] reply_data;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address;
  logic [CtlBits-1:0] ctl_wdata, ctl_rdata;

  wl_table #(
      .Width(Width),
      .Size(Size),
      .MethodCount(MethodCount),
      .Methods(Methods),
      .Cuts(Cuts),
      .IndexBits(IndexBits),
      .TagBits(TagBits),
      .CtlBits(CtlBits),
      .CtlTarget(Target),
      .Patience(4)
  ) i_dut (
      .clk_i(clk),
      .rst_i(rst),
      .request_valid_i(request_valid),
      .request_ready_o(request_ready),
      .request_tag_i(request_tag),
      .request_data_i(request_data),
      .reply_valid_o(reply_valid),
      .reply_tag_o(reply_tag),
      .reply_data_o(reply_data),
      .ctl_valid_i(ctl_valid),
      .ctl_write_i(ctl_write),
      .ctl_target_i(ctl_target),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_wdata),
      .ctl_done_o(ctl_done),
      .ctl_data_o(ctl_rdata)
  );

  // The reference model.
  typedef struct packed {
    logic valid;
    logic [TagBits-1:0] tag;
    logic [MethodBits-1:0] method;
    logic [31:0] index;
    logic [Width-1:0] expected;
    logic [Width-1:0] value;
  } operation_t;
  logic [Width-1:0] reference[Size];
  operation_t under_way[Latency+1];
  operation_t offered, entering, leaving;

  function automatic logic [Width-1:0] sum(logic [Width-1:0] a, logic [Width-1:0] b);
    logic carry;
    logic [Width-1:0] result;
    carry = 1'b0;
    for (int k = 0; k < Width; k++) begin
      if (Cuts[k]) carry = 1'b0;
      {carry, result[k]} = 2'(a[k]) + 2'(b[k]) + 2'(carry);
    end
    return result;
  endfunction

  // Performs the operation and returns its reply.
  function automatic logic [ReplyBits-1:0] answer(operation_t o);
    logic [Width-1:0] old;
    if (o.index >= Size) return '0;
    old = reference[o.index];
    case (o.method)
      TABLE_READ: ;
      TABLE_WRITE, TABLE_EXCHANGE: reference[o.index] = o.value;
      TABLE_ADD, TABLE_FETCH_ADD: reference[o.index] = sum(old, o.value);
      TABLE_COMPARE_SWAP: if (old == o.expected) reference[o.index] = o.value;
      default: $fatal(1, "no such method");
    endcase
    return ReplyBits'({o.method == TABLE_COMPARE_SWAP && old == o.expected, old});
  endfunction

  function automatic logic [RequestBits-1:0] pack(int unsigned select, operation_t o);
    logic [IndexBits-1:0] index;
    logic [RequestBits-1:0] data;
    index = IndexBits'(o.index);
    case (o.method)
      TABLE_READ: data = RequestBits'(index);
      TABLE_COMPARE_SWAP: data = RequestBits'({index, o.expected, o.value});
      default: data = RequestBits'({index, o.value});
    endcase
    if (MethodCount > 1) data |= RequestBits'(select) << (RequestBits - bits(MethodCount));
    return data;
  endfunction

  int unsigned cycle, taken, replied, refused, controls, select;
  initial begin
    rst = 1'b1;
    done = 1'b0;
    request_valid = 1'b0;
    request_tag = '0;
    request_data = '0;
    ctl_valid = 1'b0;
    ctl_write = 1'b0;
    ctl_target = '0;
    ctl_address = '0;
    ctl_wdata = '0;
    cycle = 0;
    taken = 0;
    replied = 0;
    refused = 0;
    controls = 0;
    for (int k = 0; k < Size; k++) reference[k] = '0;
    for (int k = 0; k <= Latency; k++) under_way[k] = '0;
  end

  always @(posedge clk) begin
    cycle <= cycle + 1;
    rst   <= cycle < 3;
    if (!rst && !done) begin
      // The operation that leaves now entered `Latency` cycles ago.
      for (int k = Latency; k > 0; k--) under_way[k] = under_way[k-1];
      entering = offered;
      entering.valid = request_valid && request_ready;
      under_way[0] = entering;
      leaving = under_way[Latency];
      if (request_valid && request_ready) taken <= taken + 1;
      if (reply_valid !== leaving.valid) $fatal(1, "a reply is not at its time");
      if (reply_valid && ctl_done) $fatal(1, "two operations at once");
      if (reply_valid) begin
        replied <= replied + 1;
        if (reply_tag !== leaving.tag) $fatal(1, "reply has another's tag");
        if (reply_data !== answer(leaving)) $fatal(1, "wrong reply %h", reply_data);
      end
      if (!request_ready) refused <= refused + 1;

      if (ctl_done) begin
        controls <= controls + 1;
        if (!ctl_valid || ctl_target !== Target) begin
          $fatal(1, "an access is done that was not asked for");
        end
        if (ctl_rdata !== (ctl_address < Size ? CtlBits'(reference[ctl_address%Size]) : '0)) begin
          $fatal(1, "the control plane reads %h", ctl_rdata);
        end
        if (ctl_write && ctl_address < Size) reference[ctl_address] = ctl_wdata[Width-1:0];
      end else if (ctl_rdata !== '0) $fatal(1, "control data without an access");

      if (!request_valid || request_ready) begin
        request_valid <= cycle < Cycles && !percent(Idle);
        select = $urandom() % MethodCount;
        offered.valid = 1'b0;
        offered.tag = TagBits'($urandom());
        offered.method = Methods[select*MethodBits+:MethodBits];
        offered.index = any_index();
        offered.expected = word();
        offered.value = word();
        request_tag <= offered.tag;
        request_data <= pack(select, offered);
      end
      if (!ctl_valid || ctl_done || (ctl_target != Target && percent(20))) begin
        ctl_valid   <= cycle < Cycles && percent(Control);
        ctl_write   <= percent(50);
        ctl_target  <= percent(80) ? Target : Target + 1'b1;
        ctl_address <= percent(90) ? $urandom() % Size : $urandom();
        ctl_wdata   <= CtlBits'({$urandom(), $urandom(), $urandom(), $urandom()});
      end

      if (cycle > Cycles + 20) begin
        if (taken !== replied) $fatal(1, "%0d requests, %0d replies", taken, replied);
        if (refused > controls) begin
          $fatal(1, "%0d cycles refused for %0d control accesses", refused, controls);
        end
        if (Idle === 0 && taken + controls < Cycles - 10) begin
          $fatal(1, "not one operation a cycle: %0d", taken);
        end
        if (Control > 0 && controls < Cycles / 40) begin
          $fatal(1, "the control plane had only %0d accesses", controls);
        end
        done <= 1'b1;
      end
    end
  end
endmodule

module wl_table_tb;
  import wl_pkg::*;

  localparam int unsigned Checks = 16;
  logic clk = 1'b0;
  always #5 clk = !clk;
  logic [Checks-1:0] done;

  localparam logic [17:0] All = {
    TABLE_COMPARE_SWAP, TABLE_EXCHANGE, TABLE_FETCH_ADD, TABLE_ADD, TABLE_WRITE, TABLE_READ
  };

  for (genvar k = 0; k < 4; k++) begin : g_cross
    localparam int unsigned Idle = (k % 2) * 40;
    localparam int unsigned Control = (k / 2) * 30;
    // Every method, in few elements of several fields.
    wl_table_check #(
        .MethodCount(6), .Methods(All), .Cuts(16'h0110), .Idle(Idle), .Control(Control)
    ) i_all (.clk, .done(done[4*k]));
    // Only reads: only the control plane writes.
    wl_table_check #(
        .Size(37), .Width(72), .IndexBits(6), .Idle(Idle), .Control(Control)
    ) i_read (.clk, .done(done[4*k+1]));
    // One element of one bit, one method.
    wl_table_check #(
        .Size(1), .Width(1), .Methods(TABLE_FETCH_ADD), .Idle(Idle), .Control(Control)
    ) i_one (.clk, .done(done[4*k+2]));
    // Methods that return nothing, in any order of numbers.
    wl_table_check #(
        .Size(3), .Width(8), .MethodCount(3), .Methods({TABLE_READ, TABLE_ADD, TABLE_WRITE}),
        .IndexBits(2), .Idle(Idle),
        .Control(Control)
    ) i_some (.clk, .done(done[4*k+3]));
  end

  always @(posedge clk) begin
    if (&done) begin
      $display("PASS");
      $finish;
    end
  end
endmodule
