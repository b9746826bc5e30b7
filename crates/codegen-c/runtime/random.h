/* The `random` kind: numbers from a seed, the packet's number and a stream. */
#ifndef WL_RANDOM_H
#define WL_RANDOM_H

#include "slot.h"

/* Returns output `index` of the SplitMix64 generator with seed `seed` (Steele, Lea, Flood,
 * OOPSLA 2014). */
WL_INLINE uint64_t wl_splitmix64(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15) * (index + 1);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

WL_INLINE uint32_t wl_random(uint64_t seed, const struct wl_env *env, uint32_t stream)
{
    return (uint32_t)(wl_splitmix64(wl_splitmix64(seed, env->sequence), stream) >> 32);
}

#endif
