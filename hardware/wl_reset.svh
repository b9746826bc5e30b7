// How registers with a reset are clocked. The reset `rst_i` is active high and synchronous by
// default; with WL_ASYNCHRONOUS_RESET defined it is asserted asynchronously, and released
// synchronously by whoever drives it. One definition holds for a whole design.
//
//     always_ff @(`WL_EDGES(clk_i, rst_i)) begin
//       if (rst_i) count <= '0;
//       else count <= count + 1'b1;
//     end
//
// A block under this macro is one `if` over the reset, which gives every register of the block a
// constant: then both forms map to the flip-flops of any part. Registers without a reset are in
// blocks of their own, clocked by `posedge clk_i`.
`ifndef WL_EDGES
`ifdef WL_ASYNCHRONOUS_RESET
`define WL_EDGES(clock, reset) posedge clock or posedge reset
`else
`define WL_EDGES(clock, reset) posedge clock
`endif
`endif
