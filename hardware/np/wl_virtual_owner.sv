`include "wl_reset.svh"

// Tracks the owners of the packets in a processor that virtual routers share: it reports the router
// of the packet that leaves next, independently of the program. The valid and ready signals into
// the processor pass through this module. It stores the routers' places in the order in which their
// packets enter, which is the order in which a processor of one lane releases them.
//
// Contract
//   Data and order: valid and ready pass through, but a packet does not begin while Packets of them
//   are inside.
//   `place_o` is the place of the oldest packet inside that has not ended; `ends_i` reports that it
//   has.
//   A packet must end no earlier than three cycles after its first beat was accepted. Latency:
//   none.
// Timing: one LUT from valid to valid and from ready to ready; `place_o` is the register of block
// RAM.
//
// Parameters
//   Routers   routers that share the processor; a single one owns all packets
//   Packets   most packets inside at a time
module wl_virtual_owner #(
    parameter int unsigned Routers = 2,
    parameter int unsigned Packets = 512
) (
    input logic clk_i,
    input logic rst_i,

    // From the ingress.
    input  logic       in_valid_i,
    output logic       in_ready_o,
    input  logic       in_last_i,
    input  logic [7:0] in_place_i,

    // To the processor.
    output logic out_valid_o,
    input  logic out_ready_i,

    // The packet that leaves next.
    output logic [7:0] place_o,
    input  logic       ends_i
);

  if (Routers < 1 || Routers > 256 || Packets < 2) begin : g_illegal
    $fatal(1, "wl_virtual_owner: Routers must be 1 to 256 and Packets 2 or more");
  end

  if (Routers == 1) begin : g_one
    assign out_valid_o = in_valid_i;
    assign in_ready_o = out_ready_i;
    assign place_o = '0;
    logic unused;
    assign unused = &{clk_i, rst_i, in_last_i, in_place_i, ends_i};
  end else begin : g_several
    localparam int unsigned PlaceBits = wl_pkg::bits(Routers);
    logic behind;  // a packet has begun and not ended
    logic room, open, begins, some;
    logic [PlaceBits-1:0] place;
    logic [wl_pkg::bits(Packets+2)-1:0] fill;
    assign open = behind || room;
    assign out_valid_o = in_valid_i && open;
    assign in_ready_o = out_ready_i && open;
    assign begins = in_valid_i && out_ready_i && !behind;
    assign place_o = 8'(place);
    always_ff @(`WL_EDGES(clk_i, rst_i)) begin
      if (rst_i) behind <= 1'b0;
      else if (out_valid_o && out_ready_i) behind <= !in_last_i;
    end

    wl_fifo_block #(
        .Width(PlaceBits),
        .Depth(Packets)
    ) i_places (
        .clk_i,
        .rst_i,
        .in_valid_i(begins),
        .in_ready_o(room),
        .in_data_i(PlaceBits'(in_place_i)),
        .out_valid_o(some),
        .out_ready_i(ends_i),
        .out_data_o(place),
        .fill_o(fill)
    );
    logic unused;
    assign unused = &{in_place_i, fill, some};

`ifdef FORMAL
    always_ff @(posedge clk_i) begin
      if (!rst_i) Inside_A : assert (!ends_i || some);
    end
`endif
  end
endmodule
