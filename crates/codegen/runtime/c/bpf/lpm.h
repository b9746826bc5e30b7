/* The `lpm` kind over tables in maps of the kernel. The process writes a whole table as rows of
 * WL_ROW bytes in an array map and then puts it in the place of the one before, so that a search
 * sees one table from its beginning to its end. The contents of the rows are those of Wireloom's
 * crate `offloads`, module `lpm`: a direct table, then blocks, or nodes with leaves; and values. */
#ifndef WL_LPM_H
#define WL_LPM_H

#include "packet.h"

enum {
    WL_ROW = 128,
    WL_LPM_STRIDE = 6,
    WL_LPM_DEEPER = 1 << 15,
    WL_LPM_BLOCK_LEVELS = 3, /* keys of blocks have at most 32 bits, 18 of them in the direct table */
};
#define WL_LPM_BLOCK (UINT32_C(1) << 31)

/* Row 0: the numbers of the rows at which the parts begin. Row 1 is the first of the direct table. */
struct wl_lpm_head {
    uint32_t is_spread; /* whether the table consists of blocks */
    uint32_t blocks, nodes, leaves, values;
};

struct wl_lpm_node {
    uint64_t children, leaves; /* bitmaps of slots */
    uint32_t child_base, leaf_base;
    uint64_t unused;
};

/* A table's types, constants of the program: bits of a key (at most 128), words of a value, and the
 * distance of values in words, a power of two. */
struct wl_lpm_type {
    uint32_t width, words, stride;
};

WL_INLINE uint32_t wl_lpm_direct_bits(const struct wl_lpm_type *type) { return type->width < 18 ? type->width : 18; }

WL_INLINE const void *wl_lpm_row(const void *table, uint32_t row) { return wl_map_find(table, &row); }

/* Copies the value of a number. */
WL_INLINE void wl_lpm_value(const void *table, uint32_t values, uint32_t number, const struct wl_lpm_type *type,
                            uint64_t *out)
{
    uint32_t per_row = WL_ROW / 8 / type->stride;
    const uint64_t *row = wl_lpm_row(table, values + number / per_row);
    if (!row)
        return;
    uint64_t first = number % per_row * type->stride;
    WL_OPAQUE(first);
    row += first & (WL_ROW / 8 - type->stride);
    WL_UNROLL for (uint32_t i = 0; i < type->words; i++)
        out[i] = row[i];
}

/* Returns the number of the value for a key of at most 32 bits, aligned to their upper end, in a
 * table of blocks. */
WL_INLINE uint32_t wl_lpm_in_blocks(const void *table, uint32_t blocks, uint32_t key, uint32_t bits)
{
    uint32_t index = key >> (32 - bits);
    const uint32_t *direct = wl_lpm_row(table, 1 + index / (WL_ROW / 4));
    if (!direct)
        return 0;
    uint32_t entry = direct[index % (WL_ROW / 4)];
    if (!(entry & WL_LPM_BLOCK))
        return entry;
    entry &= ~WL_LPM_BLOCK;
    key <<= bits;
    for (uint32_t level = 0; level < WL_LPM_BLOCK_LEVELS; level++) {
        const uint16_t *block = wl_lpm_row(table, blocks + entry);
        if (!block)
            return 0;
        entry = block[key >> (32 - WL_LPM_STRIDE)];
        if (!(entry & WL_LPM_DEEPER))
            return entry;
        entry &= ~(uint32_t)WL_LPM_DEEPER;
        key <<= WL_LPM_STRIDE;
    }
    return 0;
}

/* Returns the number of the value for a key of at most 128 bits, aligned to their upper end, in a
 * table of nodes. */
WL_INLINE uint32_t wl_lpm_in_nodes(const void *table, const struct wl_lpm_head *head, uint64_t high, uint64_t low,
                                   const struct wl_lpm_type *type)
{
    uint32_t bits = wl_lpm_direct_bits(type), levels = (type->width - bits + WL_LPM_STRIDE - 1) / WL_LPM_STRIDE;
    uint32_t nodes = head->nodes, leaves = head->leaves;
    uint32_t index = (uint32_t)(high >> (64 - bits));
    const uint64_t *direct = wl_lpm_row(table, 1 + index / (WL_ROW / 8));
    if (!direct)
        return 0;
    uint64_t entry = direct[index % (WL_ROW / 8)];
    uint32_t best = (uint32_t)entry, number = (uint32_t)(entry >> 32);
    high = high << bits | low >> (64 - bits);
    low <<= bits;
    _Pragma("GCC unroll 1") for (uint32_t level = 0; level < levels; level++) {
        if (!number)
            break;
        const struct wl_lpm_node *node = wl_lpm_row(table, nodes + number / (WL_ROW / sizeof *node));
        if (!node)
            break;
        node += number % (WL_ROW / sizeof *node);
        uint32_t slot = (uint32_t)(high >> (64 - WL_LPM_STRIDE));
        uint64_t bit = UINT64_C(1) << slot, below = bit - 1;
        uint32_t rank = wl_ones64(node->leaves & (below | bit));
        number = node->children & bit ? node->child_base + wl_ones64(node->children & below) : 0;
        if (rank) {
            uint32_t leaf = node->leaf_base + rank - 1;
            const uint32_t *row = wl_lpm_row(table, leaves + leaf / (WL_ROW / 4));
            uint32_t value = row ? row[leaf % (WL_ROW / 4)] : 0;
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
    const void *table = wl_map_find(map, &zero);
    if (!table)
        return;
    const struct wl_lpm_head *head = wl_lpm_row(table, 0);
    if (!head)
        return;
    uint32_t values = head->values;
    if (type->width >= 19 && type->width <= 32 && head->is_spread)
        number = wl_lpm_in_blocks(table, head->blocks, (uint32_t)(high >> 32), wl_lpm_direct_bits(type));
    else
        number = wl_lpm_in_nodes(table, head, high, low, type);
    wl_lpm_value(table, values, number, type, out);
}

#endif
