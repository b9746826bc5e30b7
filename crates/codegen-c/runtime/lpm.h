/* The `lpm` kind over the host's table, which has one of two forms. Tables of keys of 19 to 128 bits
 * consist of blocks if these are few enough: a direct table for the first bits of the key, and blocks of
 * 64 entries for the next six, each with the value's number or that of another block. All others
 * consist of a direct table and nodes of 64 slots as in Poptrie (Asai, Ohara: Poptrie, SIGCOMM 2015), in
 * which a leaf of zero means "nothing better than before". The layout is described with the table
 * itself, in Wireloom's crate `offloads`, module `lpm`.
 *
 * A search is a walk that can pause before each memory access, so that a batch can prefetch the
 * next data of all its threads: `..._fetch` prefetches the direct entry, `..._begin` the block's
 * entry or the node that the entry names, the next `..._walk` what that names, and so on;
 * `..._value` walks to the end. Searches for keys of at most 32 bits in blocks need no further pause,
 * unless `..._further` says so. */
#ifndef WL_LPM_H
#define WL_LPM_H

#include "slot.h"

struct wl_lpm_node {
    uint64_t children, leaves; /* bitmaps of slots */
    uint32_t child_base, leaf_base;
} __attribute__((aligned(32)));

struct wl_lpm_table {
    const uint64_t *direct;          /* node << 32 | number of a value; node 0: no node */
    const struct wl_lpm_node *nodes;
    const uint32_t *leaves;          /* numbers of values; 0: no value */
    const uint32_t *spread;          /* not NULL in tables of blocks: value, or WL_LPM_BLOCK | block */
    const void *blocks;              /* keys of at most 32 bits: 16-bit words, value, or
                                        WL_LPM_DEEPER | block; wider ones: as in `spread` */
    const uint64_t *values;          /* number 0 is the miss value */
    uint32_t value_words, direct_bits, key_bits;
};

/* A walk that has reached bit `at` of the key; 0: it has not begun. */
struct wl_lpm_walk {
    union {
        const uint32_t *leaf;  /* prefetched, not read yet; in tables of blocks, the next entry */
        const uint16_t *entry; /* the same, of keys of at most 32 bits */
    };
    uint32_t node;
    uint32_t best; /* in tables of blocks, the entry that is read if the one before named no block */
    uint32_t at;   /* in tables of blocks, the bit from which on the key chose the next entry */
    uint16_t own;  /* `best` of keys of at most 32 bits */
};

enum { WL_LPM_STRIDE = 6, WL_LPM_DEEPER = 1 << 15 };
#define WL_LPM_BLOCK (UINT32_C(1) << 31)

/* Searches in nodes are functions: they are longer than those in blocks, and compilers make calls of the steps
 * of an engine that grow too long. */
#define WL_LPM_FUNCTION static __attribute__((unused, noinline))

/* Returns all ones or zero. Compilers turn a conditional into a branch where they think that it pays;
 * here it would be predicted wrongly half the time. */
WL_INLINE uintptr_t wl_lpm_mask(bool condition)
{
    uintptr_t mask = -(uintptr_t)condition;
    __asm__("" : "+r"(mask));
    return mask;
}

/* Returns one of two addresses, without a branch. */
WL_INLINE const void *wl_lpm_pick(bool condition, const void *yes, const void *no)
{
    return (const void *)((uintptr_t)no ^ (((uintptr_t)yes ^ (uintptr_t)no) & wl_lpm_mask(condition)));
}

/* The leaf of a node without leaves. */
static const uint32_t wl_lpm_no_leaf = 0;

WL_INLINE const struct wl_lpm_table *wl_lpm_table(const struct wl_slot *slot) { return slot->data; }

/* Whether a search needs more pauses than the first. */
WL_INLINE bool wl_lpm_is_deep(const struct wl_slot *slot) { return !slot->spread; }

/* Prefetches a direct entry of either form, without a branch: engines have many copies of this. */
WL_INLINE void wl_lpm_fetch(const struct wl_slot *slot, uint32_t index)
{
    WL_PREFETCH(slot->direct + ((size_t)index << slot->direct_shift));
}

/* Reads the direct entry and prefetches its node. */
WL_LPM_FUNCTION void wl_lpm_begin(const struct wl_lpm_table *table, struct wl_lpm_walk *walk, uint32_t index,
                                  uint32_t bits)
{
    uint64_t entry = __atomic_load_n(&table->direct[index], __ATOMIC_ACQUIRE);
    walk->leaf = &wl_lpm_no_leaf;
    walk->best = (uint32_t)entry;
    walk->node = (uint32_t)(entry >> 32);
    walk->at = bits;
    WL_PREFETCH(&table->nodes[walk->node]);
}

