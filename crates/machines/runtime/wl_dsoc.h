// Distributed objects: what the wrappers of SIDL stand on (docs/sidl.md), and servers.
#pragma once

#include "wl_platform.h"

// A call that a server has got.
struct wl_request {
    uint32_t method;
    uint32_t count;  // of words
    const uint32_t *words;
    bool wants_reply;
};

static inline void wl_argument(unsigned place, uint32_t word) {
    WL_ARGUMENT_WORDS[place] = word;
}

// Calls a service with so many words, the last of which is given here.
static inline void wl_launch(uint32_t service, uint32_t method, unsigned ticket, unsigned count, uint32_t last) {
    wl_call(WL_BROKER, service << 9 | (uint32_t)count << 4 | method, ticket, last);
}

// A word of a reply that has come.
static inline uint32_t wl_result(unsigned ticket, unsigned place) {
    return WL_REPLY_WORDS[8 * ticket + place];
}

// Answers a call.
static inline void wl_reply(const struct wl_request *request, const uint32_t *words, unsigned count) {
    if (!request->wants_reply) return;
    for (unsigned k = 0; k < count; k++) WL_ANSWER_WORDS[k] = words[k];
    wl_order();
    WL_REGISTER(0x20) = count;
    wl_order();
}

// From now on this thread serves a service, whenever it asks for a call.
static inline void wl_offer(uint32_t service) {
    WL_REGISTER(0x18) = service;
}

// Waits for a call of the service that was offered. The one before must have been answered, if it wanted that.
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

// Serves a service for ever: `serve` is that of its interface, such as Lookup_serve. A thread's function can end with it.
__attribute__((noreturn)) static inline uint32_t wl_serve(
    uint32_t service, bool (*serve)(void *object, const struct wl_request *request), void *object) {
    wl_offer(service);
    for (;;) {
        struct wl_request request = wl_next();
        serve(object, &request);
    }
}
