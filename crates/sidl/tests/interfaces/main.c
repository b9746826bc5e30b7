// Makes calls, checks their answers, prints their messages.

#include <stdio.h>

#include "lookup.h"

extern uint32_t last_request[], last_reply[];
extern unsigned last_count, last_reply_count;
extern bool was_served;

static int wrong;

static void told(bool is_right) {
    for (unsigned k = 0; k <= last_count; k++) printf("%x ", (unsigned)last_request[k]);
    printf(":");
    for (unsigned k = 0; k < last_reply_count; k++) printf(" %x", (unsigned)last_reply[k]);
    printf("\n");
    if (!is_right || !was_served) wrong = 1;
}

int main(void) {
    const uint8_t mac[6] = {1, 2, 3, 4, 5, 6};
    const struct Range ranges[2] = {{.low = -1, .high = 1}, {.low = INT16_MIN, .high = INT16_MAX}};
    Lookup_learn(SERVICE_sources, 7, 24, mac, ranges);
    told(true);

    Lookup_search_begin(SERVICE_sources, 3, 100);
    struct Route found = Lookup_search_end(3);
    told(found.next_hop == 101 && found.kind == 9 && found.mac[5] == 0xf6);

    uint16_t hops[3];
    bool is_known = Lookup_find(SERVICE_sources, 0x0123456789abcdef, &found, hops);
    told(is_known && found.next_hop == 0x12345678 && hops[0] == 0xcdef && hops[2] == 0x4567);

    told(Lookup_balance(SERVICE_sources, -128, INT32_MIN, true) == (int64_t)1 << 38);
    told(Lookup_balance(SERVICE_sources, 5, 7, false) == -35);
    Lookup_clear(SERVICE_sources);
    told(true);
    told(Lookup_search(SERVICE_sources, 100).next_hop == 100);

    // What is no request is refused.
    const uint32_t words[2] = {0, 0};
    struct wl_request request = {.method = 0, .count = 2, .words = words};
    if (Lookup_serve(0, &request)) wrong = 1;
    request.method = 9;
    if (Lookup_serve(0, &request)) wrong = 1;
    return wrong;
}
