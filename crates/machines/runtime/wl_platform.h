// What a thread of an application sees of an mpsoc machine (docs/machines/mpsoc-applications.md). The same numbers stand in crates/machines/src/mpsoc/mpe.rs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// The thread's own memory: what lies here no other thread sees. It has the stack, too.
#define WL_LOCAL UINT32_C(0x10000000)
#define WL_REGISTER(offset) (*(volatile uint32_t *)(UINT32_C(0x20000000) + (offset)))

// Words of a call that came; of the answer to it; of a call that goes, but for the last; and of the replies, eight for each ticket.
#define WL_REQUEST_WORDS ((volatile uint32_t *)WL_LOCAL)
#define WL_ANSWER_WORDS ((volatile uint32_t *)(WL_LOCAL + 0x80))
#define WL_ARGUMENT_WORDS ((volatile uint32_t *)(WL_LOCAL + 0x4c0))
#define WL_REPLY_WORDS ((volatile uint32_t *)(WL_LOCAL + 0x540))

// Of the platform's own objects.
enum { WL_CONSOLE = 0x7d, WL_BROKER = 0x7e, WL_THREAD_MANAGER = 0x7f };

// Calls with a reply have one of 16 tickets; what this header's neighbours call themselves has the last one.
enum { WL_ONE_WAY = 16, WL_OWN_TICKET = 15 };

// Keeps the compiler from moving accesses to memory over this place.
static inline void wl_order(void) {
    __asm__ volatile("" ::: "memory");
}

// Launches a call, whose words but the last are in their place.
static inline void wl_call(uint32_t object, uint32_t method, unsigned ticket, uint32_t last) {
    uint32_t way = ticket == WL_ONE_WAY ? 4u : (uint32_t)ticket << 4;
    wl_order();
    *(volatile uint32_t *)(UINT32_C(0x80000000) + (object << 24 | method << 8 | way)) = last;
    wl_order();
}

// Waits for a reply: its first word.
static inline uint32_t wl_wait(unsigned ticket) {
    uint32_t first = WL_REGISTER(0x100 + 4 * ticket);
    wl_order();
    return first;
}

// Cycles of the processors' clock since the machine began; the difference of two is good for 2^32 of them.
static inline uint32_t wl_cycles(void) {
    return WL_REGISTER(0x24);
}
