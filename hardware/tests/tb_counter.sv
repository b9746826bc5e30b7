// Drives a counter module with random requests and control accesses, and compares what the control
// plane reads with sums.
//
// A control access reads the requests that were accepted before it: an access takes effect
// `Latency` cycles before it is done.
module tb_counter #(
    parameter int unsigned Size = 4,
    parameter int unsigned Counters = 2,
    parameter int unsigned CounterBits = 64,
    parameter int unsigned Arguments = 1,
    parameter int unsigned ArgumentBits = 32,
    parameter logic [2*Counters-1:0] Adds = 4'b0001,
    parameter int unsigned IndexBits = 32,
    parameter int unsigned CtlBits = 216,
    parameter logic [7:0] Target = 8'd3,
    parameter int unsigned Latency = 3,
    parameter int unsigned Idle = 0,     // percent of cycles without a request
    // Percent of cycles in which an idle control master begins an access.
    parameter int unsigned Control = 0,
    parameter int unsigned Again = 50,   // percent of requests for the same flow as the one before
    parameter int unsigned Cycles = 4000,
    localparam int unsigned RequestBits = IndexBits + Arguments * ArgumentBits
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    output logic                   request_valid_o,
    input  logic                   request_ready_i,
    output logic [RequestBits-1:0] request_data_o,
    output logic                   ctl_valid_o,
    output logic                   ctl_write_o,
    output logic [            7:0] ctl_target_o,
    output logic [           31:0] ctl_address_o,
    output logic [    CtlBits-1:0] ctl_data_o,
    input  logic                   ctl_done_i,
    input  logic [    CtlBits-1:0] ctl_data_i,
    input  logic                   hold_i,           // the memory channel requests an idle cycle
    output logic                   done_o
);
  localparam int unsigned AllBits = Counters * CounterBits;

  function automatic logic percent(int unsigned p);
    return $urandom() % 100 < p;
  endfunction

  logic [AllBits-1:0] reference[Size];
  logic [RequestBits:0] taken[Latency+1];  // valid bit and data, the youngest first
  int unsigned cycle, requests, refused, held, controls, checked;

  function automatic void add(logic [RequestBits-1:0] request);
    logic [IndexBits-1:0] index;
    logic [AllBits-1:0] sums;
    index = request[RequestBits-1-:IndexBits];
    if (64'(index) < 64'(Size)) begin
      sums = reference[32'(index)%Size];
      for (int unsigned k = 0; k < Counters; k++) begin
        int unsigned argument;
        logic [CounterBits-1:0] by;
        argument = 32'(Adds[2*k+:2]);
        by = CounterBits'(ArgumentBits'(request >> ((Arguments - argument) * ArgumentBits)));
        if (argument == 0) by = CounterBits'(1);
        sums[k*CounterBits+:CounterBits] = sums[k*CounterBits+:CounterBits] + by;
      end
      reference[32'(index)%Size] = sums;
    end
  endfunction

  initial begin
    for (int unsigned k = 0; k < Size; k++) reference[k] = '0;
    for (int unsigned k = 0; k <= Latency; k++) taken[k] = '0;
  end

  always @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      requests <= 0;
      refused <= 0;
      held <= 0;
      controls <= 0;
      checked <= 0;
      done_o <= 1'b0;
      request_valid_o <= 1'b0;
      request_data_o <= '0;
      ctl_valid_o <= 1'b0;
      ctl_write_o <= 1'b0;
      ctl_target_o <= '0;
      ctl_address_o <= '0;
      ctl_data_o <= '0;
    end else if (!done_o) begin
      cycle <= cycle + 1;
      for (int unsigned k = Latency; k > 0; k--) taken[k] = taken[k-1];
      taken[0] = {request_valid_o && request_ready_i, request_data_o};
      if (taken[Latency][RequestBits]) add(taken[Latency][RequestBits-1:0]);
      if (request_valid_o && request_ready_i) requests <= requests + 1;
      if (!request_ready_i && !hold_i) refused <= refused + 1;
      if (hold_i) held <= held + 1;

      if (ctl_done_i) begin
        controls <= controls + 1;
        if (taken[Latency][RequestBits]) $fatal(1, "%m: a request and a control access at once");
        if (!ctl_valid_o || ctl_target_o !== Target) begin
          $fatal(1, "%m: an access is done that was not asked for");
        end
        if (ctl_data_i
            !== (ctl_address_o < Size ? CtlBits'(reference[ctl_address_o%Size]) : '0)) begin
          $fatal(1, "%m: flow %0d reads %h instead of %h", ctl_address_o, ctl_data_i,
              reference[ctl_address_o%Size]);
        end
        if (ctl_write_o && ctl_address_o < Size) reference[ctl_address_o] = ctl_data_o[AllBits-1:0];
      end else if (ctl_data_i !== '0) $fatal(1, "%m: control data without an access");

      if (!request_valid_o || request_ready_i) begin
        request_valid_o <= cycle < Cycles && !percent(Idle);
        request_data_o <= RequestBits'({$urandom(), $urandom(), $urandom()})
            >> ($urandom() % 2 * 24);
        if (percent(Again)) begin
          request_data_o[RequestBits-1-:IndexBits] <= request_data_o[RequestBits-1-:IndexBits];
        end else request_data_o[RequestBits-1-:IndexBits] <=
            IndexBits'(percent(95) ? $urandom() % Size : $urandom());
      end

      if (!ctl_valid_o || ctl_done_i || (ctl_target_o != Target && percent(20))) begin
        ctl_data_o <= CtlBits'({$urandom(), $urandom(), $urandom(), $urandom(), $urandom(),
            $urandom(), $urandom()});
        if (cycle < Cycles) begin
          ctl_valid_o   <= percent(Control);
          ctl_write_o   <= percent(40);
          ctl_target_o  <= percent(80) ? Target : Target + 1'b1;
          ctl_address_o <= percent(95) ? $urandom() % Size : $urandom();
        end else begin
          // At the end everything is read: the last sums are in the memory.
          ctl_valid_o   <= cycle > Cycles + 3 * Latency && checked < Size;
          ctl_write_o   <= 1'b0;
          ctl_target_o  <= Target;
          ctl_address_o <= checked;
          if (cycle > Cycles + 3 * Latency) checked <= checked + 1;
          if (checked == Size) begin
            if (refused > controls) begin
              $fatal(1, "%m: %0d cycles refused for %0d accesses", refused, controls);
            end
            if (Idle === 0 && requests + controls + held + 100 < Cycles) begin
              $fatal(1, "%m: only %0d requests taken", requests);
            end
            if (Control > 0 && controls < Cycles / 100) begin
              $fatal(1, "%m: only %0d control accesses", controls);
            end
            done_o <= 1'b1;
          end
        end
      end
    end
  end
endmodule
