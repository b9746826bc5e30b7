// Egress of a lane of virtual routers: merges the packets of the processors onto the lane, one
// packet at a time, and sets the tag of the router that owns each packet, independently of the
// program.
//
// Contract
//   Data and order: the packets of a processor leave as a whole, in order, once; the upper byte of
//   the egress port is the router's tag.
//   Fairness: processors take turns. As long as they send no more than one beat a cycle in total,
//   each can send everything.
//   Events appear on separate ports, for one cycle, and cannot be stalled: {kind, reason, egress}
//   with the tag in the upper byte of the egress port, and a zero lower byte. An event comes after
//   the last beat that its processor sent before.
//   `ends_o`: the oldest packet of a processor has left it, with all its copies.
//   Throughput: one beat a cycle. Latency: none.
// Timing: the arbiter and the multiplexer of wl_merge; the tags are a multiplexer of constants
// before it. There are no registers, because an event would overtake packets.
//
// Parameters
//   Routers      virtual routers
//   Processors   processors
//   Counts       9 bits for each processor: the number of its routers; the routers of a processor
//                have consecutive numbers
//   Tags         8 bits for each router: the tag of its packets
//   DataBytes    bytes of a beat
module wl_virtual_egress #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Processors = 1,
    parameter logic [Processors*9-1:0] Counts = (Processors * 9)'(Routers),
    parameter logic [Routers*8-1:0] Tags = (Routers * 8)'(256),
    parameter int unsigned DataBytes = 64
) (
    input logic clk_i,
    input logic rst_i,

    // From the processors, of one lane each.
    input  logic          [Processors-1:0]                  in_valid_i,
    output logic          [Processors-1:0]                  in_ready_o,
    input  logic          [Processors-1:0]                  in_last_i,
    input  logic          [Processors-1:0][8*DataBytes-1:0] in_data_i,
    input  logic          [Processors-1:0][  DataBytes-1:0] in_keep_i,
    input  wl_pkg::sent_t [Processors-1:0]                  in_user_i,
    input  logic          [Processors-1:0]                  in_event_i,
    input  logic          [Processors-1:0][           26:0] in_event_data_i,  // {kind, reason}

    // The owner of the next packet of each processor: its place among the processor's routers.
    input  logic [Processors-1:0][7:0] place_i,
    output logic [Processors-1:0]      ends_o,

    // The lane.
    output logic                            m_tvalid_o,
    input  logic                            m_tready_i,
    output logic          [8*DataBytes-1:0] m_tdata_o,
    output logic          [  DataBytes-1:0] m_tkeep_o,
    output logic                            m_tlast_o,
    output wl_pkg::sent_t                   m_tuser_o,

    // Events, one port for each processor.
    output logic          [Processors-1:0] event_valid_o,
    output wl_pkg::sent_t [Processors-1:0] event_o
);

  // A beat of the lane, without `last`.
  typedef struct packed {
    logic [DataBytes-1:0] keep;
    logic [8*DataBytes-1:0] data;
    wl_pkg::sent_t user;
  } beat_t;

  function automatic int unsigned first(int unsigned processor);
    first = 0;
    for (int unsigned i = 0; i < processor; i++) first += 32'(Counts[i*9+:9]);
  endfunction
  if (Processors < 1 || DataBytes < 1 || first(Processors) != Routers) begin : g_illegal
    $fatal(1, "wl_virtual_egress: each router must have one processor, and a beat a byte");
  end

  beat_t [Processors-1:0] beats;
  for (genvar p = 0; p < Processors; p++) begin : g_processor
    localparam int unsigned First = first(p);
    localparam int unsigned Count = 32'(Counts[p*9+:9]);
    localparam int unsigned PlaceBits = wl_pkg::bits(Count);
    logic [Count-1:0][7:0] own;
    logic [7:0] place, tag;
    wl_pkg::sent_t user, ended;
    beat_t beat;
    assign own = Tags[First*8+:Count*8];
    assign place = place_i[p];
    wl_select #(
        .Inputs(Count),
        .Width (8)
    ) i_tag (
        .index_i(PlaceBits'(place)),
        .data_i (own),
        .data_o (tag)
    );
    assign user = in_user_i[p];
    always_comb begin
      beat.keep = in_keep_i[p];
      beat.data = in_data_i[p];
      beat.user = user;
      beat.user.egress[15:8] = tag;
      {ended.kind, ended.reason} = in_event_data_i[p];
      ended.egress = {tag, 8'd0};
    end
    assign beats[p] = beat;
    assign ends_o[p] = in_event_i[p]
        || (in_valid_i[p] && in_ready_o[p] && in_last_i[p] && !wl_pkg::is_copy(user.kind));
    assign event_o[p] = ended;
    logic unused;
    assign unused = &{user.egress[15:8], place};
  end
  assign event_valid_o = in_event_i;

  beat_t lane;
  wl_merge #(
      .Inputs(Processors),
      .Width($bits(beat_t)),
      .Register(1'b0)
  ) i_merge (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_last_i,
      .in_data_i(beats),
      .out_valid_o(m_tvalid_o),
      .out_ready_i(m_tready_i),
      .out_last_o(m_tlast_o),
      .out_data_o(lane)
  );
  assign m_tkeep_o = lane.keep;
  assign m_tdata_o = lane.data;
  assign m_tuser_o = lane.user;

`ifdef FORMAL
  logic midst, was_stalled;
  logic was_last;
  beat_t was;
  logic [7:0] tag, owner;  // of the offered packet, and of the packet under way
  logic known;  // the tag belongs to a router
  assign tag = lane.user.egress[15:8];
  always_comb begin
    known = 1'b0;
    for (int unsigned i = 0; i < Routers; i++) known |= Tags[i*8+:8] == tag;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) midst <= 1'b0;
    else if (m_tvalid_o && m_tready_i) midst <= !m_tlast_o;
    if (m_tvalid_o && m_tready_i) owner <= tag;
    was_stalled <= !rst_i && m_tvalid_o && !m_tready_i;
    was_last <= m_tlast_o;
    was <= lane;
    if (!rst_i) begin
      Alone_M : assume ((in_event_i & in_valid_i) == '0);
      Stable_A : assert (!was_stalled || (m_tvalid_o && m_tlast_o == was_last && lane == was));
      Tag_A : assert (!m_tvalid_o || known);
      Owner_A : assert (!m_tvalid_o || !midst || tag == owner);
    end
  end
  for (genvar p = 0; p < Processors; p++) begin : g_place
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Place_M : assume (!(in_valid_i[p] || in_event_i[p]) || place_i[p] < 8'(Counts[p*9+:9])
            || Counts[p*9+8]);
      end
    end
  end
`endif
endmodule
