/* The current packet (docs/language.md, "Packets").
 *
 * The header window is stored in the thread, and always *ends* at WL_END of the area: a push or
 * a pop at the front moves its begin and copies nothing. The area after its end is always zero,
 * so that a field that is partly or wholly outside the window reads as zero without a test. The
 * payload stays where it arrived until something changes it; then it moves to the arena. Packets
 * leave in these two pieces, so that a payload is not copied.
 *
 * Steps note the place of the window once (struct wl_window), since a store of bytes may change
 * any field in memory for all that a compiler knows.
 *
 *     area  0                    WL_END - window          WL_END             WL_AREA
 *           | free               | window                 | zeros            |
 */
#ifndef WL_PACKET_H
#define WL_PACKET_H

#include "arena.h"

enum {
    WL_END = WL_LONGEST, /* window and headroom */
    WL_REACH = 560,      /* the farthest byte at which a read may begin */
    WL_AREA = WL_END + WL_REACH + 16 /* the window, then zeros up to the last byte of such a read */
};

/* A packet as it arrives. The bytes stay valid and unchanged until the batch is done. Those past
 * WL_MAX_LENGTH are cut. */
struct wl_arrival {
    const uint8_t *bytes;
    uint64_t length;
    uint64_t arrival_ns;
    uint16_t ingress;
};

struct wl_packet {
    uint8_t fence[WL_FENCE]; /* not for packets; see WL_POISON */
    uint8_t area[WL_AREA];
    uint8_t *front; /* where the window begins: WL_END - window */
    const uint8_t *payload;
    uint64_t arrival_ns;
    uint32_t payload_length;
    uint32_t payload_room; /* bytes of the arena's copy; 0 while the payload is where it arrived or shared */
    uint16_t window;       /* bytes of the window */
    uint16_t ingress, egress;
};

WL_INLINE uint8_t *wl_front(struct wl_packet *p) { return p->front; }
WL_INLINE uint32_t wl_length(const struct wl_packet *p) { return p->window + p->payload_length; }
WL_INLINE uint16_t wl_window(const struct wl_packet *p) { return p->window; }
WL_INLINE uint16_t wl_ingress(const struct wl_packet *p) { return p->ingress; }
WL_INLINE uint64_t wl_arrival_ns(const struct wl_packet *p) { return p->arrival_ns; }

/* Copies a window of at most WL_WINDOW bytes, which is twice 64. Two overlapping copies of constant size
 * cover all lengths between that size and twice it. */
WL_INLINE void wl_copy_window(uint8_t *to, const uint8_t *bytes, uint32_t window)
{
    if (WL_LIKELY(window >= 64)) {
        memcpy(to, bytes, 64);
        memcpy(to + window - 64, bytes + window - 64, 64);
    } else if (WL_LIKELY(window >= 32)) {
        memcpy(to, bytes, 32);
        memcpy(to + window - 32, bytes + window - 32, 32);
    } else {
        for (uint32_t i = 0; i < window; i++)
            to[i] = bytes[i];
    }
}

/* Fills the fence, and the area in which the window of a packet that arrives is copied. */
WL_INLINE void wl_poison(struct wl_packet *p)
{
    if (WL_IS_POISONED) {
        memset(p->fence, WL_PATTERN, WL_FENCE);
        memset(p->area, WL_PATTERN, WL_END);
    }
}

/* Tells whether nothing was written before the area or after the end of the window. */
WL_INLINE bool wl_is_intact(const struct wl_packet *p)
{
    bool intact = true;
    for (uint32_t i = 0; i != WL_FENCE; i++)
        intact &= p->fence[i] == WL_PATTERN;
    for (uint32_t i = WL_END; WL_IS_POISONED && i < WL_AREA; i++)
        intact &= !p->area[i];
    return intact;
}

WL_INLINE void wl_arrive(struct wl_packet *p, const struct wl_arrival *in)
{
    /* Noted, since the copies may change any memory for all that a compiler knows. */
    const uint8_t *bytes = in->bytes;
    const uint32_t length = in->length < WL_MAX_LENGTH ? (uint32_t)in->length : (uint32_t)WL_MAX_LENGTH;
    uint32_t window = length < WL_WINDOW ? length : (uint32_t)WL_WINDOW;
    uint8_t *to = p->area + WL_END - window;
    wl_poison(p);
    wl_copy_window(to, bytes, window);
    p->payload = bytes + window;
    p->payload_length = length - window;
    p->payload_room = 0;
    p->arrival_ns = in->arrival_ns;
    p->front = to;
    p->window = (uint16_t)window;
    p->ingress = in->ingress;
    p->egress = 0;
}

/* ---- Fields of the window -------------------------------------------------------------------- */

/* Reads bytes in network order from an address. */
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

/* The window of a packet, until something changes its size. */
struct wl_window {
    uint8_t *bytes;
    uint32_t length;
};

