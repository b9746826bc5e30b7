; hash1_48 to hash3_64: with the multiplier x, keys are shifted, and reduced where they overflow:
; x^48 = 1 + x^10 + x^25 + x^36, x^64 = 1 + x^17 + x^35 + x^54.
#include "test.inc"
.reg x y z $k0 $k1 $k2 $k3 $k4 $k5

#macro keys(low, high)
    immed32[x, low]
    immed32[y, high]
    alu[$k0, --, B, x]
    alu[$k1, --, B, y]
    alu[$k2, --, B, 3]
    alu[$k3, --, B, 0]
    alu[$k4, --, B, 5]
    alu[$k5, --, B, 0]
#endm
#macro hashed(number, register, value)
    alu[z, --, B, register]
    expect(number, z, value)
#endm

    immed[x, 2]
    fast_wr[x, hash_multiplier_48_lo]
    fast_wr[0, hash_multiplier_48_hi]
    fast_wr[x, hash_multiplier_64_lo]
    fast_wr[0, hash_multiplier_64_hi]
    ; The multipliers are there before the first key.
    csr[read, $k0, mailbox], ctx_swap
    keys(0, 0x8000)
    hash1_48[$k0], ctx_swap
    hashed(1, $k0, 0x02000401)
    hashed(2, $k1, 0x10)
    keys(0, 0x8000)
    hash2_48[$k0], ctx_swap
    hashed(3, $k1, 0x10)
    hashed(4, $k2, 6)
    keys(0, 0x8000)
    hash3_48[$k0], ctx_swap
    hashed(5, $k4, 10)
    keys(0, 0x80000000)
    hash1_64[$k0], ctx_swap
    hashed(6, $k0, 0x00020001)
    hashed(7, $k1, 0x00400008)
    keys(0, 0x80000000)
    hash2_64[$k0], ctx_swap
    hashed(8, $k2, 6)
    keys(0, 0x80000000)
    hash3_64[$k0], ctx_swap
    hashed(9, $k0, 0x00020001)
    hashed(10, $k4, 10)
    pass()
