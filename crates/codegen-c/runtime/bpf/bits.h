/* Scalar operators of Loom C that C leaves undefined or defines differently: ../bits.h for BPF,
 * which has no instructions for values of 128 bits. */
#ifndef WL_BITS_H
#define WL_BITS_H

/* If the compiler knows that both operands are positive, it may take the signed division, which is
 * a call of a library. */
#define WL_DIVISION(bits)                                                                                              \
    WL_INLINE uint##bits##_t wl_udiv##bits(uint##bits##_t a, uint##bits##_t b, uint##bits##_t ones)                    \
    {                                                                                                                  \
        WL_OPAQUE(a);                                                                                                  \
        return b ? a / b : ones;                                                                                       \
    }                                                                                                                  \
    WL_INLINE uint##bits##_t wl_urem##bits(uint##bits##_t a, uint##bits##_t b)                                         \
    {                                                                                                                  \
        WL_OPAQUE(a);                                                                                                  \
        return b ? a % b : a;                                                                                          \
    }
WL_DIVISION(32)
WL_DIVISION(64)

/* Shifts by the width or more give zero. The caller masks the result of a left shift. */
WL_INLINE uint64_t wl_shl64(uint64_t a, uint64_t count, uint32_t width)
{
    return count < width ? a << (count & 63) : 0;
}
WL_INLINE uint64_t wl_shr64(uint64_t a, uint64_t count, uint32_t width)
{
    return count < width ? a >> (count & 63) : 0;
}
WL_INLINE wl_u128 wl_shl128(wl_u128 a, uint64_t count, uint32_t width)
{
    uint64_t low = (uint64_t)a, high = (uint64_t)(a >> 64), part = count & 63;
    if (count >= width)
        return 0;
    if (count & 64)
        return WL_U128(low << part, 0);
    return WL_U128(high << part | (low >> 1) >> (63 - part), low << part);
}
WL_INLINE wl_u128 wl_shr128(wl_u128 a, uint64_t count, uint32_t width)
{
    uint64_t low = (uint64_t)a, high = (uint64_t)(a >> 64), part = count & 63;
    if (count >= width)
        return 0;
    if (count & 64)
        return high >> part;
    return WL_U128(high >> part, low >> part | (high << 1) << (63 - part));
}

WL_INLINE wl_u128 wl_not128(wl_u128 a, wl_u128 ones)
{
    uint64_t low = (uint64_t)a, high = (uint64_t)(a >> 64);
    return WL_U128(high ^ (uint64_t)(ones >> 64), low ^ (uint64_t)ones);
}

/* Returns a shift count of more than a word, saturated. */
WL_INLINE uint64_t wl_shift_count(wl_u128 count)
{
    return (uint64_t)(count >> 64) ? UINT64_MAX : (uint64_t)count;
}

#endif