WL_INLINE struct wl_window wl_open(struct wl_packet *p)
{
    return (struct wl_window){ wl_front(p), p->window };
}

/* Returns where a read may begin instead of at byte `at`: past the longest window all bytes are
 * zero. */
WL_INLINE uint32_t wl_reach(uint32_t at) { return at < WL_END ? at : (uint32_t)WL_END; }

/* Read bytes from byte `at` on, which is at most WL_REACH. */
WL_INLINE uint8_t wl_get8(struct wl_window w, uint32_t at) { return w.bytes[at]; }
WL_INLINE uint16_t wl_get16(struct wl_window w, uint32_t at) { return wl_be16(w.bytes + at); }
WL_INLINE uint32_t wl_get32(struct wl_window w, uint32_t at) { return wl_be32(w.bytes + at); }
WL_INLINE uint64_t wl_get64(struct wl_window w, uint32_t at) { return wl_be64(w.bytes + at); }
WL_INLINE wl_u128 wl_get128(struct wl_window w, uint32_t at) { return wl_be128(w.bytes + at); }

/* Reads `width` bits that begin `bit` bits (0 to 7) into byte `at`, as n words. */
WL_FUNCTION void wl_get_wide(struct wl_window w, uint32_t at, uint32_t bit, uint32_t width,
                             uint64_t *out, uint32_t n)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width;
    memset(out, 0, n * sizeof *out);
    for (uint32_t i = 0; i < count && at + i < w.length; i++) {
        uint64_t byte = w.bytes[at + i];
        if (i == 0)
            byte &= 0xffu >> bit;
        /* The position of the byte's least significant bit; below zero for the last byte of an
         * unaligned field. */
        int32_t lo = (int32_t)(8 * (count - 1 - i)) - (int32_t)shift;
        if (lo < 0) {
            out[0] |= byte >> -lo;
            continue;
        }
        out[lo / 64] |= byte << (lo % 64);
        if (lo % 64 > 56 && (uint32_t)lo / 64 + 1 < n)
            out[lo / 64 + 1] |= byte >> (64 - lo % 64);
    }
}

/* Reads a field of at most 128 bits that spans 17 bytes. */
WL_FUNCTION wl_u128 wl_get_bits128(struct wl_window w, uint32_t at, uint32_t bit, uint32_t width)
{
    uint64_t words[2];
    wl_get_wide(w, at, bit, width, words, 2);
    return WL_U128(words[1], words[0]);
}

/* Write and read the low n bytes (constant, 1 to 8) of a value in network order, with as few
 * accesses of 4, 2 and 1 bytes as there are. */
WL_INLINE void wl_store_short(uint8_t *to, uint32_t n, uint32_t value)
{
    if (n >= 2) {
        const uint16_t high = __builtin_bswap16((uint16_t)(value >> (8 * (n - 2))));
        memcpy(to, &high, sizeof high);
    }
    if (n & 1)
        to[n - 1] = (uint8_t)value;
}

WL_INLINE void wl_store(uint8_t *to, uint32_t n, uint64_t value)
{
    if (n == 8) {
        value = __builtin_bswap64(value);
        memcpy(to, &value, sizeof value);
    } else if (n >= 4) {
        const uint32_t high = __builtin_bswap32((uint32_t)(value >> (8 * (n - 4))));
        memcpy(to, &high, sizeof high);
        wl_store_short(to + 4, n - 4, (uint32_t)value);
    } else {
        wl_store_short(to, n, (uint32_t)value);
    }
}

WL_INLINE uint32_t wl_load_short(const uint8_t *from, uint32_t n)
{
    uint32_t value = n >= 2 ? wl_be16(from) : 0;
    return n & 1 ? value << 8 | from[n - 1] : value;
}

WL_INLINE uint64_t wl_load(const uint8_t *from, uint32_t n)
{
    if (n == 8)
        return wl_be64(from);
    if (n < 4)
        return wl_load_short(from, n);
    return (uint64_t)wl_be32(from) << (8 * (n - 4)) | wl_load_short(from + 4, n - 4);
}

/* Writes n bytes (constant, 1 to 8) from byte `at` on, and keeps the bits of `keep`; writes
 * nothing unless all bytes are inside. */
WL_INLINE void wl_put(struct wl_window w, uint32_t at, uint32_t n, uint64_t value, uint64_t keep)
{
    if (WL_UNLIKELY(at + n > w.length))
        return;
    uint8_t *to = w.bytes + at;
    if (keep)
        value |= wl_load(to, n) & keep;
    wl_store(to, n, value);
}

