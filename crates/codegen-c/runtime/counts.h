/* Counts of bits, and the smaller and the larger of two values. A value of width w is stored in an
 * unsigned type of at least w bits. Processors without instructions for them have no library that
 * could be called either, so bits are counted by sums of neighbours in a word. */
#ifndef WL_COUNTS_H
#define WL_COUNTS_H

#define WL_CHOICES(bits, type)                                                                     \
    WL_INLINE type wl_min##bits(type a, type b) { return a < b ? a : b; }                          \
    WL_INLINE type wl_max##bits(type a, type b) { return a < b ? b : a; }

WL_CHOICES(32, uint32_t)
WL_CHOICES(64, uint64_t)
#if WL_LIMB_BITS == 64
WL_CHOICES(128, wl_u128)
#endif

#undef WL_CHOICES

/* The number of bits that are 1. */
WL_INLINE uint32_t wl_popcount32(uint32_t a)
{
    a -= a >> 1 & 0x55555555u;
    a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0fu;
    a += a >> 8;
    return (a + (a >> 16)) & 0x3fu;
}

WL_INLINE uint32_t wl_popcount64(uint64_t a)
{
    return wl_popcount32((uint32_t)a) + wl_popcount32((uint32_t)(a >> 32));
}

/* The number of bits that a value needs: 0 for zero. */
WL_INLINE uint32_t wl_significant32(uint32_t a)
{
    a |= a >> 1;
    a |= a >> 2;
    a |= a >> 4;
    a |= a >> 8;
    return wl_popcount32(a | a >> 16);
}

WL_INLINE uint32_t wl_significant64(uint64_t a)
{
    uint32_t high = (uint32_t)(a >> 32);
    return high ? 32 + wl_significant32(high) : wl_significant32((uint32_t)a);
}

/* The number of zeros above the highest bit that is 1, in a value of `width` bits. */
WL_INLINE uint32_t wl_clz32(uint32_t a, uint32_t width) { return width - wl_significant32(a); }
WL_INLINE uint32_t wl_clz64(uint64_t a, uint32_t width) { return width - wl_significant64(a); }

#if WL_LIMB_BITS == 64
WL_INLINE uint32_t wl_popcount128(wl_u128 a)
{
    return wl_popcount64((uint64_t)a) + wl_popcount64((uint64_t)(a >> 64));
}

WL_INLINE uint32_t wl_clz128(wl_u128 a, uint32_t width)
{
    uint64_t high = (uint64_t)(a >> 64);
    return width - (high ? 64 + wl_significant64(high) : wl_significant64((uint64_t)a));
}
#endif

#endif
