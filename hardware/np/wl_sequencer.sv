// Sequencer: distributes the packets of the input lanes over the pipes, so that packet n goes to
// pipe n mod Lanes.
//
// Packets are numbered in the order in which they start, the lower lane first within a cycle; a
// packet that has waited for a pipe comes before one that arrives. These numbers define the packet
// order in all of Wireloom (what leaves when, which packet sees which state).
//
// Contract
//   Data and order: each packet goes to one pipe as a whole; a pipe gets its packets in the order
//   of their numbers.
//   Throughput: Lanes beats a cycle while the packets under way at the same time have the same
//   number of beats; a packet waits for its pipe while an earlier one still goes there. Latency:
//   none.
//   `tuser` is valid on the first beat. Beats pass unchanged: `wl_preprocessor` defines the meaning
//   of any `tkeep` and length.
//   With one lane the module is only wires and the counter.
// Timing: a Lanes-way multiplexer from lane to pipe; `s_tready_o` depends on `pipe_ready_i` and on
// registers.
//
// Parameters
//   Lanes          AXI4-Stream input lanes, and pipes: 1 to 8
//   DataBytes      bytes of a beat
//   UserBits       bits of tuser
//   SequenceBits   bits of the packets' numbers, 0 if no program uses them (`pipe_sequence_o` is
//                  then one zero bit a pipe)
module wl_sequencer #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned DataBytes = 64,
    parameter int unsigned UserBits = 16,
    parameter int unsigned SequenceBits = 0,
    localparam int unsigned NumberBits = SequenceBits == 0 ? 1 : SequenceBits
) (
    input logic clk_i,
    input logic rst_i,

    // AXI4-Stream lanes: byte 0 of a beat in bits 7:0.
    input  logic [            Lanes-1:0] s_tvalid_i,
    output logic [            Lanes-1:0] s_tready_o,
    input  logic [Lanes*8*DataBytes-1:0] s_tdata_i,
    input  logic [  Lanes*DataBytes-1:0] s_tkeep_i,
    input  logic [            Lanes-1:0] s_tlast_i,
    input  logic [   Lanes*UserBits-1:0] s_tuser_i,

    // Pipes.
    output logic [            Lanes-1:0] pipe_valid_o,
    input  logic [            Lanes-1:0] pipe_ready_i,
    output logic [Lanes*8*DataBytes-1:0] pipe_data_o,
    output logic [  Lanes*DataBytes-1:0] pipe_keep_o,
    output logic [            Lanes-1:0] pipe_last_o,
    output logic [   Lanes*UserBits-1:0] pipe_user_o,
    output logic [ Lanes*NumberBits-1:0] pipe_sequence_o,  // packet's number, on its first beat

    // Statistics.
    output logic [Lanes-1:0] stall_o  // the lane has a beat that is not accepted in this cycle
);

  if (Lanes < 1 || Lanes > 8) begin : g_illegal_lanes
    $fatal(1, "wl_sequencer: Lanes must be 1 to 8");
  end
  if (DataBytes < 1 || UserBits < 1) begin : g_illegal
    $fatal(1, "wl_sequencer: DataBytes and UserBits must be 1 or more");
  end

  localparam int unsigned LaneBits = wl_pkg::bits(Lanes);
  localparam int unsigned BeatBits = 8 * DataBytes + DataBytes + 1 + UserBits;

  assign stall_o = s_tvalid_i & ~s_tready_o;

  logic [NumberBits-1:0] number;  // number of the next packet to start

  if (Lanes == 1) begin : g_wires
    assign pipe_valid_o = s_tvalid_i;
    assign s_tready_o = pipe_ready_i;
    assign pipe_data_o = s_tdata_i;
    assign pipe_keep_o = s_tkeep_i;
    assign pipe_last_o = s_tlast_i;
    assign pipe_user_o = s_tuser_i;
    assign pipe_sequence_o = number;

    // The number advances at the end of a packet, so that it is stable from the first beat on.
    always_ff @(posedge clk_i) begin
      if (rst_i || SequenceBits == 0) number <= '0;
      else if (pipe_valid_o[0] && pipe_ready_i[0] && pipe_last_o[0]) number <= number + 1'b1;
    end
  end else begin : g_deal
    logic [Lanes-1:0] waited;  // the lane has a packet that found its pipe busy
    logic [Lanes-1:0] bound;  // a pipe is assigned to the lane's packet
    logic [Lanes-1:0][LaneBits-1:0] bound_pipe;  // that pipe
    logic [Lanes-1:0][NumberBits-1:0] bound_number;  // number of the packet
    logic [LaneBits-1:0] turn;  // pipe of the next packet to start

    function automatic logic [LaneBits-1:0] after(logic [LaneBits-1:0] pipe);
      return pipe == LaneBits'(Lanes - 1) ? '0 : pipe + 1'b1;
    endfunction

    logic [Lanes-1:0] busy;  // pipes in the middle of a packet
    always_comb begin
      busy = '0;
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        for (int unsigned pipe = 0; pipe < Lanes; pipe++) begin
          if (bound[lane] && bound_pipe[lane] == LaneBits'(pipe)) busy[pipe] = 1'b1;
        end
      end
    end

    // The assignment of packets to pipes. A packet that finds its pipe busy stalls those that would
    // start after it: the turn stays.
    logic [Lanes-1:0] active;
    logic [Lanes-1:0][LaneBits-1:0] pipe_of;
    logic [Lanes-1:0][NumberBits-1:0] number_of;
    logic [LaneBits-1:0] turn_after;
    logic [NumberBits-1:0] number_after;
    always_comb begin
      active = bound;
      pipe_of = bound_pipe;
      number_of = bound_number;
      turn_after = turn;
      number_after = number;
      for (int unsigned i = 0; i < 2 * Lanes; i++) begin
        // First the lanes that have waited, then the others.
        int unsigned lane;
        lane = i % Lanes;
        if (!bound[lane] && s_tvalid_i[lane] && waited[lane] == (i < Lanes)) begin
          pipe_of[lane] = turn_after;
          number_of[lane] = number_after;
          if (!busy[turn_after]) begin
            active[lane] = 1'b1;
            turn_after = after(turn_after);
            number_after = SequenceBits == 0 ? '0 : number_after + 1'b1;
          end
        end
      end
    end

    always_comb begin
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        s_tready_o[lane] = active[lane] && pipe_ready_i[pipe_of[lane]];
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        waited <= '0;
        bound  <= '0;
        turn   <= '0;
        number <= '0;
      end else begin
        waited <= s_tvalid_i & ~active;
        bound  <= active & ~(s_tvalid_i & s_tready_o & s_tlast_i);
        turn   <= turn_after;
        number <= number_after;
      end
      bound_pipe   <= pipe_of;
      bound_number <= number_of;
    end

    logic [Lanes-1:0][BeatBits-1:0] beats;
    for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
      assign beats[lane] = {
        s_tuser_i[lane*UserBits+:UserBits],
        s_tlast_i[lane],
        s_tkeep_i[lane*DataBytes+:DataBytes],
        s_tdata_i[lane*8*DataBytes+:8*DataBytes]
      };
    end

    for (genvar pipe = 0; pipe < Lanes; pipe++) begin : g_pipe
      logic [LaneBits-1:0] from;
      logic [Lanes-1:0] goes;  // the lane's packet goes to this pipe
      always_comb begin
        from = '0;
        for (int unsigned lane = 0; lane < Lanes; lane++) begin
          goes[lane] = active[lane] && pipe_of[lane] == LaneBits'(pipe);
          if (goes[lane]) from |= LaneBits'(lane);
        end
      end
      assign pipe_valid_o[pipe] = |(goes & s_tvalid_i);
      assign {
        pipe_user_o[pipe*UserBits+:UserBits],
        pipe_last_o[pipe],
        pipe_keep_o[pipe*DataBytes+:DataBytes],
        pipe_data_o[pipe*8*DataBytes+:8*DataBytes]
      } = beats[from];
      assign pipe_sequence_o[pipe*NumberBits+:NumberBits] = number_of[from];
    end

`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        for (int unsigned a = 0; a < Lanes; a++) begin
          for (int unsigned b = 0; b < a; b++) begin
            OneLaneAPipe_A : assert (!active[a] || !active[b] || pipe_of[a] != pipe_of[b]);
          end
        end
      end
    end
`endif
  end

endmodule
