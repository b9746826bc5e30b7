/* The `checksum` kind: sums of bytes of the current packet. */
#ifndef WL_CHECKSUM_H
#define WL_CHECKSUM_H

#include "packet.h"

/* Adds the 16-bit words of a run of bytes in the byte order of the machine, which does not
 * affect the ones'-complement sum (RFC 1071, section 2 B). Folds to at most 48 bits, so that
 * 65,535 bytes cannot overflow. */
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

/* Returns the ones'-complement sum (RFC 1071), not inverted, of `length` bytes of the packet
 * from byte `offset`; bytes past the end count as zero. */
WL_INLINE uint16_t wl_checksum(const struct wl_packet *p, uint32_t offset, uint32_t length, uint16_t initial)
{
    uint16_t sum;
    if (WL_LIKELY(offset + length <= p->window))
        sum = wl_fold(wl_sum_run(p->front + offset, length));
    else
        sum = wl_checksum_far(p, offset, length);
    uint32_t total = (uint32_t)__builtin_bswap16(sum) + initial;
    return (uint16_t)((total & 0xffff) + (total >> 16));
}

#endif
