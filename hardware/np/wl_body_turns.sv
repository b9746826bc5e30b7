// Lets several services look at bodies through the one access port of wl_body_buffer, by turns.
//
// Contract
//   Requests to a service pass as they are, while it has the turn. The turn goes on when all requests that were taken have been answered,
//   so what a service has written is there when another reads, and no two of them reach for the buffer in one cycle.
//   Fairness: a service that waits has the turn after one turn of each other at most. A turn ends, if anybody waits, with the request that
//   began it; while nobody waits it lasts, and requests follow each other as fast as the service takes them.
//   Every request is answered once (`reply_valid_i`), at least a cycle after it was taken; a write is done when it is answered.
//   Latency: none while the service has the turn; a cycle to change it.
// Timing: `request_ready_o` and `service_valid_o` depend on the other's opposite and on registers; the accesses go through a multiplexer whose
// choice is a register.
//
// Parameters
//   Services      services
//   DataBytes     bytes of a beat
//   AddressBits   bits of a beat's place
//   MostOpen      requests of a service that can be under way; more have to wait
module wl_body_turns #(
    parameter int unsigned Services = 2,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned AddressBits = 11,
    parameter int unsigned MostOpen = 15
) (
    input logic clk_i,
    input logic rst_i,

    // Requests from engines, and to the services, which are told only whether there is one.
    input  logic [Services-1:0] request_valid_i,
    output logic [Services-1:0] request_ready_o,
    output logic [Services-1:0] service_valid_o,
    input  logic [Services-1:0] service_ready_i,
    input  logic [Services-1:0] reply_valid_i,

    // The services' accesses, and the buffer's; its data go to all of them.
    input  logic [            Services-1:0] read_i,
    input  logic [Services*AddressBits-1:0] address_i,
    input  logic [            Services-1:0] write_i,
    input  logic [Services*AddressBits-1:0] write_address_i,
    input  logic [Services*8*DataBytes-1:0] write_data_i,
    output logic                            access_read_o,
    output logic [         AddressBits-1:0] access_address_o,
    output logic                            access_write_o,
    output logic [         AddressBits-1:0] access_write_address_o,
    output logic [         8*DataBytes-1:0] access_write_data_o
);

  if (Services < 1 || DataBytes < 1 || AddressBits < 1) begin : g_illegal
    $fatal(1, "wl_body_turns: Services, DataBytes and AddressBits must be 1 or more");
  end
  if (MostOpen < 1) begin : g_illegal_open
    $fatal(1, "wl_body_turns: MostOpen must be 1 or more");
  end

  localparam int unsigned TurnBits = wl_pkg::bits(Services);
  localparam int unsigned OpenBits = wl_pkg::bits(MostOpen + 1);

  logic [TurnBits-1:0] turn;
  logic [Services-1:0] has_turn, others;
  logic [OpenBits-1:0] open;  // requests taken and not answered
  logic served;  // one was taken in this turn
  logic may, take, answer, over;
  for (genvar i = 0; i < Services; i++) begin : g_turn
    assign has_turn[i] = turn == TurnBits'(i);
  end
  assign others = request_valid_i & ~has_turn;
  assign may = open != OpenBits'(MostOpen) && !(served && others != '0);
  assign service_valid_o = request_valid_i & has_turn & {Services{may}};
  assign request_ready_o = service_ready_i & has_turn & {Services{may}};
  assign take = (service_valid_o & service_ready_i) != '0;
  assign answer = (reply_valid_i & has_turn) != '0;
  assign over = others != '0 && open == '0 && !take && (served || (request_valid_i & has_turn) == '0);

  // The next that waits, counted from who has the turn.
  logic [TurnBits-1:0] following;
  always_comb begin
    following = turn;
    for (int unsigned i = Services; i > 0; i--) begin
      logic [TurnBits-1:0] one;
      one = TurnBits'((32'(turn) + i) % Services);
      if (others[one]) following = one;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      turn   <= '0;
      open   <= '0;
      served <= 1'b0;
    end else begin
      if (take != answer) open <= take ? open + 1'b1 : open - 1'b1;
      if (over) begin
        turn   <= following;
        served <= 1'b0;
      end else if (take) served <= 1'b1;
    end
  end

  assign access_read_o = read_i != '0;
  assign access_write_o = write_i != '0;
  logic [Services*(2*AddressBits+8*DataBytes)-1:0] accesses;
  wl_select #(
      .Inputs(Services),
      .Width (2 * AddressBits + 8 * DataBytes)
  ) i_access (
      .index_i(turn),
      .data_i (accesses),
      .data_o ({access_address_o, access_write_address_o, access_write_data_o})
  );
  for (genvar i = 0; i < Services; i++) begin : g_access
    assign accesses[i*(2*AddressBits+8*DataBytes)+:2*AddressBits+8*DataBytes] = {
      address_i[i*AddressBits+:AddressBits],
      write_address_i[i*AddressBits+:AddressBits],
      write_data_i[i*8*DataBytes+:8*DataBytes]
    };
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      // Who answers or reaches for the buffer has the turn, so there is one of them.
      Access_A : assert (((read_i | write_i) & ~has_turn) == '0);
      Reply_A : assert ((reply_valid_i & ~has_turn) == '0);
      Reply_M : assume (!answer || open != '0);
      Open_A : assert (32'(open) <= MostOpen);
    end
  end
`endif

endmodule