/* Writes n bytes, like wl_put, for n from 9 to 16. */
WL_INLINE void wl_put128(struct wl_window w, uint32_t at, uint32_t n, wl_u128 value, wl_u128 keep)
{
    if (WL_UNLIKELY(at + n > w.length))
        return;
    uint8_t *to = w.bytes + at;
    if (keep)
        value |= WL_U128(wl_load(to, n - 8), wl_load(to + n - 8, 8)) & keep;
    wl_store(to, n - 8, (uint64_t)(value >> 64));
    wl_store(to + n - 8, 8, (uint64_t)value);
}

/* Writes any field, like wl_put, of n words. */
WL_FUNCTION void wl_put_wide(struct wl_window w, uint32_t at, uint32_t bit, uint32_t width,
                             const uint64_t *value, uint32_t n)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width;
    if (at + count > w.length)
        return;
    uint8_t *to = w.bytes + at;
    for (uint32_t i = 0; i < count; i++) {
        int32_t lo = (int32_t)(8 * (count - 1 - i)) - (int32_t)shift;
        uint32_t byte, mask = 0xff;
        if (lo < 0) {
            byte = (uint32_t)(value[0] << -lo);
            mask &= 0xffu << -lo;
        } else {
            uint32_t word = (uint32_t)lo / 64, at_bit = (uint32_t)lo % 64;
            byte = (uint32_t)(value[word] >> at_bit);
            if (at_bit > 56 && word + 1 < n)
                byte |= (uint32_t)(value[word + 1] << (64 - at_bit));
        }
        if (i == 0)
            mask &= 0xffu >> bit;
        to[i] = (uint8_t)((to[i] & ~mask) | (byte & mask));
    }
}

WL_FUNCTION void wl_put_bits128(struct wl_window w, uint32_t at, uint32_t bit, uint32_t width,
                                wl_u128 value)
{
    const uint64_t words[2] = { (uint64_t)value, (uint64_t)(value >> 64) };
    wl_put_wide(w, at, bit, width, words, 2);
}

/* ---- Size of the window ---------------------------------------------------------------------- */

WL_INLINE bool wl_insert(struct wl_packet *p, uint32_t offset, uint32_t count)
{
    if (offset > p->window || p->window + count > WL_END || wl_length(p) + count > WL_MAX_LENGTH)
        return false;
    uint8_t *front = wl_front(p);
    if (WL_LIKELY(!offset && count <= 16 && p->window <= WL_END - 16)) {
        /* All bytes in front of the window are free, so a store of constant size will do. */
        memset(front - 16, 0, 16);
    } else {
        if (offset)
            memmove(front - count, front, offset);
        memset(front - count + offset, 0, count);
    }
    p->front = front - count;
    p->window = (uint16_t)(p->window + count);
    return true;
}

WL_INLINE bool wl_remove(struct wl_packet *p, uint32_t offset, uint32_t count)
{
    if (offset + count > p->window)
        return false;
    uint8_t *front = wl_front(p);
    if (offset)
        memmove(front + count, front, offset);
    p->front = front + count;
    p->window = (uint16_t)(p->window - count);
    return true;
}

WL_INLINE bool wl_reset(struct wl_packet *p, uint32_t count)
{
    if (count > WL_END)
        return false;
    p->front = p->area + WL_END - count;
    memset(p->front, 0, count);
    p->window = (uint16_t)count;
    p->payload_length = 0;
    return true;
}

/* ---- Payload: offsets count from the packet's start, through the window ---------------------- */

/* Moves the payload to the arena, with room for `room` bytes. */
WL_COLD void wl_own_payload(struct wl_packet *p, struct wl_arena *arena, uint32_t room)
{
    if (p->payload_room >= room && p->payload_room)
        return;
    uint32_t grown = p->payload_room ? 2 * room : room;
    if (grown < 64)
        grown = 64;
    uint8_t *own = wl_arena_take(arena, grown);
    if (p->payload_length)
        memcpy(own, p->payload, p->payload_length);
    p->payload = own;
    p->payload_room = grown;
}

/* Copies `count` bytes from byte `offset` on; bytes past the end are zero. */
WL_FUNCTION void wl_payload_copy(const struct wl_packet *p, uint32_t offset, uint8_t *to, uint32_t count)
{
    uint32_t done = 0;
    if (offset < p->window) {
        uint32_t part = p->window - offset < count ? p->window - offset : count;
        memcpy(to, p->front + offset, part);
        done = part;
    }
    if (done < count && offset + done < wl_length(p)) {
        uint32_t from = offset + done - p->window, left = p->payload_length - from;
        uint32_t part = left < count - done ? left : count - done;
        memcpy(to + done, p->payload + from, part);
        done += part;
    }
    memset(to + done, 0, count - done);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Returns a copy of the window that stays valid until the batch ends. */
WL_FUNCTION const uint8_t *wl_window_copy(struct wl_packet *p, struct wl_arena *arena)
{
    uint8_t *copy = wl_arena_take(arena, p->window);
    memcpy(copy, wl_front(p), p->window);
    return copy;
}

#endif
