/* The current packet (docs/language.md, "Packets") of a BPF program.
 *
 * The header window is a copy, in memory of the processor that runs the program: the frame itself
 * changes only when the packet leaves, and the kernel gets it as it arrived. As on other machines
 * the window ends at WL_END of its area, a push or a pop at the front moves its beginning, and
 * everything after its end is zero. The payload stays in the frame.
 *
 * Every access masks its offset with WL_REACHABLE: no offset is ever larger, but the kernel's
 * verifier knows that only from the mask. */
#ifndef WL_PACKET_H
#define WL_PACKET_H

#include "base.h"

enum {
    WL_END = WL_LONGEST,
    WL_REACH = 560, /* the farthest byte at which a read may begin */
    WL_REACHABLE = 1023,
    WL_AREA = WL_REACHABLE + 1 + 80 /* the widest field begins there */
};

/* What became of a packet. */
enum { WL_NOTHING, WL_SENT, WL_TO_CPU, WL_DROPPED, WL_RUNAWAY };

/* What a step returns instead of the next step when the packet's way has ended. */
enum { WL_ENDED = 0x7fffffff };

/* The inputs of a call besides its arguments. */
struct wl_env {
    uint64_t now_ns;   /* arrival time of the packet */
    uint64_t sequence; /* its number */
};

struct wl_packet {
    uint8_t area[WL_AREA];
    struct wl_env env;
    uint32_t front;          /* where the window begins: WL_END - window */
    uint32_t window;         /* bytes of the window */
    uint32_t payload_length; /* bytes after it */
    uint32_t taken;          /* bytes of the frame that became the window */
    uint32_t arrived;        /* bytes of the frame */
    uint32_t ingress, egress;
    uint32_t verdict, reasons, value;
    uint32_t removed;        /* elements that a sweep has removed from a table */
    uint64_t at;             /* the step to execute */
};

/* The packet of this processor, the first field of its thread. */
WL_INLINE struct wl_packet *wl_current(void)
{
    uint32_t zero = 0;
    return wl_map_find(&wl_map_threads, &zero);
}

WL_INLINE uint32_t wl_length(const struct wl_packet *p) { return p->window + p->payload_length; }
WL_INLINE uint16_t wl_window(const struct wl_packet *p) { return (uint16_t)p->window; }
WL_INLINE uint16_t wl_ingress(const struct wl_packet *p) { return (uint16_t)p->ingress; }
WL_INLINE uint64_t wl_arrival_ns(const struct wl_packet *p) { return p->env.now_ns; }

/* Ends a packet's way. */
WL_INLINE uint64_t wl_end(struct wl_packet *p, uint32_t verdict, uint32_t reasons, uint32_t value)
{
    p->verdict = verdict;
    p->reasons = reasons;
    p->value = value;
    return WL_ENDED;
}

/* ---- Fields of the window -------------------------------------------------------------------- */

/* Returns the address of byte `at` of the window, which is at most WL_REACH. */
WL_INLINE uint8_t *wl_at(struct wl_packet *p, uint32_t at)
{
    uint64_t offset = p->front + at;
    WL_OPAQUE(offset);
    return p->area + (offset & WL_REACHABLE);
}

/* Returns where a read may begin instead of at byte `at`: past the longest window all bytes are
 * zero. */
WL_INLINE uint32_t wl_reach(uint32_t at) { return at < WL_END ? at : (uint32_t)WL_END; }

WL_INLINE uint64_t wl_be64(const uint8_t *from) { return wl_swap64(*(const wl_any64 *)from); }

WL_INLINE uint8_t wl_get8(struct wl_packet *p, uint32_t at) { return *wl_at(p, at); }
WL_INLINE uint16_t wl_get16(struct wl_packet *p, uint32_t at) { return wl_swap16(*(wl_any16 *)wl_at(p, at)); }
WL_INLINE uint32_t wl_get32(struct wl_packet *p, uint32_t at) { return wl_swap32(*(wl_any32 *)wl_at(p, at)); }
WL_INLINE uint64_t wl_get64(struct wl_packet *p, uint32_t at) { return wl_be64(wl_at(p, at)); }
WL_INLINE wl_u128 wl_get128(struct wl_packet *p, uint32_t at)
{
    const uint8_t *from = wl_at(p, at);
    return WL_U128(wl_be64(from), wl_be64(from + 8));
}

/* Read and write the low n bytes (constant, 1 to 8) of a value in network order, with as few
 * accesses as there are. */
