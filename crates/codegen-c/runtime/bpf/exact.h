/* The `exact` kind over hash maps. An element of the map has the time of its last touch, the number
 * of that touch, and the value. Elements that have expired stay until something meets them, or until
 * there is no room: they are absent to every method before that too. */
#ifndef WL_EXACT_H
#define WL_EXACT_H

#include "elements.h"

enum { WL_EXACT_TOUCHED, WL_EXACT_ORDER, WL_EXACT_VALUE };
/* The number of a touch of an element that the control plane loaded: it is not touched. */
#define WL_EXACT_STATIC UINT64_MAX

/* A table: its maps, the number of its lock, and its types, constants of the program. */
struct wl_exact {
    const struct wl_map *map, *clock;
    uint32_t offload, words, width, lane_count;
    const struct wl_lane *lanes;
    uint64_t age_ns;
};

/* The latest time that a changing call has seen, and the number of the next touch. */
struct wl_exact_clock {
    uint64_t time_ns, touches;
};

/* Elements that are removed because they were touched too long ago. Their count is in the packet: the
 * verifier would follow a number on the stack through every round of the loop, and gives up. */
struct wl_exact_sweep {
    uint64_t now_ns, age_ns;
    struct wl_packet *p;
};

WL_INLINE struct wl_exact_clock *wl_exact_clock(const struct wl_exact *t)
{
    uint32_t zero = 0;
    return wl_map_find(t->clock, &zero);
}

WL_INLINE uint64_t wl_exact_age_of(const uint64_t *element, uint64_t now_ns)
{
    if (element[WL_EXACT_ORDER] == WL_EXACT_STATIC || now_ns < element[WL_EXACT_TOUCHED])
        return 0;
    return now_ns - element[WL_EXACT_TOUCHED];
}

/* Removes an element that is too old. The kernel calls it for each one. */
WL_ALONE uint64_t wl_exact_sweep_one(void *map, const void *key, const uint64_t *element, struct wl_exact_sweep *sweep)
{
    if (wl_exact_age_of(element, sweep->now_ns) > sweep->age_ns && !wl_map_remove(map, key))
        sweep->p->removed += 1;
    return 0;
}

WL_INLINE uint32_t wl_exact_sweep(const struct wl_exact *t, uint64_t now_ns, uint64_t age_ns)
{
    struct wl_packet *p = wl_current();
    if (!p)
        return 0;
    struct wl_exact_sweep sweep = { now_ns, age_ns, p };
    p->removed = 0;
    wl_map_each(t->map, (void *)&wl_exact_sweep_one, &sweep, 0);
    return p->removed;
}

/* Advances the time of a table. */
WL_INLINE uint64_t wl_exact_advance(struct wl_exact_clock *clock, uint64_t now_ns)
{
    if (now_ns > clock->time_ns)
        clock->time_ns = now_ns;
    return clock->time_ns;
}

/* Returns the element of a key, unless it has expired; then it is removed. */
WL_INLINE uint64_t *wl_exact_find(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns)
{
    uint64_t *element = wl_map_find(t->map, key);
    if (element && t->age_ns && wl_exact_age_of(element, now_ns) > t->age_ns) {
        wl_map_remove(t->map, key);
        return NULL;
    }
    return element;
}

/* Writes a reply: the value, and above it so many bits. */
WL_INLINE void wl_exact_reply(const struct wl_exact *t, const uint64_t *element, uint64_t above, uint32_t bits,
                              uint64_t *reply)
{
    uint32_t n = (t->width + bits + 63) / 64;
    wl_wide_zero(reply, n);
    wl_copy(reply, element + WL_EXACT_VALUE, t->words);
    reply[t->width / 64] |= above << (t->width % 64);
    if (bits > 1 && t->width % 64 == 63)
        reply[t->width / 64 + 1] |= above >> 1;
}

