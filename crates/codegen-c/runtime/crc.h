/* The `crc` kind: a CRC of 1 to 64 bits, bit by bit. */
#ifndef WL_CRC_H
#define WL_CRC_H

#include "base.h"

/* The parameters of a CRC. If it is reflected, polynomial and initial value have their bits in reverse
 * order, and the register shifts to the right. Otherwise all three are aligned to the top of a word,
 * and the register shifts to the left. */
struct wl_crc {
    uint32_t width;
    bool is_reflected;
    uint64_t polynomial, initial, inverted;
};

/* Returns the CRC of the low `count` bytes of a value, the most significant byte first. */
WL_INLINE uint64_t wl_crc(const struct wl_crc *crc, const uint64_t *words, uint32_t count)
{
    uint64_t rest = crc->initial;
    while (count-- > 0) {
        uint64_t byte = words[count / 8] >> (8 * (count % 8)) & 0xff;
        rest ^= crc->is_reflected ? byte : byte << 56;
        for (uint32_t bit = 0; bit < 8; bit++) {
            if (crc->is_reflected)
                rest = rest >> 1 ^ (rest & 1 ? crc->polynomial : 0);
            else
                rest = rest << 1 ^ (rest >> 63 ? crc->polynomial : 0);
        }
    }
    return (crc->is_reflected ? rest : rest >> (64 - crc->width)) ^ crc->inverted;
}

#endif
