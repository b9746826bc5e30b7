// The run-time's side of the wrappers, for the tests: calls reach a server in the same program at once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WL_ONE_WAY 16u

struct wl_request {
    uint32_t method;
    uint32_t count;  // of words
    const uint32_t *words;
};

void wl_argument(unsigned place, uint32_t word);
void wl_launch(uint32_t service, uint32_t method, unsigned ticket, unsigned count, uint32_t last);
uint32_t wl_wait(unsigned ticket);
uint32_t wl_result(unsigned ticket, unsigned place);
void wl_reply(const struct wl_request *request, const uint32_t *words, unsigned count);
