// The programming interface of an application's thread on an mpsoc machine
// (docs/machines/mpsoc-applications.md). crates/mpsoc/src/mpe.rs has the same numbers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// The thread's local memory: no other thread sees it. It also holds the stack.
#define WL_LOCAL UINT32_C(0x10000000)
#define WL_REGISTER(offset) (*(volatile uint32_t *)(UINT32_C(0x20000000) + (offset)))

// The words of a received call; of the reply to it; of an outgoing call, except the last; and of
// the replies, eight for each ticket.
#define WL_REQUEST_WORDS ((volatile uint32_t *)WL_LOCAL)
#define WL_ANSWER_WORDS ((volatile uint32_t *)(WL_LOCAL + 0x80))
#define WL_ARGUMENT_WORDS ((volatile uint32_t *)(WL_LOCAL + 0x4b0))
#define WL_REPLY_WORDS ((volatile uint32_t *)(WL_LOCAL + 0x540))

// The platform's own objects.
enum { WL_CONSOLE = 0x7d, WL_BROKER = 0x7e, WL_THREAD_MANAGER = 0x7f };

// Calls with a reply have one of 16 tickets; the calls of the runtime headers use the last one.
enum { WL_ONE_WAY = 16, WL_OWN_TICKET = 15 };

// Keeps the compiler from moving memory accesses across this place.
static inline void wl_order(void) {
    __asm__ volatile("" ::: "memory");
}

// Launches a call, whose words except the last are in their place.
static inline void wl_call(uint32_t object, uint32_t method, unsigned ticket, uint32_t last) {
    uint32_t way = ticket == WL_ONE_WAY ? 4u : (uint32_t)ticket << 4;
    wl_order();
    *(volatile uint32_t *)(UINT32_C(0x80000000) + (object << 24 | method << 8 | way)) = last;
    wl_order();
}

// Waits for a reply; returns its first word.
static inline uint32_t wl_wait(unsigned ticket) {
    uint32_t first = WL_REGISTER(0x100 + 4 * ticket);
    wl_order();
    return first;
}

// Returns the cycles of the processors' clock since the start of the machine; differences are exact
// up to 2^32.
static inline uint32_t wl_cycles(void) {
    return WL_REGISTER(0x24);
}
