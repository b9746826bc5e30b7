/* The offload kinds that keep no state: `checksum`, `random` and `hash`. */
#ifndef WL_COMPUTE_H
#define WL_COMPUTE_H

#include "slot.h"

/* Adds the 16-bit words of a run of bytes in the machine's own order; the ones'-complement sum does not mind
 * (RFC 1071, section 2 B). Folds to at most 48 bits, so that 65,535 bytes cannot overflow. */
WL_INLINE uint64_t wl_sum_run(const uint8_t *from, uint32_t count)
{
    uint64_t total = 0;
    for (; count >= 4; from += 4, count -= 4) {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        total += word;
    }
    uint32_t last = 0;
    memcpy(&last, from, count);
    return total + last;
}

WL_INLINE uint16_t wl_fold(uint64_t total)
{
    total = (total & 0xffffffff) + (total >> 32);
    total = (total & 0xffffffff) + (total >> 32);
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    return (uint16_t)total;
}

WL_COLD uint16_t wl_checksum_far(const struct wl_packet *p, uint32_t offset, uint32_t length)
{
    uint64_t total = 0;
    uint8_t bytes[1024];
    uint32_t end = offset + length < wl_length(p) ? offset + length : wl_length(p);
    for (; offset < end; offset += sizeof bytes) {
        uint32_t part = end - offset < sizeof bytes ? end - offset : (uint32_t)sizeof bytes;
        wl_payload_copy(p, offset, bytes, part);
        total += wl_sum_run(bytes, part);
    }
    return wl_fold(total);
}

/* Ones'-complement sum (RFC 1071), not inverted, of `length` bytes of the packet from byte `offset`; bytes past the
 * end count as zero. */
WL_INLINE uint16_t wl_checksum(const struct wl_packet *p, uint32_t offset, uint32_t length, uint16_t initial)
{
    uint16_t sum;
    if (WL_LIKELY(offset + length <= p->window))
        sum = wl_fold(wl_sum_run(p->area + WL_END - p->window + offset, length));
    else
        sum = wl_checksum_far(p, offset, length);
    uint32_t total = (uint32_t)__builtin_bswap16(sum) + initial;
    return (uint16_t)((total & 0xffff) + (total >> 16));
}

/* Output `index` of the SplitMix64 generator seeded with `seed` (Steele, Lea, Flood, OOPSLA 2014). */
WL_INLINE uint64_t wl_splitmix64(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15) * (index + 1);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

WL_INLINE uint32_t wl_random(uint64_t seed, const struct wl_env *env, uint32_t stream)
{
    return (uint32_t)(wl_splitmix64(wl_splitmix64(seed, env->sequence), stream) >> 32);
}

/* CRC-32 of IEEE 802.3, four bits at a time, over the low `count` bytes of a value, the most significant first. */
WL_FUNCTION uint32_t wl_crc32(const uint64_t *words, uint32_t count)
{
    /* The remainders of the sixteen values of four bits, reflected polynomial 0xedb88320. */
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

/* x times a polynomial of `degree` (48 or 64) coefficients over GF(2), plus `bit`, modulo the generator. */
WL_INLINE uint64_t wl_gf2_shift(uint64_t value, uint64_t bit, uint32_t degree, uint64_t generator)
{
    uint64_t carry = value >> (degree - 1) & 1;
    return ((value << 1 | bit) & (UINT64_MAX >> (64 - degree))) ^ (-carry & generator);
}

/* The hash unit of Intel's IXP: `width` bits of data times the multiplier, modulo the generator of that degree. */
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

/* Generators without their leading terms: x^48 + x^36 + x^25 + x^10 + 1, and x^64 + x^54 + x^35 + x^17 + 1. */
WL_FUNCTION uint64_t wl_hash48(const uint64_t *data, uint32_t width, uint64_t multiplier)
{
    return wl_gf2_hash(data, width, multiplier, 48, UINT64_C(0x1002000401));
}

WL_FUNCTION uint64_t wl_hash64(const uint64_t *data, uint32_t width, uint64_t multiplier)
{
    return wl_gf2_hash(data, width, multiplier, 64, UINT64_C(0x40000800020001));
}

#endif
