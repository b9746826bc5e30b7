; sram: read, write, bit_wr, locks, lists, tokens.
#include "test.inc"
.reg base mask z $d0 $d1 $d2 $d3
    immed[base, 100]
    immed32[mask, 0x11112222]
    alu[$d0, --, B, mask]
    alu[$d1, --, ~B, mask]
    sram[write, $d0, base, 4, 2], ctx_swap
    sram[read, $d2, base, 4, 2], ctx_swap
    alu[z, --, B, $d2]
    expect(1, z, 0x11112222)
    alu[z, --, B, $d3]
    expect(2, z, 0xeeeedddd)
    immed32[mask, 0x0000ffff]
    alu[$d0, --, B, mask]
    sram[bit_wr, $d0, base, 4, set_bits], ctx_swap
    sram[read, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(3, z, 0x1111ffff)
    sram[bit_wr, $d0, base, 4, clear_bits], ctx_swap
    sram[read, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(4, z, 0x11110000)
    sram[bit_wr, $d0, base, 4, test_and_set_bits], ctx_swap
    alu[z, --, B, $d0]
    expect(5, z, 0x11110000)
    sram[bit_wr, $d0, base, 4, test_and_clear_bits], ctx_swap
    alu[z, --, B, $d0]
    expect(6, z, 0x1111ffff)
    sram[read, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(7, z, 0x11110000)
    ; A lock of its own, released by a write and by unlock.
    sram[read_lock, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(8, z, 0x11110000)
    alu[$d1, --, B, base]
    sram[write_unlock, $d1, base, 4, 1], ctx_swap
    sram[read_lock, $d2, base, 4, 1], ctx_swap
    alu[z, --, B, $d2]
    expect(9, z, 100)
    sram[unlock, --, base, 4], ctx_swap
    sram[read_lock, $d2, base, 4, 1], ctx_swap
    sram[unlock, --, base, 4], ctx_swap
    ; A list gives back what was put on it last.
    sram[push, --, base, 8, 3], ctx_swap
    sram[push, --, base, 12, 3], ctx_swap
    sram[pop, $d0, 3], ctx_swap
    alu[z, --, B, $d0]
    expect(10, z, 112)
    sram[pop, $d0, 3], ctx_swap
    alu[z, --, B, $d0]
    expect(11, z, 108)
    ; The number of words comes from the instruction before: bit 31, and 2 - 1 in bits 30 to 26.
    immed32[mask, 0x84000000]
    immed[z, 0]
    alu[$d2, --, B, z]
    alu[$d3, --, B, z]
    sram[write, $d2, base, 16, 2], ctx_swap, priority
    alu[$d2, --, B, base]
    alu[$d3, --, B, base]
    alu[--, --, B, mask]
    sram[write, $d2, base, 16, 1], indirect_ref, ctx_swap
    sram[read, $d0, base, 16, 2], optimize_mem, sig_done
    ctx_arb[sram]
    alu[z, --, B, $d0]
    expect(12, z, 100)
    alu[z, --, B, $d1]
    expect(13, z, 100)
    pass()
