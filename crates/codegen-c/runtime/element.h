/* Elements of the kinds whose state is in the memory of the host's instances: the control plane
 * sees all changes that are made here. */
#ifndef WL_ELEMENT_H
#define WL_ELEMENT_H

#include "slot.h"

/* Returns the n words of an element; NULL if the index is out of range. */
WL_INLINE uint64_t *wl_element(const struct wl_slot *slot, uint32_t index, uint32_t n)
{
    if (WL_UNLIKELY(index >= slot->elements))
        return NULL;
    uint64_t *element = (uint64_t *)slot->data + (size_t)index * n;
    /* So that a compiler does not test it again. */
    if (!element)
        __builtin_unreachable();
    return element;
}

/* Prefetches an element. The index may be out of range, so the address is computed as a number
 * and not as a pointer. */
WL_INLINE void wl_element_prefetch(const struct wl_slot *slot, uint32_t index, uint32_t n)
{
    WL_PREFETCH((const void *)((uintptr_t)slot->data + (uintptr_t)index * n * sizeof(uint64_t)));
}

#endif
