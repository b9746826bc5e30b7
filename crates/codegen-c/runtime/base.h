/* Definitions for all headers of the Wireloom runtime. C11 with the GNU extensions that gcc and
 * clang share. */
#ifndef WL_BASE_H
#define WL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the Wireloom runtime is written for little-endian processors"
#endif

/* Values of 65 to 128 bits. */
typedef unsigned __int128 wl_u128;

#ifdef __OPTIMIZE__
#define WL_INLINE static inline __attribute__((always_inline, unused))
#else
/* Programs that are compiled without optimisation are long, and compilers take more than linear
 * time for thousands of copies in one function. */
#define WL_INLINE static inline __attribute__((unused))
#endif
#ifdef WL_PROFILE
/* Each step is a function of its own, whose cost a profiler can tell from that of the others. */
#define WL_FUNCTION static __attribute__((unused, noinline))
#else
#define WL_FUNCTION static __attribute__((unused))
#endif
#define WL_COLD static __attribute__((unused, noinline, cold))
/* Tests define WL_POISON: memory that nothing has written for the current packet holds WL_PATTERN, and
 * a packet that is written outside its place ends as a runaway. */
#ifdef WL_POISON
enum { WL_IS_POISONED = 1, WL_FENCE = 64 };
#else
enum { WL_IS_POISONED = 0, WL_FENCE = 0 };
#endif
enum { WL_PATTERN = 0xa5 };
#define WL_LIKELY(x) __builtin_expect(!!(x), 1)
#define WL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WL_PREFETCH(address) __builtin_prefetch(address)

/* Shifts a value to the left, as one of 128 bits, by less than that. */
#define WL_LEFT128(value, count) ((wl_u128)(value) << (count))
/* Makes a value of 128 bits from its two halves. */
#define WL_U128(high, low) (WL_LEFT128(high, 64) | (low))

/* A word of a wide value, a type for two words, and the declaration of functions on wide values
 * (wide.h). */
typedef uint64_t wl_limb;
typedef wl_u128 wl_double_limb;
#define WL_LIMB_BITS 64
#define WL_DOUBLE_LIMB(high, low) WL_U128(high, low)
#ifdef WL_WIDE_CALLS
/* The program has so many operations on wide values that compilers take long for copies of these
 * functions. */
#define WL_WIDE_FUNCTION WL_FUNCTION __attribute__((noinline))
#else
#define WL_WIDE_FUNCTION WL_FUNCTION
#endif
#define WL_WIDE_SELDOM WL_FUNCTION __attribute__((noinline))
#define WL_UNROLL

#include "bits.h"
#include "counts.h"
#include "bounds.h"
#include "wide.h"

#endif
