/* Operators of Loom C that C leaves undefined or defines otherwise, on values of up to 64 bits. A value of width w is held
 * in 32 or 64 bits and is always below 2^w: `ones` is 2^w - 1. */
#ifndef WL_BITS_H
#define WL_BITS_H

/* Division by zero gives all ones, as SMT-LIB and RISC-V define it. */
WL_INLINE uint32_t wl_udiv32(uint32_t a, uint32_t b, uint32_t ones) { return b ? a / b : ones; }
WL_INLINE uint64_t wl_udiv64(uint64_t a, uint64_t b, uint64_t ones) { return b ? a / b : ones; }

/* The remainder by zero is the dividend. */
WL_INLINE uint32_t wl_urem32(uint32_t a, uint32_t b) { return b ? a % b : a; }
WL_INLINE uint64_t wl_urem64(uint64_t a, uint64_t b) { return b ? a % b : a; }

/* Shifts by the width or more give zero. The caller masks the result of a left shift. */
WL_INLINE uint32_t wl_shl32(uint32_t a, uint32_t count, uint32_t width) { return count < width ? a << count : 0; }
WL_INLINE uint32_t wl_shr32(uint32_t a, uint32_t count, uint32_t width) { return count < width ? a >> count : 0; }
WL_INLINE uint64_t wl_shl64(uint64_t a, uint32_t count, uint32_t width) { return count < width ? a << count : 0; }
WL_INLINE uint64_t wl_shr64(uint64_t a, uint32_t count, uint32_t width) { return count < width ? a >> count : 0; }

/* A shift count of more than 32 bits, saturated. */
WL_INLINE uint32_t wl_count64(uint64_t count) { return count >> 32 ? UINT32_MAX : (uint32_t)count; }

/* What a compiler calls for copies and comparisons of structures. */
__attribute__((used)) void *memcpy(void *to, const void *from, size_t count)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    for (size_t i = 0; i < count; i++)
        t[i] = f[i];
    return to;
}

__attribute__((used)) void *memset(void *to, int value, size_t count)
{
    uint8_t *t = to;
    for (size_t i = 0; i < count; i++)
        t[i] = (uint8_t)value;
    return to;
}

#endif
