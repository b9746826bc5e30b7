// Decides the outcome of a slot from the core's results, by rules that the engine shells share.
// Combinational.
//
//   refused    the slot has no effect and runs again: it calls an offload without reply that has no
//              room, or the window still takes another write. An offload that replies always has
//              room, because a thread has at most one call under way to each
//   clear      a word (or the first bytes of one) is written with zeros; the slot runs again, in
//              the same phase
//   issue      the slot's requests are sent
//   commit     state, step and packet writes take effect
//   waits      requests are sent and the step is not complete: the thread's next slot is in phase 1
module wl_engine_commit #(
    parameter int unsigned Offloads = 1,
    parameter int unsigned WritePorts = 1,
    parameter int unsigned HeaderBytes = 16,  // bytes of a word of the window: 4, 8 or 16
    parameter bit Clears = 1'b1,  // 0: the core never clears
    localparam int unsigned ChunkBits = wl_pkg::chunk_bits(HeaderBytes)
) (
    input logic       valid_i,   // a slot ends
    input logic       phase_i,
    input logic [ChunkBits-1:0] chunk_i,  // words already cleared

    input logic [ Offloads-1:0] request_valid_i,
    input logic [ Offloads-1:0] request_ready_i,
    input logic [ Offloads-1:0] waits_i,          // constant: this offload replies
    input logic                 commit_i,
    input logic [WritePorts-1:0] write_valid_i,
    input logic                 write_busy_i,
    input logic                 clear_valid_i,
    input logic [          7:0] clear_address_i,
    input logic [          8:0] clear_count_i,

    output logic                  commit_o,
    output logic [  Offloads-1:0] request_valid_o,
    output logic [WritePorts-1:0] write_valid_o,
    output logic                  clear_o,
    output logic [           7:0] clear_address_o,
    output logic [HeaderBytes-1:0] clear_strobe_o,
    output logic                  phase_o,          // phase of the thread's next slot
    output logic [ ChunkBits-1:0] chunk_o
);
  logic [Offloads-1:0] requests;
  assign requests = request_valid_i & {Offloads{!phase_i}};

  logic clearing, refused, no_room;
  assign no_room = (requests & ~waits_i & ~request_ready_i) != '0;
  localparam int unsigned PlaceBits = wl_pkg::bits(HeaderBytes);
  localparam logic [PlaceBits:0] Whole = (PlaceBits + 1)'(HeaderBytes);
  logic more;  // another whole word is to be cleared, not only the last few bytes
  assign more = clear_count_i[8:PlaceBits] > chunk_i;
  assign clearing = Clears && commit_i && clear_valid_i
      && (more || (clear_count_i[8:PlaceBits] == chunk_i && clear_count_i[PlaceBits-1:0] != '0));
  if (WritePorts == 1) begin : g_never_busy
    logic unused;
    assign unused  = write_busy_i;
    assign refused = !clearing && no_room;
  end else begin : g_busy
    assign refused = (!clearing && no_room)
        || (write_busy_i && commit_i && (clearing || write_valid_i != '0));
  end

  logic goes;
  assign goes = valid_i && !refused && !clearing;
  assign commit_o = goes && commit_i;
  assign request_valid_o = requests & {Offloads{goes}};
  assign write_valid_o = write_valid_i & {WritePorts{commit_o}};

  assign clear_o = valid_i && clearing && !refused;
  assign clear_address_o = clear_address_i + {chunk_i[ChunkBits-2:0], PlaceBits'(0)};
  for (genvar k = 0; k < HeaderBytes; k++) begin : g_strobe
    assign clear_strobe_o[k] = more
        || (Whole - (PlaceBits + 1)'(k)) + {1'b0, clear_count_i[PlaceBits-1:0]} > Whole;
  end

  assign phase_o = goes ? !commit_i : phase_i;
  assign chunk_o = commit_o || !Clears ? '0 : clear_o ? chunk_i + 1'b1 : chunk_i;

`ifdef FORMAL
  always_comb begin
    OneOutcome_A : assert final (!(commit_o && clear_o) && (valid_i || !(commit_o || clear_o)));
    Requests_A : assert final ((request_valid_o & ~requests) == '0
        && (valid_i || request_valid_o == '0));
    // An offload without reply gets a request only if it has room, and one with replies only in
    // phase 0.
    Room_A : assert final ((request_valid_o & ~waits_i & ~request_ready_i) == '0
        && (!phase_i || request_valid_o == '0));
    Writes_A : assert final (commit_o || write_valid_o == '0);
    Busy_A : assert final (!write_busy_i || WritePorts == 1 || !(clear_o || write_valid_o != '0));
    Still_A : assert final (valid_i || (phase_o == phase_i && (!Clears || chunk_o == chunk_i)));
  end
`endif
endmodule
