/* The Wireloom runtime of one hardware thread of a processor of 32 bits: it takes a packet, runs
 * the engine's steps, sends the packet back, and repeats this forever. C11 with GNU extensions,
 * for gcc; ARMv4 (A32) and RV32IM, little-endian, without a library.
 *
 * docs/machines/mpsoc-programs.md describes the address map. The same numbers are in
 * crates/mpsoc/src/mpe.rs. */
#ifndef WL_THREAD_H
#define WL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WL_INLINE static inline __attribute__((always_inline, unused))
#define WL_FUNCTION static __attribute__((unused))
/* For functions that are seldom called: it keeps them away from other code, and their needs out
 * of the caller's registers. */
#define WL_COLD static __attribute__((unused, noinline, cold))
#define WL_LIKELY(x) __builtin_expect(!!(x), 1)
#define WL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A word of a wide value, a type for two words, and the declaration of functions on wide values
 * (wide.h). */
typedef uint32_t wl_limb;
typedef uint64_t wl_double_limb;
#define WL_LIMB_BITS 32
#define WL_DOUBLE_LIMB(high, low) ((wl_double_limb)(high) << 32 | (low))
#define WL_WIDE_FUNCTION WL_INLINE
#define WL_WIDE_SELDOM WL_COLD
#define WL_UNROLL _Pragma("GCC unroll 8")

#include "bits.h"
#include "counts.h"
#include "bounds.h"
#include "copies.h"
#include "wide.h"
#include "messages.h"
#include "packet.h"
#include "start.h"

/* Defines a symbol at the begin of a step, so that a profile can distinguish steps. The compiler
 * may make several of one. */
#define WL_STEP(name) __asm__ volatile("step." name ".%=:\n\t.type step." name ".%=, %%function" :)

#endif
