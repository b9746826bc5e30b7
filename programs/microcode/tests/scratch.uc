; scratch: read, write, bit_wr, incr.
#include "test.inc"
.reg base mask z $d0 $d1 $d2 $d3
    immed[base, 100]
    immed32[mask, 0x11112222]
    alu[$d0, --, B, mask]
    alu[$d1, --, ~B, mask]
    scratch[write, $d0, base, 4, 2], ctx_swap
    scratch[read, $d2, base, 4, 2], ctx_swap
    alu[z, --, B, $d2]
    expect(1, z, 0x11112222)
    alu[z, --, B, $d3]
    expect(2, z, 0xeeeedddd)
    immed32[mask, 0x0000ffff]
    alu[$d0, --, B, mask]
    scratch[bit_wr, $d0, base, 4, set_bits], ctx_swap
    scratch[read, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(3, z, 0x1111ffff)
    scratch[bit_wr, $d0, base, 4, clear_bits], ctx_swap
    scratch[read, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(4, z, 0x11110000)
    scratch[bit_wr, $d0, base, 4, test_and_set_bits], ctx_swap
    alu[z, --, B, $d0]
    expect(5, z, 0x11110000)
    scratch[bit_wr, $d0, base, 4, test_and_clear_bits], ctx_swap
    alu[z, --, B, $d0]
    expect(6, z, 0x1111ffff)
    scratch[read, $d1, base, 4, 1], ctx_swap
    alu[z, --, B, $d1]
    expect(7, z, 0x11110000)
    scratch[incr, --, base, 4], ctx_swap
    scratch[incr, --, base, 4], ctx_swap, ordered
    scratch[read, $d1, base, 4, 1], ctx_swap, ordered
    alu[z, --, B, $d1]
    expect(8, z, 0x11110002)
    pass()
