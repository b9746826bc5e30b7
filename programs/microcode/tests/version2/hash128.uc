; hash1_128 to hash3_128: with the multiplier x, keys are shifted, and reduced where they overflow:
; x^128 = 1 + x^33 + x^69 + x^98.
#include "test.inc"
.reg x z
.reg $k0 $k1 $k2 $k3 $k4 $k5 $k6 $k7 $k8 $k9 $k10 $k11
.sig done

#macro key(low, high)
    immed32[x, 0x80000000]
    alu[high, --, B, x]
    immed[x, 3]
    alu[low, --, B, x]
#endm
#macro hashed(number, register, value)
    alu[z, --, B, register]
    expect(number, z, value)
#endm

    immed[x, 2]
    cap[fast_wr, x, hash_multiplier_128_0]
    cap[fast_wr, 0, hash_multiplier_128_1]
    cap[fast_wr, 0, hash_multiplier_128_2]
    cap[fast_wr, 0, hash_multiplier_128_3]
    ; The multiplier is there before the first key.
    cap[read, $k0, hash_multiplier_128_0], ctx_swap[done]
    hashed(1, $k0, 2)
    immed[x, 0]
    alu[$k1, --, B, x]
    alu[$k2, --, B, x]
    alu[$k5, --, B, x]
    alu[$k6, --, B, x]
    alu[$k7, --, B, x]
    alu[$k9, --, B, x]
    alu[$k10, --, B, x]
    alu[$k11, --, B, x]
    key($k0, $k3)
    hash1_128[$k0], ctx_swap[done]
    hashed(2, $k0, 7)
    hashed(3, $k1, 2)
    hashed(4, $k2, 0x20)
    hashed(5, $k3, 4)
    immed[x, 9]
    alu[$k4, --, B, x]
    hash2_128[$k0], ctx_swap[done]
    hashed(6, $k3, 4)
    hashed(7, $k4, 18)
    immed[x, 12]
    alu[$k8, --, B, x]
    hash3_128[$k0], ctx_swap[done]
    hashed(8, $k0, 7)
    hashed(9, $k4, 18)
    hashed(10, $k8, 24)
    hashed(11, $k11, 0)
    pass()