WL_INLINE void wl_lpm_leaf(struct wl_lpm_walk *walk)
{
    uint32_t leaf = *walk->leaf;
    walk->best = leaf | (walk->best & (uint32_t)wl_lpm_mask(!leaf));
}

/* Reads the node for a slot, and prefetches its leaf and its child. The depth of a prefix and
 * the nodes that have leaves are unpredictable, so there are no branches here: node 0, which
 * means "no node", has neither children nor leaves, and is read like any other. */
WL_LPM_FUNCTION void wl_lpm_descend(const struct wl_lpm_table *table, struct wl_lpm_walk *walk, uint32_t slot)
{
    const struct wl_lpm_node *node = &table->nodes[walk->node];
    uint64_t bit = UINT64_C(1) << slot, below = bit - 1;
    uint32_t rank = (uint32_t)__builtin_popcountll(node->leaves & (below | bit));
    uint32_t child = node->child_base + (uint32_t)__builtin_popcountll(node->children & below);
    wl_lpm_leaf(walk);
    walk->leaf = wl_lpm_pick(rank, &table->leaves[node->leaf_base + rank - 1], &wl_lpm_no_leaf);
    walk->node = child & (uint32_t)wl_lpm_mask(node->children & bit);
    WL_PREFETCH(walk->leaf);
    WL_PREFETCH(&table->nodes[walk->node]);
    walk->at += WL_LPM_STRIDE;
}

/* Reads an entry of a table of blocks: what the one before it named, if that was a block. */
WL_INLINE uint32_t wl_lpm_next(const uint32_t *entry) { return __atomic_load_n(entry, __ATOMIC_ACQUIRE); }

/* Returns an entry of a block, for keys of more than 32 bits. */
WL_INLINE const uint32_t *wl_lpm_place(const struct wl_slot *slot, uint32_t entry, uint32_t chunk)
{
    return (const uint32_t *)slot->blocks + ((size_t)(entry & ~WL_LPM_BLOCK) << WL_LPM_STRIDE) + chunk;
}

/* Prefetches what an entry names. Where searches end is unpredictable, so there is no branch: an entry
 * that names no block is read again. */
WL_INLINE void wl_lpm_enter(const struct wl_slot *slot, struct wl_lpm_walk *walk, uint32_t entry, uint32_t chunk)
{
    walk->best = entry;
    walk->leaf = wl_lpm_pick(entry & WL_LPM_BLOCK, wl_lpm_place(slot, entry, chunk), &walk->best);
    WL_PREFETCH(walk->leaf);
}

/* Returns the value that a walk has found, of `words` words. */
WL_INLINE const uint64_t *wl_lpm_result(const struct wl_lpm_table *table,
                                        struct wl_lpm_walk *walk, uint32_t words)
{
    wl_lpm_leaf(walk);
    return table->values + (size_t)walk->best * words;
}

/* Counts a search that found something else than the miss value, and returns what it found. */
WL_INLINE const uint64_t *wl_lpm_count(const struct wl_slot *slot, uint32_t method, const uint64_t *value)
{
    const struct wl_lpm_table *table = wl_lpm_table(slot);
    slot->counts[2 * method + 1] += memcmp(value, table->values, table->value_words * sizeof *value) != 0;
    return value;
}

/* Returns the n bits of a key that begin `at` bits from its most significant one; bits past its
 * end are zero. Keys of one and two words are aligned to the upper end of these words. */
WL_INLINE uint32_t wl_key64(uint64_t key, uint32_t at, uint32_t n)
{
    return at < 64 ? (uint32_t)(key << at >> (64 - n)) : 0;
}

WL_INLINE uint32_t wl_key128(wl_u128 key, uint32_t at, uint32_t n)
{
    if (WL_LIKELY(at + n <= 64))
        return (uint32_t)((uint64_t)(key >> 64) << at >> (64 - n));
    return at < 128 ? (uint32_t)(key << at >> (128 - n)) : 0;
}

WL_INLINE uint32_t wl_key_wide(const uint64_t *key, uint32_t width, uint32_t at, uint32_t n)
{
    uint32_t mask = (1u << n) - 1;
    if (at >= width)
        return 0;
    if (at + n <= width)
        return (uint32_t)wl_wide_scalar(key, (width + 63) / 64, width - at - n) & mask;
    return (uint32_t)(key[0] << (at + n - width)) & mask;
}

/* Defines the functions of a search, for keys of one form. `blocks` says whether their tables may
 * consist of blocks. `bits` is the width of the direct table's index, `words` the number of words of a
 * value, `at` the bit that a walk has reached: constants. */
