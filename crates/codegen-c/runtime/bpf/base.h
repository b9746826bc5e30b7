/* Definitions for all headers of engines that the Linux kernel executes as BPF. The compiler is
 * gcc for BPF, which has no C library: what it would call there is written here. */
#ifndef WL_BASE_H
#define WL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of 65 to 128 bits. */
typedef unsigned __int128 wl_u128;

#define WL_INLINE static inline __attribute__((always_inline, unused))
#define WL_FUNCTION WL_INLINE
/* A function that the kernel's verifier checks once, alone: it may be called with any arguments,
 * and returns one value. */
#define WL_ALONE __attribute__((noinline, noipa))
/* A function that is part of its caller in a joined program, and else checked alone. */
#ifdef WL_JOINED
#define WL_PART WL_INLINE
#else
#define WL_PART WL_ALONE
#endif
#define WL_LIKELY(x) __builtin_expect(!!(x), 1)
#define WL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Functions of the kernel, by their numbers (linux/bpf.h). */
#define WL_HELPER(number) __attribute__((kernel_helper(number)))
struct xdp_md;
void *wl_map_find(const void *map, const void *key) WL_HELPER(1);
long wl_map_set(const void *map, const void *key, const void *value, uint64_t flags) WL_HELPER(2);
long wl_map_remove(const void *map, const void *key) WL_HELPER(3);
uint64_t wl_kernel_ns(void) WL_HELPER(5);
uint64_t wl_kernel_cpu(void) WL_HELPER(8);
long wl_csum_diff(const void *from, uint32_t from_size, const void *to, uint32_t to_size,
                  uint32_t seed) WL_HELPER(28);
long wl_adjust_head(struct xdp_md *ctx, int32_t delta) WL_HELPER(44);
long wl_redirect_map(const void *map, uint64_t key, uint64_t otherwise) WL_HELPER(51);
long wl_adjust_tail(struct xdp_md *ctx, int32_t delta) WL_HELPER(65);
long wl_lock(void *lock) WL_HELPER(93);
long wl_unlock(void *lock) WL_HELPER(94);
long wl_map_each(const void *map, void *body, void *argument, uint64_t flags) WL_HELPER(164);
long wl_loop(uint32_t turns, void *body, void *argument, uint64_t flags) WL_HELPER(181);
uint64_t wl_frame_length(struct xdp_md *ctx) WL_HELPER(188);
long wl_load_frame(struct xdp_md *ctx, uint32_t from, void *to, uint32_t count) WL_HELPER(189);
long wl_store_frame(struct xdp_md *ctx, uint32_t to, const void *from, uint32_t count) WL_HELPER(190);

/* Entering a key that must be new, and what the kernel says if it is not, or if the map is full
 * (errno.h: EEXIST, E2BIG). */
enum { WL_MAP_NEW = 1, WL_MAP_THERE = -17, WL_MAP_FULL = -7 };

/* Maps, which the loader puts in the place of their names. */
struct wl_map;
extern struct wl_map wl_map_threads; /* a thread for each processor */
extern struct wl_map wl_map_trial;   /* struct wl_trial */
extern struct wl_map wl_map_locks;   /* a lock for each offload */
extern struct wl_map wl_map_counts;  /* struct wl_counts of the ports, for each processor */
extern struct wl_map wl_map_verdicts; /* the same by verdict */
extern struct wl_map wl_map_buckets; /* struct wl_bucket by verdict: limits on what the kernel gets */
extern struct wl_map wl_map_scratch; /* memory of each processor */
extern struct wl_map wl_map_ports;   /* the interfaces of the ports */

/* The compiler must not reason about a value any more: what the source checks from here on, the
 * program checks too, where the verifier sees it. */
#define WL_OPAQUE(value) __asm__ volatile("" : "+r"(value))

/* Shifts a value to the left, as one of 128 bits, by less than that. If the compiler knows that it
 * puts a value beside itself, it multiplies by 2**count + 1, which is a call of a library. */
#define WL_LEFT128(value, count)                                                                                       \
    ({                                                                                                                 \
        __typeof__((value) + 0) shifted_ = (value);                                                                    \
        if (!__builtin_constant_p(shifted_))                                                                           \
            WL_OPAQUE(shifted_);                                                                                       \
        (wl_u128) shifted_ << (count);                                                                                 \
    })
#define WL_U128(high, low) (WL_LEFT128(high, 64) | (low))

/* Returns the index of an element that is there. The compiler drops masks and comparisons that its own
 * bounds make superfluous; the verifier does not know those bounds, and sees this mask. */
WL_INLINE uint64_t wl_index(uint64_t index, uint64_t mask)
{
    WL_OPAQUE(index);
    return index & mask;
}

/* Numbers at any address. */
typedef uint16_t __attribute__((may_alias)) wl_any16;
typedef uint32_t __attribute__((may_alias)) wl_any32;
typedef uint64_t __attribute__((may_alias)) wl_any64;

/* Numbers in network order. */
WL_INLINE uint64_t wl_swap64(uint64_t value)
{
    __asm__("endbe\t%0, 64" : "+r"(value));
    return value;
}
WL_INLINE uint32_t wl_swap32(uint32_t value)
{
    uint64_t wide = value;
    __asm__("endbe\t%0, 32" : "+r"(wide));
    return (uint32_t)wide;
}
WL_INLINE uint16_t wl_swap16(uint16_t value)
{
    uint64_t wide = value;
    __asm__("endbe\t%0, 16" : "+r"(wide));
    return (uint16_t)wide;
}

WL_INLINE uint32_t wl_ones64(uint64_t value)
{
    value -= value >> 1 & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + (value >> 2 & UINT64_C(0x3333333333333333));
    value = (value + (value >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(value * UINT64_C(0x0101010101010101) >> 56);
}

/* Words of wide values (../wide.h). Loops over them are unrolled, so that the words are registers
 * or have fixed places on the stack. */
typedef uint64_t wl_limb;
typedef wl_u128 wl_double_limb;
#define WL_LIMB_BITS 64
#define WL_DOUBLE_LIMB(high, low) WL_U128(high, low)
#define WL_WIDE_FUNCTION WL_FUNCTION
#define WL_WIDE_SELDOM WL_FUNCTION
#define WL_UNROLL _Pragma("GCC unroll 16")

#include "bits.h"
#include "counts.h"
#include "bounds.h"
#include "wide.h"

/* Functions of the compiler have at most five parameters. */
#define wl_wide_slice(out, n, a, an, lo, top)                                                                          \
    do {                                                                                                               \
        wl_wide_part(out, n, a, an, lo);                                                                               \
        (out)[(n)-1] &= (top);                                                                                         \
    } while (0)
WL_INLINE void wl_wide_part(uint64_t *out, uint32_t n, const uint64_t *a, uint32_t an, uint32_t lo)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = wl_wide_word(a, an, i, lo / 64, lo % 64);
}

#endif
