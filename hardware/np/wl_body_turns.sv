`include "wl_reset.svh"

// Shares the single access port of wl_body_buffer among several services, which take turns.
//
// Contract
//   Requests to a service pass unchanged while it has the turn. The turn advances when all accepted
//   requests have been answered, so that a service sees what another has written, and no two
//   services access the buffer in one cycle.
//   Fairness: a service that waits gets the turn after at most one turn of each other service. A
//   turn ends with the request that began it if another service waits; otherwise it lasts, and
//   requests follow each other as fast as the service accepts them.
//   Every request is answered once (`reply_valid_i`), at least one cycle after it was accepted; a
//   write is done when it is answered.
//   Latency: none while the service has the turn; one cycle to change it.
// Timing: `request_ready_o` depends on `service_ready_i` and registers, `service_valid_o` on
// `request_valid_i` and registers; the accesses go through a multiplexer that a register selects.
//
// Parameters
//   Services      services
//   DataBytes     bytes of a beat
//   AddressBits   bits of a beat's place
//   MostOpen      most requests of a service under way; further ones wait
module wl_body_turns #(
    parameter int unsigned Services = 2,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned AddressBits = 11,
    parameter int unsigned MostOpen = 15
) (
    input logic clk_i,
    input logic rst_i,

    // Requests from engines and to the services; only valid and ready pass through this module.
    input  logic [Services-1:0] request_valid_i,
    output logic [Services-1:0] request_ready_o,
    output logic [Services-1:0] service_valid_o,
    input  logic [Services-1:0] service_ready_i,
    input  logic [Services-1:0] reply_valid_i,

    // Accesses of the services and of the buffer; the data of the buffer go to all services.
    input  logic [   Services-1:0]                  read_i,
    input  logic [   Services-1:0][AddressBits-1:0] address_i,
    input  logic [   Services-1:0]                  write_i,
    input  logic [   Services-1:0][AddressBits-1:0] write_address_i,
    input  logic [   Services-1:0][8*DataBytes-1:0] write_data_i,
    output logic                                    access_read_o,
    output logic [AddressBits-1:0]                  access_address_o,
    output logic                                    access_write_o,
    output logic [AddressBits-1:0]                  access_write_address_o,
    output logic [8*DataBytes-1:0]                  access_write_data_o
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
  logic [OpenBits-1:0] open;  // requests accepted and not answered
  logic served;  // a request was accepted in this turn
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
  assign over = others != '0 && open == '0 && !take
      && (served || (request_valid_i & has_turn) == '0);

  // The next service that waits, counted from the one that has the turn.
  logic [TurnBits-1:0] following;
  always_comb begin
    following = turn;
    for (int unsigned i = Services; i > 0; i--) begin
      logic [TurnBits-1:0] one;
      one = TurnBits'((32'(turn) + i) % Services);
      if (others[one]) following = one;
    end
  end

  always_ff @(`WL_EDGES(clk_i, rst_i)) begin
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
  typedef struct packed {
    logic [AddressBits-1:0] address;
    logic [AddressBits-1:0] write_address;
    logic [8*DataBytes-1:0] write_data;
  } access_t;
  access_t [Services-1:0] accesses;
  access_t access;
  wl_select #(
      .Inputs(Services),
      .Width ($bits(access_t))
  ) i_access (
      .index_i(turn),
      .data_i (accesses),
      .data_o (access)
  );
  assign access_address_o = access.address;
  assign access_write_address_o = access.write_address;
  assign access_write_data_o = access.write_data;
  for (genvar i = 0; i < Services; i++) begin : g_access
    access_t one;
    assign one.address = address_i[i];
    assign one.write_address = write_address_i[i];
    assign one.write_data = write_data_i[i];
    assign accesses[i] = one;
  end

`ifdef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      // Only the service that has the turn replies or accesses the buffer.
      Access_A : assert (((read_i | write_i) & ~has_turn) == '0);
      Reply_A : assert ((reply_valid_i & ~has_turn) == '0);
      Reply_M : assume (!answer || open != '0);
      Open_A : assert (32'(open) <= MostOpen);
    end
  end
`endif

endmodule