#define WL_LPM(form, blocks, key_type, chunk)                                                                        \
    WL_INLINE void wl_lpm##form##_fetch(const struct wl_slot *slot, key_type, uint32_t bits)                         \
    {                                                                                                                \
        wl_lpm_fetch(slot, chunk(0, bits));                                                                          \
    }                                                                                                                \
    WL_INLINE void wl_lpm##form##_begin(const struct wl_slot *slot, key_type, uint32_t bits,                         \
                                        struct wl_lpm_walk *walk)                                                    \
    {                                                                                                                \
        if (blocks && WL_LIKELY(slot->spread)) {                                                                     \
            wl_lpm_enter(slot, walk, wl_lpm_next(&slot->spread[chunk(0, bits)]), chunk(bits, WL_LPM_STRIDE));        \
            walk->at = bits;                                                                                         \
            return;                                                                                                  \
        }                                                                                                            \
        wl_lpm_begin(wl_lpm_table(slot), walk, chunk(0, bits), bits);                                                \
    }                                                                                                                \
    WL_INLINE void wl_lpm##form##_walk(const struct wl_slot *slot, key_type, uint32_t at, struct wl_lpm_walk *walk)  \
    {                                                                                                                \
        if (blocks && WL_LIKELY(slot->spread)) {                                                                     \
            wl_lpm_enter(slot, walk, wl_lpm_next(walk->leaf), chunk(at + WL_LPM_STRIDE, WL_LPM_STRIDE));             \
            walk->at = at + WL_LPM_STRIDE;                                                                           \
            return;                                                                                                  \
        }                                                                                                            \
        wl_lpm_descend(wl_lpm_table(slot), walk, chunk(at, WL_LPM_STRIDE));                                          \
    }                                                                                                                \
    WL_INLINE const uint64_t *wl_lpm##form##_last(const struct wl_slot *slot, key_type, uint32_t entry, uint32_t at, \
                                                  uint32_t words)                                                    \
    {                                                                                                                \
        for (; entry & WL_LPM_BLOCK; at += WL_LPM_STRIDE)                                                            \
            entry = wl_lpm_next(wl_lpm_place(slot, entry, chunk(at, WL_LPM_STRIDE)));                                \
        return slot->values + (size_t)entry * words;                                                                 \
    }                                                                                                                \
    WL_LPM_FUNCTION const uint64_t *wl_lpm##form##_leave(const struct wl_lpm_table *table, key_type, uint32_t words, \
                                                         struct wl_lpm_walk *walk)                                   \
    {                                                                                                                \
        while (walk->node)                                                                                           \
            wl_lpm_descend(table, walk, chunk(walk->at, WL_LPM_STRIDE));                                             \
        return wl_lpm_result(table, walk, words);                                                                    \
    }                                                                                                                \
    WL_INLINE const uint64_t *wl_lpm##form##_value(const struct wl_slot *slot, key_type, uint32_t words,             \
                                                   struct wl_lpm_walk *walk)                                         \
    {                                                                                                                \
        if (blocks && WL_LIKELY(slot->spread)) {                                                                     \
            uint32_t entry = wl_lpm_next(walk->leaf);                                                                \
            return wl_lpm##form##_last(slot, WL_LPM_KEY##form, entry, walk->at + WL_LPM_STRIDE, words);              \
        }                                                                                                            \
        return wl_lpm##form##_leave(wl_lpm_table(slot), WL_LPM_KEY##form, words, walk);                              \
    }                                                                                                                \
    WL_INLINE const uint64_t *wl_lpm##form##_search(const struct wl_slot *slot, key_type, uint32_t bits,             \
                                                    uint32_t words)                                                  \
    {                                                                                                                \
        struct wl_lpm_walk walk;                                                                                     \
        if (blocks && WL_LIKELY(slot->spread))                                                                       \
            return wl_lpm##form##_last(slot, WL_LPM_KEY##form, wl_lpm_next(&slot->spread[chunk(0, bits)]), bits, words);\
        wl_lpm_begin(wl_lpm_table(slot), &walk, chunk(0, bits), bits);                                               \
        return wl_lpm##form##_value(slot, WL_LPM_KEY##form, words, &walk);                                           \
    }

#define WL_WIDE_KEY const uint64_t *key, uint32_t width
#define WL_LPM_KEY64 key
#define WL_LPM_KEY128 key
#define WL_LPM_KEY_wide key, width
#define WL_CHUNK64(at, n) wl_key64(key, at, n)
#define WL_CHUNK128(at, n) wl_key128(key, at, n)
#define WL_CHUNK_WIDE(at, n) wl_key_wide(key, width, at, n)
WL_LPM(64, true, uint64_t key, WL_CHUNK64)
WL_LPM(128, true, wl_u128 key, WL_CHUNK128)
WL_LPM(_wide, false, WL_WIDE_KEY, WL_CHUNK_WIDE)

