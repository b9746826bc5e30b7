/* The `meter` kind: the markers of RFC 2697 and RFC 2698 over the host's buckets. */
#ifndef WL_METER_H
#define WL_METER_H

#include "slot.h"

/* Bytes a second, and bytes. */
struct wl_meter_rates {
    uint64_t cir, cbs, ebs, pir, pbs;
};

/* A meter: tokens missing from bucket C, and from bucket E or P; the time of the last packet; the
 * number of its rates. */
struct wl_meter {
    uint64_t committed, other, last_ns, rates;
};

struct wl_meters {
    struct wl_meter *meters;
    const struct wl_meter_rates *rates; /* the declared ones first */
};

enum { WL_GREEN, WL_YELLOW, WL_RED };

WL_INLINE void wl_meter_prefetch(const struct wl_slot *slot, uint32_t index)
{
    const struct wl_meters *table = slot->data;
    /* The index may be out of range, so the address is computed as a number. */
    WL_PREFETCH((const void *)((uintptr_t)table->meters + (uintptr_t)index * sizeof(struct wl_meter)));
}

/* Returns the tokens that a rate of at most 2^40 adds from time 0 on: rate * time / 10^9, without
 * a division of 128 bits. */
WL_INLINE wl_u128 wl_meter_fallen(uint64_t rate, uint64_t ns)
{
    const uint64_t second = 1000000000;
    uint64_t whole = ns / second, rest = ns % second;
    return (wl_u128)rate * whole + (rate / second * rest + rate % second * rest / second);
}

/* Returns the tokens that a rate adds between two times. */
WL_INLINE uint64_t wl_meter_tokens(uint64_t rate, uint64_t from_ns, uint64_t to_ns)
{
    wl_u128 fallen = wl_meter_fallen(rate, to_ns) - wl_meter_fallen(rate, from_ns);
    return fallen >> 64 ? UINT64_MAX : (uint64_t)fallen;
}

WL_INLINE uint64_t wl_meter_fill(uint64_t missing, uint64_t tokens) { return missing > tokens ? missing - tokens : 0; }

/* RFC 2697, section 3: tokens are added to C; when that is full, to E. */
WL_INLINE uint8_t wl_meter_single_rate(struct wl_meter *meter, const struct wl_meter_rates *rates, uint64_t to_ns,
                                       uint64_t bytes, uint32_t color)
{
    uint64_t tokens = wl_meter_tokens(rates->cir, meter->last_ns, to_ns);
    uint64_t into_committed = tokens < meter->committed ? tokens : meter->committed;
    meter->committed -= into_committed;
    meter->other = wl_meter_fill(meter->other, tokens - into_committed);
    if (color == WL_GREEN && rates->cbs - meter->committed >= bytes) {
        meter->committed += bytes;
        return WL_GREEN;
    }
    if (color != WL_RED && rates->ebs - meter->other >= bytes) {
        meter->other += bytes;
        return WL_YELLOW;
    }
    return WL_RED;
}

/* RFC 2698, section 3: each bucket has its own rate, and a green packet takes tokens from both. */
WL_INLINE uint8_t wl_meter_two_rates(struct wl_meter *meter, const struct wl_meter_rates *rates, uint64_t to_ns,
                                     uint64_t bytes, uint32_t color)
{
    meter->committed = wl_meter_fill(meter->committed, wl_meter_tokens(rates->cir, meter->last_ns, to_ns));
    meter->other = wl_meter_fill(meter->other, wl_meter_tokens(rates->pir, meter->last_ns, to_ns));
    if (color == WL_RED || rates->pbs - meter->other < bytes)
        return WL_RED;
    meter->other += bytes;
    if (color == WL_YELLOW || rates->cbs - meter->committed < bytes)
        return WL_YELLOW;
    meter->committed += bytes;
    return WL_GREEN;
}

/* Marks a packet that came with a colour. Returns its new colour. */
WL_INLINE uint8_t wl_meter_color(const struct wl_slot *slot, bool has_two_rates, uint32_t index, uint32_t bytes,
                                 uint32_t color, uint64_t now_ns)
{
    if (index >= slot->elements)
        return WL_RED;
    const struct wl_meters *table = slot->data;
    struct wl_meter *meter = &table->meters[index];
    const struct wl_meter_rates *rates = &table->rates[meter->rates];
    uint64_t to_ns = now_ns > meter->last_ns ? now_ns : meter->last_ns;
    color = color > WL_RED ? WL_RED : color;
    uint8_t marked = has_two_rates ? wl_meter_two_rates(meter, rates, to_ns, bytes, color)
                                   : wl_meter_single_rate(meter, rates, to_ns, bytes, color);
    meter->last_ns = to_ns;
    return marked;
}

#endif
