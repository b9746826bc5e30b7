/* The `siphash` kind: SipHash-2-4. An element is a secret of two words, the lower half first. */
#ifndef WL_SIPHASH_H
#define WL_SIPHASH_H

#include "element.h"

WL_INLINE uint64_t wl_rotated(uint64_t value, uint32_t by) { return value << by | value >> (64 - by); }

struct wl_sip {
    uint64_t v0, v1, v2, v3;
};

WL_INLINE void wl_sip_rounds(struct wl_sip *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = wl_rotated(s->v1, 13) ^ s->v0;
        s->v3 = wl_rotated(s->v3, 16) ^ s->v2;
        s->v0 = wl_rotated(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = wl_rotated(s->v1, 17) ^ s->v2;
        s->v3 = wl_rotated(s->v3, 21) ^ s->v0;
        s->v2 = wl_rotated(s->v2, 32);
    }
}

WL_INLINE void wl_sip_take(struct wl_sip *s, uint64_t word)
{
    s->v3 ^= word;
    wl_sip_rounds(s, 2);
    s->v0 ^= word;
}

/* Returns the hash of the low `count` bytes of a value, the most significant byte first. */
WL_INLINE uint64_t wl_siphash(const struct wl_slot *slot, uint32_t index, const uint64_t *words, uint32_t count)
{
    const uint64_t *secret = wl_element(slot, index, 2);
    if (!secret)
        return 0;
    uint64_t k0 = __builtin_bswap64(secret[1]), k1 = __builtin_bswap64(secret[0]);
    struct wl_sip s = {
        k0 ^ UINT64_C(0x736f6d6570736575),
        k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261),
        k1 ^ UINT64_C(0x7465646279746573),
    };
    uint32_t bits = 8 * (count % 8);
    for (uint32_t i = count / 8; i-- > 0;) {
        /* Eight bytes that begin in word i + 1, if the last ones do not fill a word. */
        uint64_t word = bits ? words[i] >> bits | words[i + 1] << (64 - bits) : words[i];
        wl_sip_take(&s, __builtin_bswap64(word));
    }
    uint64_t last = bits ? __builtin_bswap64(words[0] << (64 - bits)) : 0;
    wl_sip_take(&s, last | (uint64_t)count << 56);
    s.v2 ^= 0xff;
    wl_sip_rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

#endif