WL_INLINE uint64_t wl_load(const uint8_t *from, uint32_t n)
{
    uint64_t value = 0;
    if (n == 8)
        return wl_be64(from);
    if (n & 4) {
        value = wl_swap32(*(const wl_any32 *)from);
        from += 4;
    }
    if (n & 2) {
        value = value << 16 | wl_swap16(*(const wl_any16 *)from);
        from += 2;
    }
    if (n & 1)
        value = value << 8 | *from;
    return value;
}

WL_INLINE void wl_store(uint8_t *to, uint32_t n, uint64_t value)
{
    if (n == 8) {
        *(wl_any64 *)to = wl_swap64(value);
        return;
    }
    if (n & 4) {
        *(wl_any32 *)to = wl_swap32((uint32_t)(value >> (8 * (n & 3))));
        to += 4;
    }
    if (n & 2) {
        *(wl_any16 *)to = wl_swap16((uint16_t)(value >> (8 * (n & 1))));
        to += 2;
    }
    if (n & 1)
        *to = (uint8_t)value;
}

/* Reads `width` bits that begin `bit` bits (0 to 7) into byte `at`, as n words. All but `p` and
 * `at` are constants. Functions of the compiler have five parameters. */
#define wl_get_wide(p, at, bit, width, out, n) wl_get_words(p, at, bit, width, out)
WL_INLINE void wl_get_words(struct wl_packet *p, uint32_t at, uint32_t bit, uint32_t width, uint64_t *out)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width, n = (width + 63) / 64;
    const uint8_t *from = wl_at(p, wl_reach(at));
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        uint32_t left = count - 8 * i, above = left > 8 ? left - 8 : 0;
        uint64_t low = left >= 8 ? wl_be64(from + left - 8) : wl_load(from, left);
        uint64_t high = !shift || !above ? 0 : above >= 8 ? wl_be64(from + above - 8) : wl_load(from, above);
        out[i] = shift ? low >> shift | high << (64 - shift) : low;
    }
    out[n - 1] &= UINT64_MAX >> (63 - (width - 1) % 64);
}

/* Reads a field of at most 128 bits that spans 17 bytes. */
WL_INLINE wl_u128 wl_get_bits128(struct wl_packet *p, uint32_t at, uint32_t bit, uint32_t width)
{
    uint64_t words[2];
    wl_get_wide(p, at, bit, width, words, 2);
    return WL_U128(words[1], words[0]);
}

/* Writes n bytes (constant, 1 to 8) from byte `at` on, and keeps the bits of `keep`; writes
 * nothing unless all bytes are inside. */
WL_INLINE void wl_put(struct wl_packet *p, uint32_t at, uint32_t n, uint64_t value, uint64_t keep)
{
    if (WL_UNLIKELY(at + n > p->window))
        return;
    uint8_t *to = wl_at(p, at);
    if (keep)
        value |= wl_load(to, n) & keep;
    wl_store(to, n, value);
}

/* Writes n bytes, like wl_put, for n from 9 to 16. A value of 128 bits is two parameters. */
struct wl_long {
    uint64_t high, low, keep_high, keep_low;
};
#define wl_put128(p, at, n, value, keep)                                                                               \
    wl_put_long(p, at, n,                                                                                              \
                &(const struct wl_long){ (uint64_t)((wl_u128)(value) >> 64), (uint64_t)(value),                        \
                                         (uint64_t)((wl_u128)(keep) >> 64), (uint64_t)(keep) })
WL_INLINE void wl_put_long(struct wl_packet *p, uint32_t at, uint32_t n, const struct wl_long *value)
{
    if (WL_UNLIKELY(at + n > p->window))
        return;
    uint8_t *to = wl_at(p, at);
    uint64_t high = value->high, low = value->low;
    if (value->keep_high || value->keep_low) {
        high |= wl_load(to, n - 8) & value->keep_high;
        low |= wl_be64(to + n - 8) & value->keep_low;
    }
    wl_store(to, n - 8, high);
    wl_store(to + n - 8, 8, low);
}