/* Touches an element, while its lock is held. */
WL_INLINE void wl_exact_renew(struct wl_exact_clock *clock, uint64_t *element)
{
    if (element[WL_EXACT_ORDER] == WL_EXACT_STATIC)
        return;
    element[WL_EXACT_TOUCHED] = clock->time_ns;
    element[WL_EXACT_ORDER] = clock->touches++;
}

/* What a change does to an element that it finds. */
enum { WL_EXACT_KEEP, WL_EXACT_REPLACE, WL_EXACT_ADD };

/* Changes an element, touches it, and writes a reply. */
WL_INLINE void wl_exact_change(const struct wl_exact *t, uint64_t *element, uint32_t how, const uint64_t *value,
                               uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    void *lock = wl_lock_at(t->offload);
    if (!clock || !lock)
        return;
    wl_lock(lock);
    if (how == WL_EXACT_REPLACE)
        wl_copy(element + WL_EXACT_VALUE, value, t->words);
    if (how == WL_EXACT_ADD)
        wl_lanes_add(element + WL_EXACT_VALUE, value, t->lanes, t->lane_count);
    wl_exact_renew(clock, element);
    wl_copy(reply, element + WL_EXACT_VALUE, t->words);
    wl_unlock(lock);
}

WL_INLINE void wl_exact_zero(const struct wl_exact *t, uint32_t bits, uint64_t *reply)
{
    wl_wide_zero(reply, (t->width + bits + 63) / 64);
}

WL_INLINE void wl_exact_mark(const struct wl_exact *t, uint64_t above, uint32_t bits, uint64_t *reply)
{
    reply[t->width / 64] |= above << (t->width % 64);
    if (bits > 1 && t->width % 64 == 63)
        reply[t->width / 64 + 1] |= above >> 1;
}

/* Returns the element for a call that only reads: it neither advances the time nor removes. */
WL_INLINE const uint64_t *wl_exact_peek(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, uint64_t *age_ns)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    const uint64_t *element = wl_map_find(t->map, key);
    if (!clock || !element)
        return NULL;
    *age_ns = wl_exact_age_of(element, now_ns > clock->time_ns ? now_ns : clock->time_ns);
    return t->age_ns && *age_ns > t->age_ns ? NULL : element;
}

WL_INLINE void wl_exact_lookup(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, uint64_t *reply)
{
    uint64_t age_ns = 0;
    wl_exact_zero(t, 1, reply);
    const uint64_t *element = wl_exact_peek(t, key, now_ns, &age_ns);
    if (element)
        wl_exact_reply(t, element, 1, 1, reply);
}

/* The reply is `found` and, below it, 64 bits of nanoseconds. */
WL_INLINE void wl_exact_age(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, uint64_t *reply)
{
    uint64_t age_ns = 0;
    const uint64_t *element = wl_exact_peek(t, key, now_ns, &age_ns);
    reply[0] = element ? age_ns : 0;
    reply[1] = element != NULL;
}

WL_INLINE void wl_exact_touch(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    wl_exact_zero(t, 1, reply);
    if (!clock)
        return;
    uint64_t *element = wl_exact_find(t, key, wl_exact_advance(clock, now_ns));
    if (!element)
        return;
    wl_exact_change(t, element, WL_EXACT_KEEP, NULL, reply);
    wl_exact_mark(t, 1, 1, reply);
}

WL_INLINE bool wl_exact_update(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, const uint64_t *value)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    uint64_t reply[8];
    if (!clock)
        return false;
    uint64_t *element = wl_exact_find(t, key, wl_exact_advance(clock, now_ns));
    if (!element)
        return false;
    wl_exact_change(t, element, WL_EXACT_REPLACE, value, reply);
    return true;
}

/* The values of a compare-and-swap. A function in the kernel has at most five parameters. */
struct wl_exact_swap {
    const uint64_t *expected;
    const uint64_t *value;
};

