// Distributed objects: the run-time of the SIDL wrappers (docs/sidl.md), and servers.
#pragma once

#include "wl_platform.h"

// A call that a server has received.
struct wl_request {
    uint32_t method;
    uint32_t count;  // number of words
    const uint32_t *words;
    bool wants_reply;
};

static inline void wl_argument(unsigned place, uint32_t word) {
    WL_ARGUMENT_WORDS[place] = word;
}

// Calls a service with `count` words; `last` is the last one.
static inline void wl_launch(uint32_t service, uint32_t method, unsigned ticket, unsigned count, uint32_t last) {
    wl_call(WL_BROKER, service << 9 | (uint32_t)count << 4 | method, ticket, last);
}

// Returns a word of a reply that has arrived.
static inline uint32_t wl_result(unsigned ticket, unsigned place) {
    return WL_REPLY_WORDS[8 * ticket + place];
}

// Replies to a call.
static inline void wl_reply(const struct wl_request *request, const uint32_t *words, unsigned count) {
    if (!request->wants_reply) return;
    for (unsigned k = 0; k < count; k++) WL_ANSWER_WORDS[k] = words[k];
    wl_order();
    WL_REGISTER(0x20) = count;
    wl_order();
}

// Sets the service that this thread serves from now on, whenever it asks for a call.
static inline void wl_offer(uint32_t service) {
    WL_REGISTER(0x18) = service;
}

// Waits for a call of the offered service. The previous call must have its reply, if it needed one.
static inline struct wl_request wl_next(void) {
    uint32_t word = WL_REGISTER(0x1c);
    wl_order();
    return (struct wl_request){
        .method = word & 0xff,
        .count = word >> 8 & 0xff,
        .words = (const uint32_t *)WL_REQUEST_WORDS,
        .wants_reply = (word >> 16 & 1) != 0,
    };
}

// Serves a service for ever: `serve` is the function of its interface, such as Lookup_serve. A
// thread's function can end with it.
__attribute__((noreturn)) static inline uint32_t wl_serve(
    uint32_t service, bool (*serve)(void *object, const struct wl_request *request), void *object) {
    wl_offer(service);
    for (;;) {
        struct wl_request request = wl_next();
        serve(object, &request);
    }
}
