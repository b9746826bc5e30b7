/* The `hash` kind. */
#ifndef WL_HASH_H
#define WL_HASH_H

#include "base.h"

/* Returns the CRC-32 of IEEE 802.3, computed four bits at a time, of the low `count` bytes of a
 * value, the most significant byte first. */
WL_FUNCTION uint32_t wl_crc32(const uint64_t *words, uint32_t count)
{
    /* The remainders of the sixteen values of four bits, for the reflected polynomial
     * 0xedb88320. */
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = 0xffffffff;
    while (count-- > 0) {
        crc ^= (uint8_t)(words[count / 8] >> (8 * (count % 8)));
        crc = table[crc & 15] ^ crc >> 4;
        crc = table[crc & 15] ^ crc >> 4;
    }
    return ~crc;
}

/* Returns x times a polynomial of `degree` (48 or 64) coefficients over GF(2), plus `bit`,
 * modulo the generator. */
WL_INLINE uint64_t wl_gf2_shift(uint64_t value, uint64_t bit, uint32_t degree, uint64_t generator)
{
    uint64_t carry = value >> (degree - 1) & 1;
    return ((value << 1 | bit) & (UINT64_MAX >> (64 - degree))) ^ (-carry & generator);
}

/* The hash unit of Intel's IXP: returns `width` bits of data times the multiplier, modulo the
 * generator of that degree. */
WL_INLINE uint64_t wl_gf2_hash(const uint64_t *data, uint32_t width, uint64_t multiplier, uint32_t degree,
                               uint64_t generator)
{
    uint64_t rest = 0, product = 0;
    for (uint32_t i = width; i-- > 0;)
        rest = wl_gf2_shift(rest, data[i / 64] >> (i % 64) & 1, degree, generator);
    for (uint32_t i = degree; i-- > 0;)
        product = wl_gf2_shift(product, 0, degree, generator) ^ (-(multiplier >> i & 1) & rest);
    return product;
}

/* The generators, without their leading terms: x^48 + x^36 + x^25 + x^10 + 1 and
 * x^64 + x^54 + x^35 + x^17 + 1. */
WL_FUNCTION uint64_t wl_hash48(const uint64_t *data, uint32_t width, uint64_t multiplier)
{
    return wl_gf2_hash(data, width, multiplier, 48, UINT64_C(0x1002000401));
}

WL_FUNCTION uint64_t wl_hash64(const uint64_t *data, uint32_t width, uint64_t multiplier)
{
    return wl_gf2_hash(data, width, multiplier, 64, UINT64_C(0x40000800020001));
}

#endif
