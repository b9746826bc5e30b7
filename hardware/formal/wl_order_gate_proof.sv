// Proof of wl_order_gate, for any packets and any service that keep its contract: each request
// leaves once, unchanged, and none after a request of a younger packet; and if all older packets
// have left or made their last request, a request passes within two cycles (no deadlock).
// Unbounded, by induction.
//
// A packet here makes any number of requests, each after the previous one has reached the service,
// and may mark one as its last; it may leave at any time when it waits for nothing. The tag of a
// request is its ticket.
module wl_order_gate_proof #(
    parameter int unsigned Slots = 4,
    localparam int unsigned SlotBits = wl_pkg::bits(Slots),
    localparam int unsigned TicketBits = SlotBits + 1
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic last_i,
    input logic [TicketBits-1:0] ticket_i,
    input logic data_i,
    input logic out_ready_i,
    input logic left_i
);
  logic request_ready, out_valid, out_data;
  logic [TicketBits-1:0] out_ticket;
  wl_order_gate #(
      .Slots(Slots), .TicketBits(TicketBits), .TagBits(TicketBits), .DataBits(1)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i(ticket_i),
      .request_data_i({last_i, ticket_i, data_i}),
      .out_valid_o(out_valid), .out_ready_i, .out_tag_o(out_ticket), .out_data_o(out_data),
      .left_i
  );

  // Packets, each in the slot of its ticket: whether it has a request that has not reached the
  // service, the data of the request, and whether it has made its last one. The packets under way
  // are `left` and the Slots - 1 after it.
  logic [Slots-1:0] asks, closed, data;
  // `left` is the oldest packet under way, `newest` the youngest of it and of those whose requests
  // have passed.
  logic [TicketBits-1:0] left, newest;
  logic store, out;
  logic [SlotBits-1:0] slot, out_slot, left_slot;
  assign store = request_valid_i && request_ready;
  assign out = out_valid && out_ready_i;
  assign slot = ticket_i[SlotBits-1:0];
  assign out_slot = out_ticket[SlotBits-1:0];
  assign left_slot = left[SlotBits-1:0];

  function automatic logic under_way(logic [TicketBits-1:0] ticket);
    return 32'(TicketBits'(ticket - left)) < Slots;
  endfunction

  logic started = 1'b0;
  logic [Slots-1:0] late;  // the packet's request could have passed in the cycle before
  logic [Slots-1:0] could;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    if (rst_i) begin
      {asks, closed, left, newest} <= '0;
      late <= '0;
    end else begin
      if (request_valid_i) begin
        Slots_M : assume (under_way(ticket_i));
        Waits_M : assume (!asks[slot] && !closed[slot]);
      end
      if (left_i) Left_M : assume (!asks[left_slot] && !(request_valid_i && ticket_i == left));

      if (left_i) begin
        closed[left_slot] <= 1'b0;
        left <= left + 1'b1;
      end
      if (store) begin
        asks[slot] <= 1'b1;
        closed[slot] <= last_i;
        data[slot] <= data_i;
      end
      if (out) asks[out_slot] <= 1'b0;
      newest <= out ? out_ticket : left_i && newest == left ? left + 1'b1 : newest;
      late <= could;

      // Order, no loss, no duplicate.
      if (out_valid) begin
        Request_A : assert (under_way(out_ticket) && asks[out_slot] && out_data == data[out_slot]);
        Order_A : assert (TicketBits'(out_ticket - left) >= TicketBits'(newest - left));
      end
      // A stalled request is accepted later: requests are stalled only after a reset.
      Ready_A : assert (request_ready == !i_dut.clearing);
      NoDeadlock_A : assert ((late & could) == '0);
    end
  end

  // Invariants for the induction: the place of the turn, and the meaning of the marks.
  // Packets under way that had their turn; all ones: the turn has still to catch up.
  logic [TicketBits-1:0] turned;
  assign turned = i_dut.turn - left;
  logic [Slots-1:0] in_gate, had_turn;
  always_ff @(posedge clk_i) begin
    if (!rst_i && started) begin
      Left_A : assert (i_dut.left == left);
      Turn_A : assert (32'(turned) <= Slots || turned == '1);
      Newest_A : assert (32'(TicketBits'(newest - left)) < Slots || newest == left);
      Newest_Turn_A : assert (newest == left
          || (turned != '1 && TicketBits'(newest - left) <= turned));
      Clearing_A : assert (!i_dut.clearing || (asks == '0 && !out_valid && closed == '0));
      Out_A : assert (!out_valid || (turned != '1 && TicketBits'(out_ticket - left) <= turned));
    end
  end
  for (genvar s = 0; s < Slots; s++) begin : g_slot
    logic [SlotBits-1:0] place;  // distance to the oldest packet
    logic came, gone, at_out, elders_done;
    assign place = SlotBits'(s) - left_slot;
    assign came = i_dut.i_came.memory[s];
    assign gone = i_dut.g_gone[0].i_gone.memory[s];
    assign in_gate[s] = came != gone && !i_dut.clearing;
    assign at_out = out_valid && 32'(out_slot) == s;
    assign had_turn[s] = turned != '1 && TicketBits'(place) < turned;
    always_comb begin
      elders_done = 1'b1;
      for (int unsigned e = 0; e < Slots; e++) begin
        if (SlotBits'(SlotBits'(e) - left_slot) < place && !(closed[e] && !in_gate[e])) begin
          elders_done = 1'b0;
        end
      end
    end
    assign could[s] = in_gate[s] && elders_done && (!out_valid || out_ready_i)
                      && !(i_dut.take && 32'(i_dut.turn[SlotBits-1:0]) == s);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        if (!i_dut.clearing || s < 32'(i_dut.cleared)) begin
          Marks_A : assert (gone == i_dut.g_gone[1].i_gone.memory[s]);
          Cleared_A : assert (!i_dut.clearing || (!came && !gone));
          Asks_A : assert (asks[s] == (in_gate[s] || at_out) && !(in_gate[s] && at_out));
          Had_A : assert (!had_turn[s] || (closed[s] && !in_gate[s]));
          Closed_A : assert (!closed[s] || in_gate[s] || had_turn[s]);
        end
        if (in_gate[s]) begin
          Stored_A : assert (i_dut.i_requests.memory[s]
              == {closed[s], TicketBits'(left + TicketBits'(place)), data[s]});
        end
      end
    end
  end
endmodule
