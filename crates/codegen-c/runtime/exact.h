/* The `exact` kind over the host's table, whose layout is described in Wireloom's crate `offloads`,
 * module `kinds::exact::table`. What packets do most is here: a search, a touch, a change of a
 * value. Entries are inserted and removed by the table's own functions.
 *
 * A search reads a bucket and then an entry. `wl_exact_begin` fetches the bucket, `wl_exact_look`
 * the entry that it names, and `wl_exact_near` the neighbours that a touch of the entry changes. All
 * three only prepare: the call itself searches again, since a packet before it may have changed the
 * table in the meantime. */
#ifndef WL_EXACT_H
#define WL_EXACT_H

#include "array.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WL_EXACT_PLACES = 12 };

#define WL_EXACT_NONE UINT32_MAX
#define WL_EXACT_MOST (UINT32_C(1) << 28) /* entries */
/* The order of an entry that the control plane loaded: it is not touched. */
#define WL_EXACT_STATIC UINT64_C(0xfffffffefffffffe)

struct wl_exact_bucket {
    uint8_t tags[WL_EXACT_PLACES]; /* bits 56 to 63 of the hashes */
    uint32_t entries[WL_EXACT_PLACES];
    uint32_t state; /* number of the next bucket << 4 | number of entries */
} __attribute__((aligned(64)));

struct wl_exact {
    const struct wl_exact_bucket *buckets;
    size_t bucket_count;
    const struct wl_exact_bucket *overflow; /* numbered from 1 */
    size_t overflow_count;
    uint64_t *entries;
    size_t word_count;
    uint64_t time_ns;
    uint64_t seeds[2];
    uint64_t touches;      /* the number of the next touch, where there is no list */
    uint64_t changes;      /* a reply of a lookup holds until the next one */
    uint64_t next_ns;      /* no entry ends at a tick before */
    uint32_t used, mask;   /* buckets in use; mask of hashes for buckets that are not split yet */
    uint32_t oldest, newest; /* ends of the list in the order of touches */
    uint32_t is_linked;    /* whether there is a list; an entry's order is then older | newer << 32 */
    uint32_t (*insert)(struct wl_exact *table, uint64_t hash, const uint64_t *key, const uint64_t *value);
    void (*remove)(struct wl_exact *table, uint32_t entry);
    uint32_t (*expire)(struct wl_exact *table, uint64_t older_than_ns);
    void (*end)(struct wl_exact *table);
    void (*keep)(struct wl_exact *table, uint32_t entry, uint64_t duration_ns);
    bool (*claim)(struct wl_exact *table, uint32_t entry);
};

/* The types of a table: words in front of the key of an entry (touched_ns and order; with ticks also
 * the duration and the place in the wheel), words of a key and of a value, bits of a value; the age
 * after which entries expire, or 0; the time from one tick to the next if entries end at ticks, or
 * 0; and whether they stay until a step claims them. All are constants of the program. */
struct wl_exact_type {
    uint32_t head, key, value, width;
    uint64_t age_ns, tick_ns;
    bool is_claimed;
};

/* A search that is prepared. */
struct wl_exact_walk {
    uint64_t hash;
    uint32_t entry; /* perhaps the entry; 0 if there is none */
};

WL_INLINE struct wl_exact *wl_exact_table(const struct wl_slot *slot) { return slot->data; }

WL_INLINE uint64_t *wl_exact_entry(const struct wl_exact *t, uint32_t entry, struct wl_exact_type type)
{
    return t->entries + (size_t)entry * (type.head + type.key + type.value);
}