/* The reply is the value before, and above it `swapped` and `found`. */
WL_INLINE void wl_exact_compare_swap(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns,
                                     const struct wl_exact_swap *swap, uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    void *lock = wl_lock_at(t->offload);
    wl_exact_zero(t, 2, reply);
    if (!clock || !lock)
        return;
    uint64_t *element = wl_exact_find(t, key, wl_exact_advance(clock, now_ns));
    if (!element)
        return;
    wl_lock(lock);
    wl_copy(reply, element + WL_EXACT_VALUE, t->words);
    bool is_expected = wl_wide_eq(element + WL_EXACT_VALUE, swap->expected, t->words);
    if (is_expected)
        wl_copy(element + WL_EXACT_VALUE, swap->value, t->words);
    wl_exact_renew(clock, element);
    wl_unlock(lock);
    wl_exact_mark(t, is_expected ? 3 : 2, 2, reply);
}

/* Puts a new element into the table. Returns 0, or the kernel's error. */
WL_INLINE long wl_exact_put(const struct wl_exact *t, const uint64_t *key, const uint64_t *value)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    void *lock = wl_lock_at(t->offload);
    uint64_t element[WL_EXACT_VALUE + 8];
    if (!clock || !lock)
        return -1;
    wl_lock(lock);
    element[WL_EXACT_TOUCHED] = clock->time_ns;
    element[WL_EXACT_ORDER] = clock->touches++;
    wl_unlock(lock);
    wl_copy(element + WL_EXACT_VALUE, value, t->words);
    return wl_map_set(t->map, key, element, WL_MAP_NEW);
}

/* `insert` and `accumulate`: they differ in what they do to an element that is there. */
WL_INLINE void wl_exact_enter(const struct wl_exact *t, const uint64_t *key, uint32_t how, const uint64_t *value,
                              uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    wl_exact_zero(t, 2, reply);
    if (!clock)
        return;
    uint64_t now_ns = clock->time_ns, *element = wl_exact_find(t, key, now_ns);
    if (!element) {
        long error = wl_exact_put(t, key, value);
        /* Without room: what has expired makes some. */
        if (error == WL_MAP_FULL && t->age_ns && wl_exact_sweep(t, now_ns, t->age_ns))
            error = wl_exact_put(t, key, value);
        if (!error) {
            wl_copy(reply, value, t->words);
            wl_exact_mark(t, 2, 2, reply);
            return;
        }
        /* Another processor was first. */
        element = error == WL_MAP_THERE ? wl_map_find(t->map, key) : NULL;
        if (!element)
            return;
    }
    wl_exact_change(t, element, how, value, reply);
    wl_exact_mark(t, 3, 2, reply);
}

WL_INLINE void wl_exact_insert(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, const uint64_t *value,
                               uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    if (clock)
        wl_exact_advance(clock, now_ns);
    wl_exact_enter(t, key, WL_EXACT_KEEP, value, reply);
}

WL_INLINE void wl_exact_accumulate(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns,
                                   const uint64_t *delta, uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    if (clock)
        wl_exact_advance(clock, now_ns);
    wl_exact_enter(t, key, WL_EXACT_ADD, delta, reply);
}

WL_INLINE void wl_exact_remove(const struct wl_exact *t, const uint64_t *key, uint64_t now_ns, uint64_t *reply)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    wl_exact_zero(t, 1, reply);
    if (!clock)
        return;
    const uint64_t *element = wl_exact_find(t, key, wl_exact_advance(clock, now_ns));
    if (!element)
        return;
    wl_exact_reply(t, element, 1, 1, reply);
    wl_map_remove(t->map, key);
}

/* Returns the number of elements removed. */
WL_INLINE uint32_t wl_exact_expire(const struct wl_exact *t, uint64_t now_ns, uint64_t older_than_ns)
{
    struct wl_exact_clock *clock = wl_exact_clock(t);
    if (!clock)
        return 0;
    now_ns = wl_exact_advance(clock, now_ns);
    if (t->age_ns)
        wl_exact_sweep(t, now_ns, t->age_ns);
    return wl_exact_sweep(t, now_ns, older_than_ns);
}

#endif
