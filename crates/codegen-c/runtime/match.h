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
    uint32_t longest;         /* bytes of the longest pattern */
    uint16_t classes[256]; /* of each byte */
    uint8_t idle[256];     /* whether a byte leaves the automaton where it starts */
};

/* A search: the state, the last match, and the offset of the byte after it. */
struct wl_match_walk {
    uint32_t state, match, end;
};

/* Notes that a search has come to a match. State 0 is none. */
WL_INLINE void wl_match_note(struct wl_match_walk *walk, uint32_t state, uint32_t end)
{
    if (state) {
        walk->match = state;
        walk->end = end;
    }
}

/* Continues with `count` bytes, from this offset. Returns whether the search continues. After
 * `settled` bytes it stops where no pattern has begun. */
WL_INLINE bool wl_match_bytes(const struct wl_match *m, struct wl_match_walk *walk, const uint8_t *bytes,
                              uint32_t count, uint32_t settled, uint32_t offset)
{
    uint32_t state = walk->state;
    for (uint32_t i = 0; i < count; i++) {
        if (state == m->start) {
            while (i < count && m->idle[bytes[i]])
                i++;
            if (i >= settled)
                break;
        }
        state = m->next[state + m->classes[bytes[i]]];
        if (WL_UNLIKELY(state <= m->last_match)) {
            if (!state)
                return false;
            wl_match_note(walk, state, offset + i + 1);
        }
    }
    walk->state = state;
    return true;
}

/* Each step of a search waits for the step before it. So four searches share the bytes, each for the
 * patterns that begin in its quarter; it reads on as far as these patterns can. */
enum { WL_MATCH_PARTS = 4, WL_MATCH_LEAST = 16, WL_MATCH_SAMPLE = 32, WL_MATCH_BUSY = 8 };

/* As `wl_match_bytes`, where each part has at least the bytes of the longest pattern. */
WL_FUNCTION bool wl_match_parts(const struct wl_match *m, struct wl_match_walk *walk, const uint8_t *bytes,
                                uint32_t count, uint32_t offset)
{
    const uint32_t part = count / WL_MATCH_PARTS, *const next = m->next, last = m->last_match;
    const uint8_t *const b = bytes + part, *const c = b + part, *const d = c + part;
    struct wl_match_walk walks[WL_MATCH_PARTS] = {*walk, {.state = m->start}, {.state = m->start}, {.state = m->start}};
    uint32_t s = walk->state, t = m->start, u = m->start, v = m->start, i = 0;
    while (i < part) {
        s = next[s + m->classes[bytes[i]]];
        t = next[t + m->classes[b[i]]];
        u = next[u + m->classes[c[i]]];
        v = next[v + m->classes[d[i]]];
        i++;
        if (WL_UNLIKELY((s <= last) | (t <= last) | (u <= last) | (v <= last))) {
            if (s <= last)
                wl_match_note(&walks[0], s, offset + i);
            if (t <= last)
                wl_match_note(&walks[1], t, offset + part + i);
            if (u <= last)
                wl_match_note(&walks[2], u, offset + 2 * part + i);
            if (v <= last)
                wl_match_note(&walks[3], v, offset + 3 * part + i);
            if (!(s && t && u && v))
                break;
        }
    }
    walks[0].state = s;
    walks[1].state = t;
    walks[2].state = u;
    walks[3].state = v;
    for (uint32_t k = 0; k < WL_MATCH_PARTS; k++) {
        const uint32_t first = k * part + i, bound = (k + 1) * part;
        const bool is_last = k + 1 == WL_MATCH_PARTS;
        const uint32_t to = is_last ? count : bound + m->longest - 1, settled = is_last ? count : bound;
        bool goes_on = walks[k].state
            && wl_match_bytes(m, &walks[k], bytes + first, to - first, settled - first, offset + first);
        *walk = walks[k];
        if (is_last)
            return goes_on;
        if (walk->match && walk->end - m->lengths[m->patterns[walk->match / m->class_count]] < offset + bound)
            return false;
    }
    return true;
}

/* Whether patterns may begin at many of the first bytes. Elsewhere one search, which skips bytes at
 * which none begins, is faster than four. */
WL_INLINE bool wl_match_is_busy(const struct wl_match *m, const uint8_t *bytes)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < WL_MATCH_SAMPLE; i++)
        busy += !m->idle[bytes[i]];
    return busy >= WL_MATCH_BUSY;
}

/* Searches bytes of the packet, in parts if there are enough bytes for that and it is faster. */
WL_INLINE bool wl_match_search(const struct wl_match *m, struct wl_match_walk *walk, const uint8_t *bytes,
                               uint32_t count, uint32_t offset)
{
    const uint32_t part = count / WL_MATCH_PARTS;
    if (part >= WL_MATCH_LEAST && part >= m->longest && wl_match_is_busy(m, bytes))
        return wl_match_parts(m, walk, bytes, count, offset);
    return wl_match_bytes(m, walk, bytes, count, count, offset);
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
        goes_on = wl_match_search(m, &walk, p->area + WL_END - p->window + from, in_window - from, from);
    if (goes_on && to > p->window) {
        uint32_t first = from > p->window ? from : p->window;
        wl_match_search(m, &walk, p->payload + (first - p->window), to - first, first);
    }
    memset(reply, 0, rn * sizeof *reply);
    if (!walk.match)
        return;
    uint32_t pattern = m->patterns[walk.match / m->class_count];
    memcpy(reply, m->values + (size_t)pattern * n, n * sizeof *reply);
    wl_wide_place_scalar(reply, rn, width, UINT64_C(1) << 16 | (walk.end - m->lengths[pattern]));
}

#endif
