/* Memory with the lifetime of a batch, for emitted packets and changed payloads. It grows when a
 * batch needs more than any batch before, and is kept, so that packets soon need no further
 * allocation. */
#ifndef WL_ARENA_H
#define WL_ARENA_H

#include "base.h"

enum { WL_CHUNK = 1 << 20 };

struct wl_chunk {
    struct wl_chunk *next;
    size_t room;
    _Alignas(64) uint8_t bytes[];
};

struct wl_arena {
    struct wl_chunk *first, *current;
    size_t used; /* bytes used in the current chunk */
};

WL_COLD uint8_t *wl_arena_grow(struct wl_arena *arena, size_t size)
{
    /* Chunks after the current one are from earlier batches and free; a large request may have
     * to skip small ones. */
    struct wl_chunk **link = arena->current ? &arena->current->next : &arena->first;
    while (*link && (*link)->room < size)
        link = &(*link)->next;
    if (!*link) {
        size_t room = size > WL_CHUNK ? size : (size_t)WL_CHUNK;
        struct wl_chunk *chunk = aligned_alloc(64, (sizeof *chunk + room + 63) / 64 * 64);
        if (!chunk)
            abort();
        chunk->next = NULL;
        chunk->room = room;
        *link = chunk;
    }
    arena->current = *link;
    arena->used = size;
    return arena->current->bytes;
}

/* Returns `size` bytes, aligned to a cache line. Never fails: the process ends if there is no
 * memory. */
WL_INLINE uint8_t *wl_arena_take(struct wl_arena *arena, size_t size)
{
    uint8_t *out;
    size = (size + 63) & ~(size_t)63;
    if (WL_LIKELY(arena->current && arena->current->room - arena->used >= size)) {
        out = arena->current->bytes + arena->used;
        arena->used += size;
    } else {
        out = wl_arena_grow(arena, size);
    }
    if (WL_IS_POISONED)
        memset(out, WL_PATTERN, size);
    return out;
}

/* Frees everything that was taken. */
WL_INLINE void wl_arena_reset(struct wl_arena *arena)
{
    arena->current = arena->first;
    arena->used = 0;
}

WL_FUNCTION void wl_arena_close(struct wl_arena *arena)
{
    for (struct wl_chunk *chunk = arena->first, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    memset(arena, 0, sizeof *arena);
}

#endif
