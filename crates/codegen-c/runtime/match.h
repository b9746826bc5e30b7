/* The `match` kind: an automaton (Aho, Corasick, CACM 1975) that the host has built from its
 * patterns, for the leftmost match and of those the first in the table. */
#ifndef WL_MATCH_H
#define WL_MATCH_H

#include "slot.h"

/* A state is the number of its first element of `next`. State 0 ends the search; states up to
 * `last_match` are matches. */
struct wl_match {
    const uint32_t *next;     /* for each state, for each class of bytes */
    const uint32_t *patterns; /* for each state up to `last_match`, divided by the number of classes */
    const uint32_t *lengths;  /* bytes of each pattern */
    const uint64_t *values;   /* words of each pattern's value */
    uint32_t start, last_match, class_count;
    uint16_t classes[256]; /* of each byte */
    uint8_t idle[256];     /* whether a byte leaves the automaton where it starts */
};

/* A search: the state, the last match, and the offset of the byte after it. */
struct wl_match_walk {
    uint32_t state, match, end;
};

/* Continues with `count` bytes, from this offset. Returns whether the search continues. */
WL_INLINE bool wl_match_bytes(const struct wl_match *m, struct wl_match_walk *walk, const uint8_t *bytes,
                              uint32_t count, uint32_t offset)
{
    uint32_t state = walk->state;
    for (uint32_t i = 0; i < count; i++) {
        if (state == m->start) {
            while (i < count && m->idle[bytes[i]])
                i++;
            if (i == count)
                break;
        }
        state = m->next[state + m->classes[bytes[i]]];
        if (WL_UNLIKELY(state <= m->last_match)) {
            if (!state)
                return false;
            walk->match = state;
            walk->end = offset + i + 1;
        }
    }
    walk->state = state;
    return true;
}

/* Searches bytes of the packet. The reply has rn words: `found`, 16 bits of offset, and the value,
 * which has n words and `width` bits. */
WL_FUNCTION void wl_match_scan(const struct wl_slot *slot, const struct wl_packet *p, uint32_t offset, uint32_t length,
                               uint32_t n, uint32_t width, uint64_t *reply, uint32_t rn)
{
    const struct wl_match *m = slot->data;
    uint32_t total = wl_length(p), end = offset + length;
    uint32_t from = offset < total ? offset : total, to = end < total ? end : total;
    struct wl_match_walk walk = {.state = m->start};
    uint32_t in_window = to < p->window ? to : p->window;
    bool goes_on = true;
    if (from < in_window)
        goes_on = wl_match_bytes(m, &walk, p->area + WL_END - p->window + from, in_window - from, from);
    if (goes_on && to > p->window) {
        uint32_t first = from > p->window ? from : p->window;
        wl_match_bytes(m, &walk, p->payload + (first - p->window), to - first, first);
    }
    memset(reply, 0, rn * sizeof *reply);
    if (!walk.match)
        return;
    uint32_t pattern = m->patterns[walk.match / m->class_count];
    memcpy(reply, m->values + (size_t)pattern * n, n * sizeof *reply);
    wl_wide_place_scalar(reply, rn, width, UINT64_C(1) << 16 | (walk.end - m->lengths[pattern]));
}

#endif
