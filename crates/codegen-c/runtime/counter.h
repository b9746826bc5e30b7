/* The `counter` kind: an element consists of the number of packets and the number of bytes. */
#ifndef WL_COUNTER_H
#define WL_COUNTER_H

#include "element.h"

WL_INLINE void wl_count(const struct wl_slot *slot, uint32_t index, uint32_t bytes)
{
    uint64_t *cell = wl_element(slot, index, 2);
    if (cell) {
        cell[0] += 1;
        cell[1] += bytes;
    }
}

#endif
