; Rings: of words in the scratchpad, and of next-neighbour registers.
#include "test.inc"
.reg x z n
.reg $a $b $c $d
.sig done
    ; Ring 2: 128 words from byte 512 on.
    immed[x, 512]
    cap[fast_wr, x, scratch_ring_base_2]
    immed[x, 1]
    alu[$a, --, B, x]
    alu[$b, x, +, 1]
    alu[$c, x, +, 2]
    scratch[put, $a, 2, 0, 3], ctx_swap[done]
    scratch[get, $a, 2, 0, 2], ctx_swap[done]
    alu[z, $a, +, 0]
    expect(1, z, 1)
    alu[z, --, B, $b]
    expect(2, z, 2)
    ; One word is left: a command for two gets none, one for one gets it.
    scratch[get, $a, 2, 0, 2], ctx_swap[done]
    alu[z, $a, +, 0]
    alu[z, z, OR, $b]
    expect(3, z, 0)
    scratch[get, $a, 2, 0, 1], ctx_swap[done]
    alu[z, --, B, $a]
    expect(4, z, 3)
    ; Full when a command of 16 words finds no room.
    br_inp_state[ring2_full, wrong#]
    immed[n, 29]
    .while (n != 0)
        scratch[put, $a, 2, 0, 4], ctx_swap[done]
        alu[n, n, -, 1]
    .endw
    br_inp_state[ring2_full, full#]
wrong#:
    fail(5)
full#:
    ; A ring of SRAM has 512 words at least: ring 1, from byte 4,096 on.
    immed[x, 4096]
    cap[fast_wr, x, sram_ring_base_1]
    immed[x, 77]
    alu[$a, --, B, x]
    alu[$b, x, +, 1]
    sram[put, $a, 1, 0, 2], ctx_swap[done]
    sram[get, $a, 1, 0, 1], ctx_swap[done]
    alu[z, --, B, $a]
    expect(10, z, 77)
    sram[get, $a, 1, 0, 1], ctx_swap[done]
    alu[z, --, B, $a]
    expect(11, z, 78)
    ; This engine is its own neighbour.
    immed[x, (1 << 20)]
    local_csr_wr[ctx_enables, x]
    nop
    nop
    nop
    .begin
    .reg n$r
    immed[x, 300]
    alu[n$r, --, B, x]
    alu[z, --, B, n$r]
    expect(6, z, 300)
    .end
    alu[*n$index++, x, +, 1]
    alu[*n$index++, x, +, 2]
    alu[z, --, B, *n$index++]
    expect(7, z, 301)
    alu[z, --, B, *n$index++]
    expect(8, z, 302)
    local_csr_wr[nn_put, 5]
    local_csr_wr[nn_get, 5]
    nop
    nop
    nop
    alu[*n$index++, x, +, 3]
    alu[z, --, B, *n$index++]
    expect(9, z, 303)
    pass()
