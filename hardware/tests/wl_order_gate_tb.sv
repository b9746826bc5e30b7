// Test bench of wl_order_gate: packets make no call, one or several, in any order among each other,
// and leave in order. Calls come out in the order of tickets, those of a ticket in order, whole and
// once; a stream of single calls in order passes at one a cycle. Over sizes and pauses.
module wl_order_gate_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] Slots = {32'd2, 32'd4, 32'd16, 32'd64, 32'd64};
  localparam bit [Cases*32-1:0] Stall = {32'd0, 32'd128, 32'd64, 32'd0, 32'd0};
  localparam bit [Cases-1:0] Single = 5'b00001;  // the last case: one call each, in order

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  for (genvar i = 0; i < Cases; i++) begin : g_case
    gate_case #(.Slots(Slots[32*i+:32]), .Stall(Stall[32*i+:32]), .Single(Single[i])) i_case (
        .clk_i(clk), .rst_i(rst), .done_o(done[i])
    );
  end
endmodule

module gate_case #(
    parameter int unsigned Slots = 4,
    parameter int unsigned Stall = 0,
    parameter bit Single = 1'b0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Total = 2000;
  localparam int unsigned TicketBits = 8;
  localparam int unsigned TagBits = 5;

  logic valid, ready, out_valid, out_ready, left;
  logic [TagBits-1:0] tag, out_tag;
  logic [1+TicketBits+31:0] data;
  logic [31:0] out_data;

  wl_order_gate #(.Slots(Slots), .TicketBits(TicketBits), .TagBits(TagBits), .DataBits(32)) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag), .request_data_i(data),
      .out_valid_o(out_valid), .out_ready_i(out_ready), .out_tag_o(out_tag), .out_data_o(out_data),
      .left_i(left)
  );

  function automatic int unsigned calls(int unsigned ticket);
    return Single ? 1 : tb_pkg::mix(ticket) % 4;
  endfunction
  function automatic logic [31:0] word(int unsigned ticket, int unsigned call);
    return tb_pkg::mix(ticket * 5 + call + 1);
  endfunction

  int unsigned asked[Total];  // calls made
  bit waits[Total];           // the packet waits for a reply
  int unsigned oldest;        // oldest packet that has not left
  int unsigned turn, call;    // of the next expected call
  int unsigned begun, cycle;
  assign done_o = oldest == Total;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {valid, left, out_ready} <= '0;
      {oldest, turn, call, begun, cycle} <= '0;
      for (int unsigned t = 0; t < Total; t++) begin
        asked[t] <= 0;
        waits[t] <= 1'b0;
      end
    end else if (!done_o) begin
      int unsigned now;
      now = oldest;
      if (cycle++ > 60 * Total) $fatal(1, "%m: packet %0d does not leave", oldest);

      // The output.
      out_ready <= !tb_pkg::chance(Stall);
      if (out_valid && out_ready) begin
        int unsigned t, k;
        t = turn;
        k = call;
        while (t < Total && k == calls(t)) begin
          t++;
          k = 0;
        end
        if (t === Total || out_data !== word(t, k) || out_tag !== TagBits'(t * 3 + k)
            || !waits[t]) begin
          $fatal(1, "%m: call %0d of packet %0d is %h %h", k, t, out_tag, out_data);
        end
        waits[t] <= 1'b0;
        turn <= t;
        call <= k + 1;
        if (Single && t == 0) begun <= cycle;
        // A stream of single calls passes at one call a cycle.
        if (Single && t === Total - 1 && cycle - begun !== Total - 1) begin
          $fatal(1, "%m: %0d cycles", cycle - begun);
        end
      end

      // Departures.
      left <= 1'b0;
      if (asked[now] == calls(now) && !waits[now] && !(valid && !ready)
          && (Single || tb_pkg::chance(64))) begin
        left   <= 1'b1;
        oldest <= oldest + 1;
      end

      // Requests, from a random packet under way.
      if (valid && ready || !valid) begin
        int unsigned who;
        who = Single ? begin_single() : oldest + $urandom() % (tb_pkg::chance(128) ? 1 : Slots - 1);
        valid <= 1'b0;
        if (who < Total && who < oldest + Slots - 1 && asked[who] < calls(who) && !waits[who]
            && (Single || tb_pkg::chance(200))) begin
          bit last;
          last = asked[who] + 1 == calls(who) && (Single || tb_pkg::mix(who * 7) % 3 != 0);
          valid <= 1'b1;
          tag   <= TagBits'(who * 3 + asked[who]);
          data  <= {last, TicketBits'(who), word(who, asked[who])};
          asked[who] <= asked[who] + 1;
          waits[who] <= 1'b1;
        end
      end
    end
  end

  // Returns the next packet that has made no request.
  function automatic int unsigned begin_single();
    for (int unsigned t = oldest; t < oldest + Slots && t < Total; t++) if (asked[t] == 0) return t;
    return Total;
  endfunction

endmodule
