/* Operators of Loom C that C leaves undefined or defines otherwise, on values of up to 128 bits. A value of width w is
 * held in the next larger unsigned type and is always below 2^w: `ones` is that type's image of 2^w - 1. */
#ifndef WL_BITS_H
#define WL_BITS_H

#include "base.h"

/* Division by zero gives all ones, as SMT-LIB and RISC-V define it. */
WL_INLINE uint32_t wl_udiv32(uint32_t a, uint32_t b, uint32_t ones) { return b ? a / b : ones; }
WL_INLINE uint64_t wl_udiv64(uint64_t a, uint64_t b, uint64_t ones) { return b ? a / b : ones; }
WL_INLINE wl_u128 wl_udiv128(wl_u128 a, wl_u128 b, wl_u128 ones) { return b ? a / b : ones; }

/* The remainder by zero is the dividend. */
WL_INLINE uint32_t wl_urem32(uint32_t a, uint32_t b) { return b ? a % b : a; }
WL_INLINE uint64_t wl_urem64(uint64_t a, uint64_t b) { return b ? a % b : a; }
WL_INLINE wl_u128 wl_urem128(wl_u128 a, wl_u128 b) { return b ? a % b : a; }

/* Shifts by the width or more give zero. The caller masks the result of a left shift. */
WL_INLINE uint64_t wl_shl64(uint64_t a, uint64_t count, uint32_t width) { return count < width ? a << count : 0; }
WL_INLINE uint64_t wl_shr64(uint64_t a, uint64_t count, uint32_t width) { return count < width ? a >> count : 0; }
WL_INLINE wl_u128 wl_shl128(wl_u128 a, uint64_t count, uint32_t width) { return count < width ? a << count : 0; }
WL_INLINE wl_u128 wl_shr128(wl_u128 a, uint64_t count, uint32_t width) { return count < width ? a >> count : 0; }

/* A shift count of more than 64 bits, saturated. */
WL_INLINE uint64_t wl_count128(wl_u128 count) { return count >> 64 ? UINT64_MAX : (uint64_t)count; }

/* Bytes in network order at an address. */
WL_INLINE uint16_t wl_be16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}

WL_INLINE uint32_t wl_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

WL_INLINE uint64_t wl_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

WL_INLINE wl_u128 wl_be128(const uint8_t *p) { return WL_U128(wl_be64(p), wl_be64(p + 8)); }

#endif
