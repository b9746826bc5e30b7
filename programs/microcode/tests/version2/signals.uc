; Signals by name: of its own engine, at a time, any of several.
#include "test.inc"
.reg x z
.sig one two late
    br_signal[one, wrong1#]
    ; Signal `one` of context 0.
    local_csr_wr[same_me_signal, (&one << 3)]
    br_signal[one, has_one#]
wrong1#:
    fail(1)
has_one#:
    ; It was taken.
    br_signal[one, wrong1#]
    local_csr_wr[same_me_signal, (&two << 3)]
    ctx_arb[one, two, any]
    br_!signal[two, taken#]
    fail(2)
taken#:
    ; In two ticks of 16 cycles.
    local_csr_wr[future_count_signal, &late]
    nop
    nop
    nop
    local_csr_rd[timestamp_low]
    immed[x, 0]
    alu[z, x, +, 2]
    local_csr_wr[future_count, z]
    ctx_arb[late]
    local_csr_rd[timestamp_low]
    immed[z, 0]
    alu[z, z, -, x]
    .if (z < 2 || z > 3)
        fail(3)
    .endif
    local_csr_rd[timestamp_high]
    immed[z, 0]
    expect(4, z, 0)
    ; Two random numbers differ.
    local_csr_rd[pseudo_random]
    immed[x, 0]
    local_csr_rd[pseudo_random]
    immed[z, 0]
    alu[--, x, -, z]
    br!=0[differ#]
    fail(5)
differ#:
    pass()