WL_INLINE uint64_t wl_exact_fold(uint64_t a, uint64_t b)
{
    wl_u128 product = (wl_u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

WL_INLINE uint64_t wl_exact_hash(const struct wl_exact *t, const uint64_t *key, uint32_t n)
{
    uint64_t hash = t->seeds[0], other = t->seeds[1];
    for (uint32_t i = 0; i + 1 < n; i += 2)
        hash = wl_exact_fold(key[i] ^ hash, key[i + 1] ^ other);
    return n % 2 ? wl_exact_fold(key[n - 1] ^ hash, other) : hash;
}

WL_INLINE const struct wl_exact_bucket *wl_exact_bucket(const struct wl_exact *t, uint64_t hash)
{
    uint32_t split = (uint32_t)hash & (2 * t->mask + 1);
    return &t->buckets[split < t->used ? split : split & t->mask];
}

/* Returns the places of a bucket whose tag is that of a hash, a bit each. */
WL_INLINE uint32_t wl_exact_hits(const struct wl_exact_bucket *bucket, uint64_t hash)
{
    uint32_t filled = (1u << (bucket->state & 15)) - 1;
#ifdef __SSE2__
    __m128i tags = _mm_load_si128((const __m128i *)bucket);
    __m128i same = _mm_cmpeq_epi8(tags, _mm_set1_epi8((char)(hash >> 56)));
    return (uint32_t)_mm_movemask_epi8(same) & filled;
#else
    uint32_t hits = 0;
    for (uint32_t i = 0; i < WL_EXACT_PLACES; i++)
        hits |= (uint32_t)(bucket->tags[i] == (uint8_t)(hash >> 56)) << i;
    return hits & filled;
#endif
}

WL_INLINE uint64_t wl_exact_begin(const struct wl_slot *slot, const uint64_t *key, uint32_t n)
{
    const struct wl_exact *t = wl_exact_table(slot);
    uint64_t hash = wl_exact_hash(t, key, n);
    WL_PREFETCH(wl_exact_bucket(t, hash));
    return hash;
}

/* Fetches the entry that is likely to be found. */
WL_INLINE void wl_exact_look(const struct wl_slot *slot, struct wl_exact_type type, struct wl_exact_walk *walk)
{
    const struct wl_exact *t = wl_exact_table(slot);
    const struct wl_exact_bucket *bucket = wl_exact_bucket(t, walk->hash);
    uint32_t hits = wl_exact_hits(bucket, walk->hash);
    walk->entry = hits ? bucket->entries[__builtin_ctz(hits)] : 0;
    const uint64_t *entry = wl_exact_entry(t, walk->entry, type);
    WL_PREFETCH(entry);
    if (type.head + type.key + type.value > 4)
        WL_PREFETCH(entry + type.head + type.key + type.value - 1);
}

/* Reads the neighbours of that entry in the order of touches. These are loads: so many prefetches
 * are in flight by then that processors drop further ones. */
WL_INLINE void wl_exact_near(const struct wl_slot *slot, struct wl_exact_type type, const struct wl_exact_walk *walk)
{
    const struct wl_exact *t = wl_exact_table(slot);
    uint64_t order = wl_exact_entry(t, walk->entry, type)[1];
    /* An end of the list has no neighbour, and an entry outside it has none. */
    uint32_t older = (uint32_t)order, newer = (uint32_t)(order >> 32);
    older = older < WL_EXACT_MOST ? older : walk->entry;
    newer = newer < WL_EXACT_MOST ? newer : walk->entry;
    (void)*(const volatile uint64_t *)(wl_exact_entry(t, older, type) + 1);
    (void)*(const volatile uint64_t *)(wl_exact_entry(t, newer, type) + 1);
}

/* Returns the entry with a key, expired or not. */
WL_INLINE uint32_t wl_exact_find(const struct wl_exact *t, struct wl_exact_type type, uint64_t hash,
                                 const uint64_t *key)
{
    const struct wl_exact_bucket *bucket = wl_exact_bucket(t, hash);
    for (;;) {
        uint32_t next = bucket->state >> 4;
        for (uint32_t hits = wl_exact_hits(bucket, hash); hits; hits &= hits - 1) {
            uint32_t entry = bucket->entries[__builtin_ctz(hits)];
            if (WL_LIKELY(wl_wide_eq(wl_exact_entry(t, entry, type) + type.head, key, type.key)))
                return entry;
        }
        if (WL_LIKELY(!next))
            return WL_EXACT_NONE;
        bucket = &t->overflow[next - 1];
    }
}

/* Returns when an entry ends, in a table with ticks: at the first tick after its last touch that is
 * not before the end of its duration. */
WL_INLINE uint64_t wl_exact_deadline(const uint64_t *entry, struct wl_exact_type type)
{
    uint64_t touched = entry[0], end = touched + entry[2];
    if (entry[1] == WL_EXACT_STATIC || end < touched || end == UINT64_MAX)
        return UINT64_MAX;
    uint64_t tick = end / type.tick_ns + (end % type.tick_ns != 0), next = touched / type.tick_ns + 1, deadline;
    return __builtin_mul_overflow(tick > next ? tick : next, type.tick_ns, &deadline) ? UINT64_MAX : deadline;
}

/* Returns the entry with a key that has not expired, and its age; NULL if there is none. */
WL_INLINE const uint64_t *wl_exact_peek(struct wl_exact *t, struct wl_exact_type type, uint64_t hash,
                                        const uint64_t *key, uint64_t now_ns, uint64_t *age_ns)
{
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found == WL_EXACT_NONE)
        return NULL;
    const uint64_t *entry = wl_exact_entry(t, found, type);
    uint64_t now = now_ns > t->time_ns ? now_ns : t->time_ns;
    *age_ns = entry[1] == WL_EXACT_STATIC || now < entry[0] ? 0 : now - entry[0];
    if (type.age_ns && WL_UNLIKELY(*age_ns > type.age_ns)) {
        /* It has expired, but is still there: a touch at an earlier time could revive it. */
        t->changes++;
        return NULL;
    }
    if (type.tick_ns && !type.is_claimed && WL_UNLIKELY(now >= wl_exact_deadline(entry, type))) {
        t->changes++;
        return NULL;
    }
    return entry;
}

/* Advances the time, and removes what has expired. */
WL_INLINE void wl_exact_advance(struct wl_exact *t, struct wl_exact_type type, uint64_t now_ns)
{
    t->time_ns = now_ns > t->time_ns ? now_ns : t->time_ns;
    if (type.tick_ns && !type.is_claimed && WL_UNLIKELY(t->time_ns >= t->next_ns))
        t->end(t);
    if (!type.age_ns || t->oldest == WL_EXACT_NONE)
        return;
    if (WL_UNLIKELY(t->time_ns - wl_exact_entry(t, t->oldest, type)[0] > type.age_ns))
        t->expire(t, type.age_ns);
}

WL_INLINE void wl_exact_touch_entry(struct wl_exact *t, struct wl_exact_type type, uint32_t number)
{
    uint64_t *entry = wl_exact_entry(t, number, type);
    uint64_t order = entry[1];
    if (order == WL_EXACT_STATIC)
        return;
    entry[0] = t->time_ns;
    if (!type.age_ns && !t->is_linked) {
        entry[1] = t->touches++;
        return;
    }
    uint32_t older = (uint32_t)order, newer = (uint32_t)(order >> 32);
    if (newer == WL_EXACT_NONE)
        return; /* the newest already */
    uint64_t *after = wl_exact_entry(t, newer, type) + 1, *newest = wl_exact_entry(t, t->newest, type) + 1;
    *after = (*after & UINT64_C(0xffffffff00000000)) | older;
    if (older == WL_EXACT_NONE) {
        t->oldest = newer;
    } else {
        uint64_t *before = wl_exact_entry(t, older, type) + 1;
        *before = (*before & UINT32_MAX) | (uint64_t)newer << 32;
    }
    *newest = (*newest & UINT32_MAX) | (uint64_t)number << 32;
    entry[1] = (uint64_t)WL_EXACT_NONE << 32 | t->newest;
    t->newest = number;
}

WL_INLINE uint64_t *wl_exact_value(uint64_t *entry, struct wl_exact_type type)
{
    return entry + type.head + type.key;
}

/* Writes a reply of rn words: the value, and above it one or two bits. No entry gives zeros. */
WL_INLINE void wl_exact_reply(const uint64_t *entry, struct wl_exact_type type, uint64_t above, uint64_t *reply,
                              uint32_t rn)
{
    memset(reply, 0, rn * sizeof *reply);
    if (!entry)
        return;
    memcpy(reply, entry + type.head + type.key, type.value * sizeof *reply);
    reply[type.width / 64] |= above << (type.width % 64);
    if (type.width % 64 == 63 && rn > type.width / 64 + 1)
        reply[type.width / 64 + 1] |= above >> 1;
}

WL_INLINE void wl_exact_lookup(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                               const uint64_t *key, uint64_t now_ns, uint64_t *reply, uint32_t rn)
{
    uint64_t age;
    const uint64_t *entry = wl_exact_peek(wl_exact_table(slot), type, hash, key, now_ns, &age);
    wl_exact_reply(entry, type, 1, reply, rn);
}

/* The reply is `found` and, below it, 64 bits of nanoseconds. */
WL_INLINE void wl_exact_age(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash, const uint64_t *key,
                            uint64_t now_ns, uint64_t *reply)
{
    uint64_t age = 0;
    const uint64_t *entry = wl_exact_peek(wl_exact_table(slot), type, hash, key, now_ns, &age);
    reply[0] = entry ? age : 0;
    reply[1] = entry != NULL;
}

WL_INLINE void wl_exact_touch(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                              const uint64_t *key, uint64_t now_ns, uint64_t *reply, uint32_t rn)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found != WL_EXACT_NONE)
        wl_exact_touch_entry(t, type, found);
    wl_exact_reply(found == WL_EXACT_NONE ? NULL : wl_exact_entry(t, found, type), type, 1, reply, rn);
}

