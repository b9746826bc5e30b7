/* The `timer` kind: a table of keys without values, whose entries end at ticks and stay until the step
 * of the timers claims them. */
#ifndef WL_TIMER_H
#define WL_TIMER_H

#include "exact.h"

WL_INLINE bool wl_timer_set(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                            const uint64_t *key, uint64_t now_ns, uint64_t duration_ns)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found != WL_EXACT_NONE)
        wl_exact_touch_entry(t, type, found);
    else
        found = t->insert(t, hash, key, key);
    if (found == WL_EXACT_NONE)
        return false;
    t->keep(t, found, duration_ns);
    return true;
}

WL_INLINE bool wl_timer_cancel(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                               const uint64_t *key, uint64_t now_ns)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found != WL_EXACT_NONE)
        t->remove(t, found);
    return found != WL_EXACT_NONE;
}

/* The reply is `found` and, below it, 64 bits of nanoseconds. */
WL_INLINE void wl_timer_left(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash, const uint64_t *key,
                             uint64_t now_ns, uint64_t *reply)
{
    const struct wl_exact *t = wl_exact_table(slot);
    uint32_t found = wl_exact_find(t, type, hash, key);
    uint64_t now = now_ns > t->time_ns ? now_ns : t->time_ns, deadline = 0;
    if (found != WL_EXACT_NONE)
        deadline = wl_exact_deadline(wl_exact_entry(t, found, type), type);
    reply[0] = deadline > now ? deadline - now : 0;
    reply[1] = found != WL_EXACT_NONE;
}

WL_INLINE bool wl_timer_claim(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                              const uint64_t *key, uint64_t now_ns)
{
    struct wl_exact *t = wl_exact_table(slot);
    uint32_t over = wl_exact_over(t, type, hash, key, now_ns);
    if (over != WL_EXACT_NONE)
        t->remove(t, over);
    return over != WL_EXACT_NONE;
}

#endif
