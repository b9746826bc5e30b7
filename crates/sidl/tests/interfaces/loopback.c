// A server of Lookup, as tests/suite/wrappers.rs has one in Rust, and a run-time that calls it.

#include "lookup.h"

static uint32_t learnt;

static const struct Route route = {.next_hop = 0x12345678, .kind = 9, .mac = {1, 2, 3, 4, 5, 0xf6}};

struct Route Lookup_on_search(void *object, uint32_t address) {
    (void)object;
    struct Route found = route;
    found.next_hop = address + learnt;
    return found;
}

bool Lookup_on_find(void *object, uint64_t key, struct Route *found, uint16_t hops[3]) {
    (void)object;
    *found = route;
    for (int k = 0; k < 3; k++) hops[k] = (uint16_t)(key >> (16 * k));
    return key > (uint64_t)1 << 40;
}

void Lookup_on_learn(void *object, uint32_t address, uint8_t length, const uint8_t mac[6], const struct Range ranges[2]) {
    (void)object;
    bool as_sent = address == 7 && length == 24 && mac[0] == 1 && mac[5] == 6;
    as_sent = as_sent && ranges[0].low == -1 && ranges[1].low == INT16_MIN && ranges[1].high == INT16_MAX;
    learnt += as_sent ? 1 : 1000;
}

void Lookup_on_clear(void *object) {
    (void)object;
    learnt = 0;
}

int64_t Lookup_on_balance(void *object, int8_t a, int32_t b, bool up) {
    (void)object;
    int64_t sum = (int64_t)a * b;
    return up ? sum : -sum;
}

void Output_on_send(void *object, uint32_t packet, uint16_t port, uint16_t length) {
    (void)object;
    (void)packet;
    (void)port;
    (void)length;
}

uint32_t last_request[18];  // method and words
unsigned last_count;
uint32_t last_reply[32];
unsigned last_reply_count;
bool was_served;

void wl_argument(unsigned place, uint32_t word) { last_request[1 + place] = word; }

void wl_launch(uint32_t service, uint32_t method, unsigned ticket, unsigned count, uint32_t last) {
    (void)ticket;
    if (count > 0) last_request[count] = last;
    last_request[0] = method;
    last_count = count;
    last_reply_count = 0;
    const struct wl_request request = {.method = method, .count = count, .words = last_request + 1};
    was_served = service == SERVICE_output ? Output_serve(0, &request) : Lookup_serve(0, &request);
}

uint32_t wl_wait(unsigned ticket) {
    (void)ticket;
    return last_reply[0];
}

uint32_t wl_result(unsigned ticket, unsigned place) {
    (void)ticket;
    return last_reply[place];
}

void wl_reply(const struct wl_request *request, const uint32_t *words, unsigned count) {
    (void)request;
    for (unsigned k = 0; k < count; k++) last_reply[k] = words[k];
    last_reply_count = count;
}
