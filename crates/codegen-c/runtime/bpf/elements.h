/* The `array` and `counter` kinds, whose elements are those of array maps. The process reads and
 * writes the same memory of those that packets change. */
#ifndef WL_ELEMENTS_H
#define WL_ELEMENTS_H

#include "packet.h"

/* A leaf of an array's value type: additions do not carry from one leaf into the next. */
struct wl_lane {
    uint16_t lo, width;
};

/* An array: its map and lock, words and bits of an element, and its lanes. All but the map are
 * constants of the program. */
struct wl_array {
    const struct wl_map *map;
    uint32_t offload, words, width, lane_count;
    const struct wl_lane *lanes;
};

/* Operations on the elements of an array exclude each other, on whatever processor. */
WL_INLINE void *wl_lock_at(uint32_t offload) { return wl_map_find(&wl_map_locks, &offload); }
WL_INLINE void *wl_lock_of(const struct wl_array *array) { return wl_lock_at(array->offload); }

WL_INLINE uint64_t *wl_element(const struct wl_array *array, uint32_t index) { return wl_map_find(array->map, &index); }

WL_INLINE void wl_copy(uint64_t *to, const uint64_t *from, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        to[i] = from[i];
}

/* A word is read as a whole in any case. */
WL_INLINE void wl_array_read(const struct wl_array *array, uint32_t index, uint64_t *reply)
{
    wl_wide_zero(reply, array->words);
    void *lock = array->words > 1 ? wl_lock_of(array) : NULL;
    const uint64_t *element = wl_element(array, index);
    if (!element)
        return;
    if (array->words == 1) {
        reply[0] = element[0];
    } else if (lock) {
        wl_lock(lock);
        wl_copy(reply, element, array->words);
        wl_unlock(lock);
    }
}

WL_INLINE void wl_array_exchange(const struct wl_array *array, uint32_t index, const uint64_t *value, uint64_t *reply)
{
    wl_wide_zero(reply, array->words);
    void *lock = wl_lock_of(array);
    uint64_t *element = wl_element(array, index);
    if (!element || !lock)
        return;
    wl_lock(lock);
    wl_copy(reply, element, array->words);
    wl_copy(element, value, array->words);
    wl_unlock(lock);
}

WL_INLINE void wl_array_write(const struct wl_array *array, uint32_t index, const uint64_t *value)
{
    void *lock = wl_lock_of(array);
    uint64_t *element = wl_element(array, index);
    if (!element || !lock)
        return;
    wl_lock(lock);
    wl_copy(element, value, array->words);
    wl_unlock(lock);
}

/* The reply is `swapped` and, below it, the old element: a bit more than an element has. */
WL_INLINE void wl_array_compare_swap(const struct wl_array *array, uint32_t index, const uint64_t *expected,
                                     const uint64_t *value, uint64_t *reply)
{
    uint32_t n = array->words, width = array->width;
    wl_wide_zero(reply, width / 64 + 1);
    void *lock = wl_lock_of(array);
    uint64_t *element = wl_element(array, index);
    if (!element || !lock)
        return;
    wl_lock(lock);
    wl_copy(reply, element, n);
    bool same = wl_wide_eq(element, expected, n);
    if (same)
        wl_copy(element, value, n);
    wl_unlock(lock);
    if (same)
        reply[width / 64] |= UINT64_C(1) << (width % 64);
}

/* Reads an element that packets only read. The process does not change it, but puts another array in
 * the place of the whole: so it is one of before or one of after. */
WL_INLINE void wl_read_only(const struct wl_map *map, uint32_t words, uint32_t index, uint64_t *reply)
{
    uint32_t zero = 0;
    wl_wide_zero(reply, words);
    const void *array = wl_map_find(map, &zero);
    const uint64_t *element = array ? wl_map_find(array, &index) : NULL;
    if (element)
        wl_copy(reply, element, words);
}

/* Adds lane by lane; each lane wraps at its own width, and lies in one word. */
WL_INLINE void wl_lanes_add(uint64_t *to, const uint64_t *delta, const struct wl_lane *lanes, uint32_t count)
{
    WL_UNROLL for (uint32_t lane = 0; lane < count; lane++) {
        uint32_t lo = lanes[lane].lo, width = lanes[lane].width;
        uint64_t mask = UINT64_MAX >> (64 - width) << (lo % 64), before = to[lo / 64];
        to[lo / 64] = (before & ~mask) | ((before + (delta[lo / 64] & mask)) & mask);
    }
}

WL_INLINE void wl_array_fetch_add(const struct wl_array *array, uint32_t index, const uint64_t *delta, uint64_t *reply)
{
    wl_wide_zero(reply, array->words);
    void *lock = wl_lock_of(array);
    uint64_t *element = wl_element(array, index);
    if (!element || !lock)
        return;
    wl_lock(lock);
    wl_copy(reply, element, array->words);
    wl_lanes_add(element, delta, array->lanes, array->lane_count);
    wl_unlock(lock);
}

WL_INLINE void wl_array_add(const struct wl_array *array, uint32_t index, const uint64_t *delta)
{
    uint64_t before[16];
    wl_array_fetch_add(array, index, delta, before);
}

/* Counts in a table that processors share. */
WL_INLINE void wl_count(const struct wl_map *map, uint32_t index, uint32_t bytes)
{
    uint64_t *cell = wl_map_find(map, &index);
    if (!cell)
        return;
    __sync_fetch_and_add(&cell[0], 1);
    __sync_fetch_and_add(&cell[1], bytes);
}

/* Counts in a table of `size` elements for each processor, one after the other. */
WL_INLINE void wl_count_own(const struct wl_map *map, uint32_t size, uint32_t index, uint32_t bytes)
{
    if (index >= size)
        return;
    uint32_t at = (uint32_t)wl_kernel_cpu() * size + index;
    uint64_t *cell = wl_map_find(map, &at);
    if (!cell)
        return;
    cell[0] += 1;
    cell[1] += bytes;
}

#endif