/* ---- Keys of 19 to 32 bits, aligned to the upper end of a word: entries of blocks have two bytes ----------------- */

/* Returns the entry of a block for the bits of the key that begin at bit `at`. Keys are long enough
 * for a direct table and a block. */
WL_INLINE const uint16_t *wl_lpm_entry(const struct wl_slot *slot, uint32_t block, uint32_t key, uint32_t at)
{
    return (const uint16_t *)slot->blocks + ((size_t)block << WL_LPM_STRIDE) + (key << at >> (32 - WL_LPM_STRIDE));
}

/* Walks from the entry of a first block, or from the value that the direct entry names, to the
 * end. */
WL_INLINE const uint64_t *wl_lpm_last(const struct wl_slot *slot, const uint16_t *first, uint32_t key,
                                      uint32_t at, uint32_t words)
{
    uint32_t entry = __atomic_load_n(first, __ATOMIC_ACQUIRE);
    while (WL_UNLIKELY(entry & WL_LPM_DEEPER)) {
        at += WL_LPM_STRIDE;
        entry = __atomic_load_n(wl_lpm_entry(slot, entry & ~(uint32_t)WL_LPM_DEEPER, key, at), __ATOMIC_ACQUIRE);
    }
    return slot->values + (size_t)entry * words;
}

WL_INLINE void wl_lpm32_fetch(const struct wl_slot *slot, uint32_t key, uint32_t bits)
{
    uint32_t index = key >> (32 - bits);
    WL_PREFETCH(slot->spread ? (const void *)&slot->spread[index] : (const void *)&wl_lpm_table(slot)->direct[index]);
}

/* Whether there is a block is unpredictable, so there is no branch: without one the entry is read
 * from the walk. The number of a value is the lower half of the direct entry. */
WL_INLINE void wl_lpm32_begin(const struct wl_slot *slot, uint32_t key, uint32_t bits, struct wl_lpm_walk *walk)
{
    if (WL_UNLIKELY(!slot->spread)) {
        wl_lpm64_begin(slot, (uint64_t)key << 32, bits, walk);
        return;
    }
    uint32_t direct = __atomic_load_n(&slot->spread[key >> (32 - bits)], __ATOMIC_ACQUIRE);
    const uint16_t *inside = wl_lpm_entry(slot, direct & ~WL_LPM_BLOCK, key, bits);
    walk->own = (uint16_t)direct;
    walk->at = bits;
    walk->entry = wl_lpm_pick(direct & WL_LPM_BLOCK, inside, &walk->own);
    WL_PREFETCH(walk->entry);
}

WL_INLINE void wl_lpm32_walk(const struct wl_slot *slot, uint32_t key, uint32_t at, struct wl_lpm_walk *walk)
{
    if (wl_lpm_is_deep(slot))
        wl_lpm64_walk(slot, (uint64_t)key << 32, at, walk);
}

/* Whether the search needs another block, which is then prefetched. Only of tables of blocks; in
 * others, the search is left to `..._value`. */
WL_INLINE bool wl_lpm32_further(const struct wl_slot *slot, uint32_t key, struct wl_lpm_walk *walk)
{
    if (WL_UNLIKELY(!slot->spread))
        return false;
    uint32_t entry = __atomic_load_n(walk->entry, __ATOMIC_ACQUIRE);
    if (WL_LIKELY(!(entry & WL_LPM_DEEPER)))
        return false;
    walk->at += WL_LPM_STRIDE;
    walk->entry = wl_lpm_entry(slot, entry & ~(uint32_t)WL_LPM_DEEPER, key, walk->at);
    WL_PREFETCH(walk->entry);
    return true;
}

WL_INLINE const uint64_t *wl_lpm32_value(const struct wl_slot *slot, uint32_t key, uint32_t words,
                                         struct wl_lpm_walk *walk)
{
    if (WL_UNLIKELY(!slot->spread))
        return wl_lpm64_value(slot, (uint64_t)key << 32, words, walk);
    return wl_lpm_last(slot, walk->entry, key, walk->at, words);
}

WL_INLINE const uint64_t *wl_lpm32_search(const struct wl_slot *slot, uint32_t key, uint32_t bits,
                                          uint32_t words)
{
    struct wl_lpm_walk walk;
    wl_lpm32_begin(slot, key, bits, &walk);
    return wl_lpm32_value(slot, key, words, &walk);
}

#endif
