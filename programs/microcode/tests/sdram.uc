; sdram: read, write, and to and from the FIFOs.
#include "test.inc"
.reg base x z $$d0 $$d1 $$d2 $$d3 $$r0 $$r1 $$r2 $$r3
    immed[base, 64]
    immed32[x, 0x01020304]
    alu[$$d0, --, B, x]
    alu[$$d1, --, ~B, x]
    alu[$$d2, --, B, base]
    alu[$$d3, --, ~B, base]
    sdram[write, $$d0, base, 0, 2], ctx_swap
    sdram[read, $$r0, base, 0, 2], ctx_swap
    alu[z, --, B, $$r0]
    expect(1, z, 0x01020304)
    alu[z, --, B, $$r1]
    expect(2, z, 0xfefdfcfb)
    alu[z, --, B, $$r2]
    expect(3, z, 64)
    alu[z, --, B, $$r3]
    expect(4, z, 0xffffffbf)
    ; An element of the transmit FIFO takes what the SDRAM has; the receive FIFO, in which nothing
    ; has come, gives zeros. Operand A is the address in the FIFO, unless the instruction before gives
    ; it, by bit 11 and bits 10 to 4.
    sdram[t_fifo_wr, --, 8, base, 2], ctx_swap
    immed32[x, 0x00000880]
    alu[--, --, B, x]
    sdram[r_fifo_rd, --, 0, base, 2], indirect_ref, ctx_swap
    sdram[read, $$r0, base, 0, 1], ctx_swap, ordered
    alu[z, --, B, $$r0]
    expect(5, z, 0)
    pass()