/* Writes any field, like wl_put, of n words. All but `p`, `at` and the words are constants. */
#define wl_put_wide(p, at, bit, width, value, n) wl_put_words(p, at, bit, width, value)
WL_INLINE void wl_put_words(struct wl_packet *p, uint32_t at, uint32_t bit, uint32_t width, const uint64_t *value)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width, n = (width + 63) / 64;
    if (WL_UNLIKELY(at + count > p->window))
        return;
    uint8_t *to = wl_at(p, at);
    WL_UNROLL for (uint32_t i = 0; 8 * i < count; i++) {
        uint32_t left = count - 8 * i, bytes = left < 8 ? left : 8;
        uint8_t *word = to + left - bytes;
        uint64_t bits = i < n ? value[i] << shift : 0;
        if (shift && i > 0)
            bits |= value[i - 1] >> (64 - shift);
        uint64_t keep = 0;
        if (i == 0 && shift)
            keep |= (UINT64_C(1) << shift) - 1;
        if (left <= 8 && bit)
            keep |= ~(UINT64_MAX >> bit >> (64 - 8 * bytes));
        if (keep)
            bits |= wl_load(word, bytes) & keep;
        wl_store(word, bytes, bits);
    }
}

#define wl_put_bits128(p, at, bit, width, value)                                                                       \
    wl_put_words(p, at, bit, width, (const uint64_t[]){ (uint64_t)(value), (uint64_t)((wl_u128)(value) >> 64) })

/* ---- Size of the window ---------------------------------------------------------------------- */

/* Moves `count` bytes of the area to lower or to higher addresses. Each returns 0. */
WL_ALONE uint64_t wl_move_down(struct wl_packet *p, uint32_t to, uint32_t from, uint32_t count)
{
    if (!p)
        return 0;
    WL_OPAQUE(p);
    for (uint32_t i = 0; i < WL_LONGEST / 8 && count >= 8; i++, to += 8, from += 8, count -= 8)
        *(wl_any64 *)(p->area + (to & WL_REACHABLE)) = *(wl_any64 *)(p->area + (from & WL_REACHABLE));
    for (uint32_t i = 0; i < 8 && count > 0; i++, to++, from++, count--)
        p->area[to & WL_REACHABLE] = p->area[from & WL_REACHABLE];
    return 0;
}

WL_ALONE uint64_t wl_move_up(struct wl_packet *p, uint32_t to, uint32_t from, uint32_t count)
{
    if (!p)
        return 0;
    WL_OPAQUE(p);
    to += count;
    from += count;
    for (uint32_t i = 0; i < WL_LONGEST / 8 && count >= 8; i++, count -= 8) {
        to -= 8;
        from -= 8;
        *(wl_any64 *)(p->area + (to & WL_REACHABLE)) = *(wl_any64 *)(p->area + (from & WL_REACHABLE));
    }
    for (uint32_t i = 0; i < 8 && count > 0; i++, count--)
        p->area[--to & WL_REACHABLE] = p->area[--from & WL_REACHABLE];
    return 0;
}

WL_ALONE uint64_t wl_clear(struct wl_packet *p, uint32_t at, uint32_t count)
{
    if (!p)
        return 0;
    WL_OPAQUE(p);
    for (uint32_t i = 0; i < WL_LONGEST / 8 && count >= 8; i++, at += 8, count -= 8)
        *(wl_any64 *)(p->area + (at & WL_REACHABLE)) = 0;
    for (uint32_t i = 0; i < 8 && count > 0; i++, at++, count--)
        p->area[at & WL_REACHABLE] = 0;
    return 0;
}

WL_INLINE bool wl_insert(struct wl_packet *p, uint32_t offset, uint32_t count)
{
    if (offset > p->window || p->window + count > WL_LONGEST || wl_length(p) + count > WL_MAX_LENGTH)
        return false;
    uint32_t front = p->front - count;
    if (offset)
        wl_move_down(p, front, p->front, offset);
    wl_clear(p, front + offset, count);
    p->front = front;
    p->window += count;
    return true;
}

WL_INLINE bool wl_remove(struct wl_packet *p, uint32_t offset, uint32_t count)
{
    if (offset + count > p->window)
        return false;
    if (offset)
        wl_move_up(p, p->front + count, p->front, offset);
    p->front += count;
    p->window -= count;
    return true;
}

WL_INLINE bool wl_reset(struct wl_packet *p, uint32_t count)
{
    if (count > WL_LONGEST)
        return false;
    p->front = WL_END - count;
    p->window = count;
    p->payload_length = 0;
    wl_clear(p, p->front, count);
    return true;
}

/* Cuts the packet's end off. The window still ends at WL_END. */
WL_INLINE bool wl_truncate(struct wl_packet *p, uint32_t length)
{
    if (length > wl_length(p))
        return false;
    if (length >= p->window) {
        p->payload_length = length - p->window;
        return true;
    }
    uint32_t cut = p->window - length;
    wl_move_up(p, p->front + cut, p->front, length);
    p->front += cut;
    p->window = length;
    p->payload_length = 0;
    return true;
}

#endif