WL_INLINE void wl_exact_insert(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                               const uint64_t *key, uint64_t now_ns, const uint64_t *value, uint64_t *reply,
                               uint32_t rn)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    bool existed = found != WL_EXACT_NONE;
    if (existed)
        wl_exact_touch_entry(t, type, found);
    else
        found = t->insert(t, hash, key, value);
    wl_exact_reply(found == WL_EXACT_NONE ? NULL : wl_exact_entry(t, found, type), type, existed ? 3 : 2, reply, rn);
}

WL_INLINE void wl_exact_accumulate(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                                   const uint64_t *key, uint64_t now_ns, const uint64_t *delta,
                                   const struct wl_lane *lanes, uint32_t count, uint64_t *reply, uint32_t rn)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    bool existed = found != WL_EXACT_NONE;
    if (existed) {
        t->changes++;
        wl_lanes_add(wl_exact_value(wl_exact_entry(t, found, type), type), delta, type.value, lanes, count);
        wl_exact_touch_entry(t, type, found);
    } else {
        found = t->insert(t, hash, key, delta);
    }
    wl_exact_reply(found == WL_EXACT_NONE ? NULL : wl_exact_entry(t, found, type), type, existed ? 3 : 2, reply, rn);
}

WL_INLINE bool wl_exact_update(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                               const uint64_t *key, uint64_t now_ns, const uint64_t *value)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found == WL_EXACT_NONE)
        return false;
    t->changes++;
    memcpy(wl_exact_value(wl_exact_entry(t, found, type), type), value, type.value * sizeof *value);
    wl_exact_touch_entry(t, type, found);
    return true;
}

