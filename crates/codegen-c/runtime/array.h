/* The `array` kind. */
#ifndef WL_ARRAY_H
#define WL_ARRAY_H

#include "element.h"

/* A leaf of an array's value type: additions do not carry from one leaf into the next. */
struct wl_lane {
    uint16_t lo, width;
};

WL_INLINE void wl_array_read(const struct wl_slot *slot, uint32_t index, uint32_t n, uint64_t *reply)
{
    const uint64_t *element = wl_element(slot, index, n);
    for (uint32_t i = 0; i < n; i++)
        reply[i] = element ? element[i] : 0;
}

WL_INLINE void wl_array_write(const struct wl_slot *slot, uint32_t index, uint32_t n, const uint64_t *value)
{
    uint64_t *element = wl_element(slot, index, n);
    if (element)
        memcpy(element, value, n * sizeof *value);
}

WL_INLINE void wl_array_exchange(const struct wl_slot *slot, uint32_t index, uint32_t n, const uint64_t *value,
                                 uint64_t *reply)
{
    wl_array_read(slot, index, n, reply);
    wl_array_write(slot, index, n, value);
}

/* The reply is `swapped` and, below it, the old element: `width` + 1 bits in rn words. */
WL_INLINE void wl_array_compare_swap(const struct wl_slot *slot, uint32_t index, uint32_t n, const uint64_t *expected,
                                     const uint64_t *value, uint32_t width, uint64_t *reply, uint32_t rn)
{
    uint64_t *element = wl_element(slot, index, n);
    memset(reply, 0, rn * sizeof *reply);
    if (!element)
        return;
    memcpy(reply, element, n * sizeof *reply);
    if (wl_wide_eq(element, expected, n)) {
        reply[width / 64] |= UINT64_C(1) << (width % 64);
        memcpy(element, value, n * sizeof *value);
    }
}

/* Adds lane by lane; each lane wraps at its own width. */
WL_INLINE void wl_lanes_add(uint64_t *to, const uint64_t *delta, uint32_t n, const struct wl_lane *lanes,
                            uint32_t count)
{
    if (count == 1 && lanes[0].width <= 64) {
        to[0] = (to[0] + delta[0]) & (UINT64_MAX >> (64 - lanes[0].width));
        return;
    }
#pragma GCC unroll 8
    for (uint32_t lane = 0; lane < count; lane++) {
        uint32_t lo = lanes[lane].lo, left = lanes[lane].width;
        uint64_t carry = 0;
        if (lo / 64 == (lo + left - 1) / 64) {
            uint64_t mask = UINT64_MAX >> (64 - left) << (lo % 64), before = to[lo / 64];
            to[lo / 64] = (before & ~mask) | ((before + (delta[lo / 64] & mask)) & mask);
            continue;
        }
        for (; left; lo += 64) {
            uint32_t part = left < 64 ? left : 64;
            uint64_t mask = UINT64_MAX >> (64 - part);
            wl_u128 sum = (wl_u128)((uint64_t)wl_wide_scalar(to, n, lo) & mask) +
                          ((uint64_t)wl_wide_scalar(delta, n, lo) & mask) + carry;
            uint64_t low = (uint64_t)sum & mask;
            carry = (uint64_t)(sum >> 64);
            to[lo / 64] = (to[lo / 64] & ~(mask << (lo % 64))) | low << (lo % 64);
            if (lo % 64 + part > 64)
                to[lo / 64 + 1] = (to[lo / 64 + 1] & ~(mask >> (64 - lo % 64))) | low >> (64 - lo % 64);
            left -= part;
        }
    }
}

WL_INLINE void wl_array_add(const struct wl_slot *slot, uint32_t index, uint32_t n, const uint64_t *delta,
                            const struct wl_lane *lanes, uint32_t count)
{
    uint64_t *element = wl_element(slot, index, n);
    if (element)
        wl_lanes_add(element, delta, n, lanes, count);
}

WL_INLINE void wl_array_fetch_add(const struct wl_slot *slot, uint32_t index, uint32_t n, const uint64_t *delta,
                                  const struct wl_lane *lanes, uint32_t count, uint64_t *reply)
{
    wl_array_read(slot, index, n, reply);
    wl_array_add(slot, index, n, delta, lanes, count);
}

#endif
