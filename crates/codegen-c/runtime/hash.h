/* The `hash` kind. All its functions are remainders of polynomials over GF(2), found by Barrett
 * reduction: the quotient is a product with the generator's inverse, so that a word of 64 bits
 * takes two carry-less products. */
#ifndef WL_HASH_H
#define WL_HASH_H

#include "base.h"

#ifdef __PCLMUL__
#include <wmmintrin.h>
#endif

/* Returns the product of two polynomials of 64 coefficients. */
WL_INLINE wl_u128 wl_gf2_product(uint64_t a, uint64_t b)
{
#ifdef __PCLMUL__
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a), _mm_cvtsi64_si128((long long)b), 0);
    uint64_t low = (uint64_t)_mm_cvtsi128_si64(product);
    uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(product, product));
    return WL_U128(high, low);
#else
    /* Four coefficients of `b` at a time. */
    wl_u128 multiples[16] = {0, a}, product = 0;
    for (uint32_t i = 2; i < 16; i++)
        multiples[i] = multiples[i / 2] << 1 ^ multiples[i % 2];
    for (uint32_t i = 64; i > 0; i -= 4)
        product = product << 4 ^ multiples[b >> (i - 4) & 15];
    return product;
#endif
}

/* Returns the CRC-32 of eight bytes, the first the lowest, with the preceding CRC already added.
 * Bit 0 is the highest coefficient; `inverse` is x^96 divided by the polynomial, without its
 * leading term, and `polynomial` the reflected one, both times x^-1 for the product of reflected
 * factors. */
WL_INLINE uint32_t wl_crc32_step(uint64_t bytes)
{
    const uint64_t inverse = UINT64_C(0xb4e5b025f7011640), polynomial = UINT64_C(0xedb88320) << 1;
    uint64_t quotient = bytes ^ (uint64_t)wl_gf2_product(bytes, inverse);
    return (uint32_t)(wl_gf2_product(quotient, polynomial) >> 64);
}

/* Returns the CRC-32 of IEEE 802.3 of the low `count` bytes of a value, the most significant byte
 * first. */
WL_FUNCTION uint32_t wl_crc32(const uint64_t *words, uint32_t count)
{
    uint32_t crc = 0xffffffff, whole = count / 8, bits = 8 * (count % 8);
    if (bits > 0) {
        /* The CRC covers 32 bits, which fewer than four bytes do not reach. */
        uint64_t first = __builtin_bswap64(words[whole]) >> (64 - bits) ^ crc;
        uint32_t rest = bits < 32 ? crc >> bits : 0;
        crc = rest ^ wl_crc32_step(first << (64 - bits));
    }
    while (whole-- > 0)
        crc = wl_crc32_step(__builtin_bswap64(words[whole]) ^ crc);
    return ~crc;
}

/* A generator of degree 64: x^64 + generator. `inverse` is x^128 divided by it, without its
 * leading term. Returns the remainder of a polynomial of 128 coefficients. */
WL_INLINE uint64_t wl_gf2_rest(uint64_t high, uint64_t low, uint64_t generator, uint64_t inverse)
{
    uint64_t quotient = high ^ (uint64_t)(wl_gf2_product(high, inverse) >> 64);
    return low ^ (uint64_t)wl_gf2_product(quotient, generator);
}

/* The hash unit of Intel's IXP: data of `width` bits times the multiplier, modulo the generator. A
 * remainder is kept times x^spare, modulo the generator times x^spare, so that its degree is 64. */
WL_INLINE uint64_t wl_gf2_hash(const uint64_t *data, uint32_t width, uint64_t multiplier, uint32_t spare,
                               uint64_t generator, uint64_t inverse)
{
    uint64_t rest = 0;
    for (uint32_t i = (width + 63) / 64; i-- > 0;) {
        uint64_t carried = spare ? data[i] >> (63 - spare) >> 1 : 0;
        rest = wl_gf2_rest(rest ^ carried, data[i] << spare, generator, inverse);
    }
    wl_u128 product = wl_gf2_product(rest, multiplier);
    return wl_gf2_rest((uint64_t)(product >> 64), (uint64_t)product, generator, inverse) >> spare;
}

/* x^48 + x^36 + x^25 + x^10 + 1, times x^16. */
WL_FUNCTION uint64_t wl_hash48(const uint64_t *data, uint32_t width, uint64_t multiplier)
{
    return wl_gf2_hash(data, width, multiplier, 16, UINT64_C(0x10020004010000), UINT64_C(0x10030014060054));
}

/* x^64 + x^54 + x^35 + x^17 + 1. */
WL_FUNCTION uint64_t wl_hash64(const uint64_t *data, uint32_t width, uint64_t multiplier)
{
    return wl_gf2_hash(data, width, multiplier, 0, UINT64_C(0x40000800020001), UINT64_C(0x40100c0102c051));
}

#endif
