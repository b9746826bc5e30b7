// Merges valid/ready streams of packets into one: an arbiter, a multiplexer and an optional
// register stage.
//
// Contract
//   Data and order: each beat that enters at an input leaves once, in that input's order; packets
//   (up to the beat with `last`) are not interleaved. An output that is not taken stays stable.
//   Throughput: one beat a cycle, however few inputs are active. Latency: none, or one cycle with
//   Register.
//   Fairness: that of the arbiter.
// Timing: without Register all paths are combinational. With Register all outputs are registers,
// and the path from `out_ready_i` to `in_ready_o` is cut in front of the arbiter.
//
// Parameters
//   Inputs     streams; 1 is a wire (or a register)
//   Width      bits of a beat, without `last`
//   Fair       1: wl_arbiter_fair, 0: wl_arbiter_fixed
//   Register   1: a skid buffer at the output
module wl_merge #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned Width = 8,
    parameter bit Fair = 1'b1,
    parameter bit Register = 1'b0
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [Inputs-1:0]            in_valid_i,
    output logic [Inputs-1:0]            in_ready_o,
    input  logic [Inputs-1:0]            in_last_i,
    input  logic [Inputs-1:0][Width-1:0] in_data_i,

    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic             out_last_o,
    output logic [Width-1:0] out_data_o
);

  if (Inputs < 1) begin : g_illegal_inputs
    $fatal(1, "wl_merge: Inputs must be 1 or more");
  end
  if (Width < 1) begin : g_illegal_width
    $fatal(1, "wl_merge: Width must be 1 or more");
  end

  typedef struct packed {
    logic last;
    logic [Width-1:0] data;
  } beat_t;
  beat_t beat, out;
  assign out_last_o = out.last;
  assign out_data_o = out.data;

  logic valid, ready;
  logic [Inputs-1:0] grant;
  logic [wl_pkg::bits(Inputs)-1:0] index;
  assign beat.last = |(grant & in_last_i);
  assign in_ready_o = grant & {Inputs{ready}};

  if (Fair) begin : g_fair
    wl_arbiter_fair #(
        .Inputs(Inputs)
    ) i_arbiter (
        .clk_i,
        .rst_i,
        .request_i(in_valid_i),
        .taken_i(ready),
        .last_i(beat.last),
        .grant_o(grant),
        .valid_o(valid)
    );
  end else begin : g_fixed
    wl_arbiter_fixed #(
        .Inputs(Inputs)
    ) i_arbiter (
        .clk_i,
        .rst_i,
        .request_i(in_valid_i),
        .taken_i(ready),
        .last_i(beat.last),
        .grant_o(grant),
        .valid_o(valid)
    );
  end

  wl_encode #(
      .Inputs(Inputs)
  ) i_encode (
      .one_hot_i(grant),
      .index_o  (index)
  );
  wl_select #(
      .Inputs(Inputs),
      .Width (Width)
  ) i_select (
      .index_i(index),
      .data_i (in_data_i),
      .data_o (beat.data)
  );

  if (Register) begin : g_register
    wl_skid #(
        .Width($bits(beat_t))
    ) i_skid (
        .clk_i,
        .rst_i,
        .in_valid_i(valid),
        .in_ready_o(ready),
        .in_data_i(beat),
        .out_valid_o,
        .out_ready_i,
        .out_data_o(out)
    );
  end else begin : g_wire
    assign out_valid_o = valid;
    assign ready = out_ready_i;
    assign out = beat;
  end

`ifdef FORMAL
  // Whether each input was stalled, what it offered, and the owner of the packet under way.
  logic [Inputs-1:0] taken, was_waiting, was_last, owner;
  logic [Inputs-1:0][Width-1:0] was_data;
  logic midst, was_stalled;
  beat_t was;
  logic [2:0] held;  // beats inside the module
  assign taken = in_valid_i & in_ready_o;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      midst <= 1'b0;
      held  <= '0;
    end else begin
      if (taken != '0) midst <= !beat.last;
      held <= held + 3'(taken != '0) - 3'(out_valid_o && out_ready_i);
    end
    if (taken != '0) owner <= taken;
    was_waiting <= rst_i ? '0 : in_valid_i & ~in_ready_o;
    was_last <= in_last_i;
    was_data <= in_data_i;
    was_stalled <= !rst_i && out_valid_o && !out_ready_i;
    was <= out;
    if (!rst_i) begin
      Stable_A : assert (!was_stalled || (out_valid_o && out == was));
      Whole_A : assert (!midst || (taken & ~owner) == '0);
      Count_A : assert (32'(held) <= (Register ? 2 : 0));
    end
  end
  for (genvar i = 0; i < Inputs; i++) begin : g_held
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        Held_M :
        assume (!was_waiting[i] || (in_valid_i[i] && in_last_i[i] == was_last[i]
                                    && in_data_i[i] == was_data[i]));
      end
    end
  end
`endif

endmodule