WL_INLINE void wl_exact_remove(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                               const uint64_t *key, uint64_t now_ns, uint64_t *reply, uint32_t rn)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    wl_exact_reply(found == WL_EXACT_NONE ? NULL : wl_exact_entry(t, found, type), type, 1, reply, rn);
    if (found != WL_EXACT_NONE)
        t->remove(t, found);
}

/* The reply is the value before, and above it `swapped` and `found`. */
WL_INLINE void wl_exact_compare_swap(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                                     const uint64_t *key, uint64_t now_ns, const uint64_t *expected,
                                     const uint64_t *value, uint64_t *reply, uint32_t rn)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found == WL_EXACT_NONE) {
        wl_exact_reply(NULL, type, 0, reply, rn);
        return;
    }
    uint64_t *entry = wl_exact_entry(t, found, type), *own = wl_exact_value(entry, type);
    bool is_equal = wl_wide_eq(own, expected, type.value);
    wl_exact_reply(entry, type, is_equal ? 3 : 2, reply, rn);
    if (is_equal) {
        t->changes++;
        memcpy(own, value, type.value * sizeof *value);
    }
    wl_exact_touch_entry(t, type, found);
}

WL_INLINE bool wl_exact_keep(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                             const uint64_t *key, uint64_t now_ns, uint64_t duration_ns)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    if (found == WL_EXACT_NONE)
        return false;
    wl_exact_touch_entry(t, type, found);
    /* A reply of a lookup may hold for less long now, unless entries stay until they are claimed. */
    if (!type.is_claimed)
        t->changes++;
    t->keep(t, found, duration_ns);
    return true;
}

/* Returns the entry with a key whose time is over, or WL_EXACT_NONE. */
WL_INLINE uint32_t wl_exact_over(struct wl_exact *t, struct wl_exact_type type, uint64_t hash, const uint64_t *key,
                                 uint64_t now_ns)
{
    wl_exact_advance(t, type, now_ns);
    uint32_t found = wl_exact_find(t, type, hash, key);
    return found != WL_EXACT_NONE && t->claim(t, found) ? found : WL_EXACT_NONE;
}

WL_INLINE void wl_exact_claim(const struct wl_slot *slot, struct wl_exact_type type, uint64_t hash,
                              const uint64_t *key, uint64_t now_ns, uint64_t *reply, uint32_t rn)
{
    struct wl_exact *t = wl_exact_table(slot);
    uint32_t over = wl_exact_over(t, type, hash, key, now_ns);
    wl_exact_reply(over == WL_EXACT_NONE ? NULL : wl_exact_entry(t, over, type), type, 1, reply, rn);
    if (over != WL_EXACT_NONE)
        t->remove(t, over);
}

/* Returns the number of entries removed. */
WL_INLINE uint32_t wl_exact_expire(const struct wl_slot *slot, struct wl_exact_type type, uint64_t now_ns,
                                   uint64_t older_than_ns)
{
    struct wl_exact *t = wl_exact_table(slot);
    wl_exact_advance(t, type, now_ns);
    return t->expire(t, older_than_ns);
}

#endif
