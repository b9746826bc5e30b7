/* The Wireloom runtime of one hardware thread of a processor of 32 bits: it takes a packet, runs the engine's steps, sends
 * it back, for ever. C11 with GNU extensions, for gcc; ARMv4 (A32) and RV32IM, little-endian, without a library.
 *
 * docs/machines/mpsoc-programs.md describes the address map. The same numbers stand in crates/machines/src/mpsoc/mpe.rs. */
#ifndef WL_THREAD_H
#define WL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WL_INLINE static inline __attribute__((always_inline, unused))
#define WL_FUNCTION static __attribute__((unused))
/* What is called seldom: kept out of the way, and of the caller's registers. */
#define WL_COLD static __attribute__((unused, noinline, cold))
#define WL_LIKELY(x) __builtin_expect(!!(x), 1)
#define WL_UNLIKELY(x) __builtin_expect(!!(x), 0)

#include "bits.h"
#include "wide.h"
#include "messages.h"
#include "packet.h"
#include "start.h"

/* A symbol where a step begins, so that a profile can tell steps apart. The compiler may make several of one. */
#define WL_STEP(name) __asm__ volatile("step." name ".%=:\n\t.type step." name ".%=, %%function" :)

enum { WL_MAX_BACKWARD_JUMPS = 65535 };

#endif
