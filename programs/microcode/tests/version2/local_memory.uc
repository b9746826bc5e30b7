; Local memory by its two pointers, with offsets and steps; transfer registers by `t_index`.
#include "test.inc"
.reg x z
.reg $a $b $c $d
.sig done
    immed[x, 400]
    local_csr_wr[active_lm_addr_0, x]
    local_csr_wr[active_lm_addr_1, x]
    nop
    nop
    nop
    immed32[x, 0xcafe0001]
    alu[*l$index0++, --, B, x]
    immed[x, 7]
    alu[*l$index0[2], --, B, x]
    alu[z, --, B, *l$index1]
    expect(1, z, 0xcafe0001)
    ; Pointer 0 is one word further on.
    alu[z, --, B, *l$index1[3]]
    expect(2, z, 7)
    alu[z, 1, +, *l$index0[2]]
    expect(3, z, 8)
    local_csr_rd[active_lm_addr_0]
    immed[z, 0]
    expect(4, z, 404)
    ; A byte of a word of local memory.
    immed[x, 0x55]
    ld_field[*l$index1, 0100, x, <<16]
    alu[z, --, B, *l$index1]
    expect(5, z, 0xca550001)
    ; Transfer registers by number: four words to memory and back.
    local_csr_wr[t_index, &$a]
    nop
    nop
    nop
    immed[x, 16]
    alu[*$index++, --, B, x]
    alu[*$index++, x, +, 1]
    alu[*$index++, x, +, 2]
    alu[*$index++, x, +, 3]
    immed[x, 64]
    scratch[write, $a, x, 0, 4], ctx_swap[done]
    scratch[read, $a, x, 0, 4], ctx_swap[done]
    local_csr_wr[t_index, &$b]
    nop
    nop
    nop
    alu[z, --, B, *$index++]
    expect(6, z, 17)
    alu[z, --, B, *$index++]
    expect(7, z, 18)
    alu[z, --, B, $d]
    expect(8, z, 19)
    pass()
