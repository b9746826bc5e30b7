/* The `lpm` kind over tables in maps of the kernel. The process writes a whole table into an array
 * map and then puts that in the place of the one before, so that a search sees one table from its
 * beginning to its end. The map's elements are parts of the table, of 2^`part_bits` bytes each; the
 * first holds what nearly every search reads, so a search of a small table finds one element. The
 * contents are those of Wireloom's crate `offloads`, module `lpm`: a direct table, then blocks, or
 * nodes with leaves; and values. Nothing lies in two parts: everything is aligned to its size. */
#ifndef WL_LPM_H
#define WL_LPM_H

#include "packet.h"

enum {
    WL_LPM_BEGIN = 128, /* where the direct table begins, in bytes */
    WL_LPM_STRIDE = 6,
    WL_LPM_DEEPER = 1 << 15,
};
#define WL_LPM_BLOCK (UINT32_C(1) << 31)

/* The beginning of a table: whether it consists of blocks, and where the other things begin, in
 * bytes. */
struct wl_lpm_head {
    uint64_t is_spread, blocks, nodes, leaves, values;
};

struct wl_lpm_node {
    uint64_t children, leaves; /* bitmaps of slots */
    uint32_t child_base, leaf_base;
    uint64_t unused;
};

/* A table's types, constants of the program: bits of a key (at most 128), words of a value, the
 * distance of values in words, a power of two, and the size of a part. */
struct wl_lpm_type {
    uint32_t width, words, stride, part_bits;
};

/* A table: its map and its first part. */
struct wl_lpm_table {
    const void *map;
    const uint8_t *first;
};

WL_INLINE uint32_t wl_lpm_direct_bits(const struct wl_lpm_type *type) { return type->width < 18 ? type->width : 18; }

/* Returns `size` bytes, a power of two, of a table; NULL if it has none there. */
WL_INLINE const void *wl_lpm_at(const struct wl_lpm_table *table, const struct wl_lpm_type *type, uint64_t at,
                                uint32_t size)
{
    const uint8_t *part = table->first;
    uint32_t number = (uint32_t)(at >> type->part_bits);
    if (number) {
        part = wl_map_find(table->map, &number);
        if (!part)
            return NULL;
    }
    WL_OPAQUE(at);
    return part + (at & ((UINT64_C(1) << type->part_bits) - size));
}

/* Copies the value of a number. */
WL_INLINE void wl_lpm_value(const struct wl_lpm_table *table, const struct wl_lpm_type *type, uint64_t values,
                            uint32_t number, uint64_t *out)
{
    uint32_t size = 8 * type->stride;
    const uint64_t *value = wl_lpm_at(table, type, values + (uint64_t)number * size, size);
    if (!value)
        return;
    WL_UNROLL for (uint32_t i = 0; i < type->words; i++)
        out[i] = value[i];
}

WL_INLINE uint32_t wl_lpm_levels(const struct wl_lpm_type *type)
{
    return (type->width - wl_lpm_direct_bits(type) + WL_LPM_STRIDE - 1) / WL_LPM_STRIDE;
}

/* Returns the number of the value for a key of 19 to 128 bits, aligned to their upper end, in a table of
 * blocks. */
WL_INLINE uint32_t wl_lpm_in_blocks(const struct wl_lpm_table *table, const struct wl_lpm_type *type, uint64_t blocks,
                                    uint64_t high, uint64_t low)
{
    uint32_t bits = wl_lpm_direct_bits(type), levels = wl_lpm_levels(type), size = type->width <= 32 ? 2 : 4;
    const uint32_t *direct = wl_lpm_at(table, type, WL_LPM_BEGIN + 4 * (high >> (64 - bits)), 4);
    if (!direct)
        return 0;
    uint32_t entry = *direct, named = WL_LPM_BLOCK;
    high = high << bits | low >> (64 - bits);
    low <<= bits;
    _Pragma("GCC unroll 1") for (uint32_t level = 0; level < levels; level++) {
        if (!(entry & named))
            return entry;
        uint64_t at = (uint64_t)(entry & ~named) << WL_LPM_STRIDE | high >> (64 - WL_LPM_STRIDE);
        const void *slot = wl_lpm_at(table, type, blocks + size * at, size);
        if (!slot)
            return 0;
        if (size == 2) {
            entry = *(const uint16_t *)slot;
            named = WL_LPM_DEEPER;
        } else {
            entry = *(const uint32_t *)slot;
        }
        high = high << WL_LPM_STRIDE | low >> (64 - WL_LPM_STRIDE);
        low <<= WL_LPM_STRIDE;
    }
    return entry & named ? 0 : entry;
}

/* Returns the number of the value for a key of at most 128 bits, aligned to their upper end, in a
 * table of nodes. */
WL_INLINE uint32_t wl_lpm_in_nodes(const struct wl_lpm_table *table, const struct wl_lpm_type *type,
                                   const struct wl_lpm_head *head, uint64_t high, uint64_t low)
{
    uint32_t bits = wl_lpm_direct_bits(type), levels = wl_lpm_levels(type);
    uint64_t nodes = head->nodes, leaves = head->leaves;
    const uint64_t *direct = wl_lpm_at(table, type, WL_LPM_BEGIN + 8 * (high >> (64 - bits)), 8);
    if (!direct)
        return 0;
    uint64_t entry = *direct;
    uint32_t best = (uint32_t)entry, number = (uint32_t)(entry >> 32);
    high = high << bits | low >> (64 - bits);
    low <<= bits;
    _Pragma("GCC unroll 1") for (uint32_t level = 0; level < levels; level++) {
        if (!number)
            break;
        uint64_t at = nodes + (uint64_t)number * sizeof(struct wl_lpm_node);
        const struct wl_lpm_node *node = wl_lpm_at(table, type, at, sizeof *node);
        if (!node)
            break;
        uint32_t slot = (uint32_t)(high >> (64 - WL_LPM_STRIDE));
        uint64_t bit = UINT64_C(1) << slot, below = bit - 1;
        uint32_t rank = wl_ones64(node->leaves & (below | bit));
        number = node->children & bit ? node->child_base + wl_ones64(node->children & below) : 0;
        if (rank) {
            uint64_t leaf = (uint64_t)node->leaf_base + rank - 1;
            const uint32_t *found = wl_lpm_at(table, type, leaves + 4 * leaf, 4);
            uint32_t value = found ? *found : 0;
            best = value ? value : best;
        }
        high = high << WL_LPM_STRIDE | low >> (64 - WL_LPM_STRIDE);
        low <<= WL_LPM_STRIDE;
    }
    return best;
}

/* Searches for a key, aligned to the upper end of two words, and copies its value. */
WL_INLINE void wl_lpm_search(const struct wl_map *map, uint64_t high, uint64_t low, const struct wl_lpm_type *type,
                             uint64_t *out)
{
    uint32_t zero = 0, number;
    WL_UNROLL for (uint32_t i = 0; i < type->words; i++)
        out[i] = 0;
    struct wl_lpm_table table = { wl_map_find(map, &zero), NULL };
    if (!table.map)
        return;
    table.first = wl_map_find(table.map, &zero);
    if (!table.first)
        return;
    const struct wl_lpm_head *head = (const struct wl_lpm_head *)table.first;
    if (type->width >= 19 && head->is_spread)
        number = wl_lpm_in_blocks(&table, type, head->blocks, high, low);
    else
        number = wl_lpm_in_nodes(&table, type, head, high, low);
    wl_lpm_value(&table, type, head->values, number, out);
}

#endif
