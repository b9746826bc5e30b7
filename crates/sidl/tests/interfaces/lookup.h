// Interfaces of lookup.sidl, written by Wireloom (docs/sidl.md).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wl_dsoc.h"

enum {
    SERVICE_destinations = 0,  // Lookup
    SERVICE_sources = 1,  // Lookup
    SERVICE_output = 2,  // Output
};

struct Route {
    uint32_t next_hop;
    uint8_t kind;
    uint8_t mac[6];
};

struct Range {
    int16_t low;
    int16_t high;
};

// ---- Lookup: for clients ----

// Begins a call; the ticket identifies its reply. The arguments may be changed at once.
static inline void Lookup_search_begin(uint32_t service, unsigned ticket, uint32_t address) {
    wl_launch(service, 0, ticket, 1, (uint32_t)address);
}

// Waits for the reply.
static inline struct Route Lookup_search_end(unsigned ticket) {
    uint32_t words[4];
    words[0] = wl_wait(ticket);
    words[1] = wl_result(ticket, 1);
    words[2] = wl_result(ticket, 2);
    words[3] = wl_result(ticket, 3);
    struct Route result;
    result.next_hop = (uint32_t)words[0];
    result.kind = (uint8_t)words[1];
    result.mac[0] = (uint8_t)words[2];
    result.mac[1] = (uint8_t)(words[2] >> 8);
    result.mac[2] = (uint8_t)(words[2] >> 16);
    result.mac[3] = (uint8_t)(words[2] >> 24);
    result.mac[4] = (uint8_t)words[3];
    result.mac[5] = (uint8_t)(words[3] >> 8);
    return result;
}

static inline struct Route Lookup_search(uint32_t service, uint32_t address) {
    Lookup_search_begin(service, 0, address);
    return Lookup_search_end(0);
}

// Begins a call; the ticket identifies its reply. The arguments may be changed at once.
static inline void Lookup_find_begin(uint32_t service, unsigned ticket, uint64_t key) {
    wl_argument(0, (uint32_t)key);
    wl_launch(service, 1, ticket, 2, (uint32_t)((uint64_t)key >> 32));
}

// Waits for the reply.
static inline bool Lookup_find_end(unsigned ticket, struct Route *route, uint16_t hops[3]) {
    uint32_t words[7];
    words[0] = wl_wait(ticket);
    words[1] = wl_result(ticket, 1);
    words[2] = wl_result(ticket, 2);
    words[3] = wl_result(ticket, 3);
    words[4] = wl_result(ticket, 4);
    words[5] = wl_result(ticket, 5);
    words[6] = wl_result(ticket, 6);
    bool result;
    result = (words[0] & 1) != 0;
    (*route).next_hop = (uint32_t)words[1];
    (*route).kind = (uint8_t)words[2];
    (*route).mac[0] = (uint8_t)words[3];
    (*route).mac[1] = (uint8_t)(words[3] >> 8);
    (*route).mac[2] = (uint8_t)(words[3] >> 16);
    (*route).mac[3] = (uint8_t)(words[3] >> 24);
    (*route).mac[4] = (uint8_t)words[4];
    (*route).mac[5] = (uint8_t)(words[4] >> 8);
    hops[0] = (uint16_t)words[5];
    hops[1] = (uint16_t)(words[5] >> 16);
    hops[2] = (uint16_t)words[6];
    return result;
}

static inline bool Lookup_find(uint32_t service, uint64_t key, struct Route *route, uint16_t hops[3]) {
    Lookup_find_begin(service, 0, key);
    return Lookup_find_end(0, route, hops);
}

// One-way: returns at once.
static inline void Lookup_learn(uint32_t service, uint32_t address, uint8_t length, const uint8_t mac[6], const struct Range ranges[2]) {
    wl_argument(0, (uint32_t)address);
    wl_argument(1, (uint32_t)(uint8_t)length);
    wl_argument(2, (uint32_t)(uint8_t)mac[0] | (uint32_t)(uint8_t)mac[1] << 8 | (uint32_t)(uint8_t)mac[2] << 16 | (uint32_t)(uint8_t)mac[3] << 24);
    wl_argument(3, (uint32_t)(uint8_t)mac[4] | (uint32_t)(uint8_t)mac[5] << 8);
    wl_argument(4, (uint32_t)(uint16_t)ranges[0].low);
    wl_argument(5, (uint32_t)(uint16_t)ranges[0].high);
    wl_argument(6, (uint32_t)(uint16_t)ranges[1].low);
    wl_launch(service, 2, WL_ONE_WAY, 8, (uint32_t)(uint16_t)ranges[1].high);
}

// Begins a call; the ticket identifies its reply. The arguments may be changed at once.
static inline void Lookup_clear_begin(uint32_t service, unsigned ticket) {
    wl_launch(service, 3, ticket, 0, 0);
}

// Waits for the reply.
static inline void Lookup_clear_end(unsigned ticket) {
    (void)wl_wait(ticket);
}

static inline void Lookup_clear(uint32_t service) {
    Lookup_clear_begin(service, 0);
    Lookup_clear_end(0);
}

// Begins a call; the ticket identifies its reply. The arguments may be changed at once.
static inline void Lookup_balance_begin(uint32_t service, unsigned ticket, int8_t a, int32_t b, bool up) {
    wl_argument(0, (uint32_t)(uint8_t)a);
    wl_argument(1, (uint32_t)b);
    wl_launch(service, 4, ticket, 3, (uint32_t)up);
}

// Waits for the reply.
static inline int64_t Lookup_balance_end(unsigned ticket) {
    uint32_t words[2];
    words[0] = wl_wait(ticket);
    words[1] = wl_result(ticket, 1);
    int64_t result;
    result = (int64_t)(words[0] | (uint64_t)words[1] << 32);
    return result;
}

static inline int64_t Lookup_balance(uint32_t service, int8_t a, int32_t b, bool up) {
    Lookup_balance_begin(service, 0, a, b, up);
    return Lookup_balance_end(0);
}

// ---- Lookup: for servers, which define the ..._on_... functions ----

struct Route Lookup_on_search(void *object, uint32_t address);
bool Lookup_on_find(void *object, uint64_t key, struct Route *route, uint16_t hops[3]);
void Lookup_on_learn(void *object, uint32_t address, uint8_t length, const uint8_t mac[6], const struct Range ranges[2]);
void Lookup_on_clear(void *object);
int64_t Lookup_on_balance(void *object, int8_t a, int32_t b, bool up);

// Serves a request. Returns false if the interface has no such method or the request has the wrong length.
static inline bool Lookup_serve(void *object, const struct wl_request *request) {
    const uint32_t *words = request->words;
    (void)words;
    switch (request->method) {
    case 0: {  // search
        if (request->count != 1) return false;
        uint32_t address;
        address = (uint32_t)words[0];
        struct Route result = Lookup_on_search(object, address);
        const uint32_t reply[] = {(uint32_t)result.next_hop, (uint32_t)(uint8_t)result.kind, (uint32_t)(uint8_t)result.mac[0] | (uint32_t)(uint8_t)result.mac[1] << 8 | (uint32_t)(uint8_t)result.mac[2] << 16 | (uint32_t)(uint8_t)result.mac[3] << 24, (uint32_t)(uint8_t)result.mac[4] | (uint32_t)(uint8_t)result.mac[5] << 8};
        wl_reply(request, reply, 4);
        return true;
    }
    case 1: {  // find
        if (request->count != 2) return false;
        uint64_t key;
        key = (uint64_t)(words[0] | (uint64_t)words[1] << 32);
        struct Route route;
        uint16_t hops[3];
        bool result = Lookup_on_find(object, key, &route, hops);
        const uint32_t reply[] = {(uint32_t)result, (uint32_t)route.next_hop, (uint32_t)(uint8_t)route.kind, (uint32_t)(uint8_t)route.mac[0] | (uint32_t)(uint8_t)route.mac[1] << 8 | (uint32_t)(uint8_t)route.mac[2] << 16 | (uint32_t)(uint8_t)route.mac[3] << 24, (uint32_t)(uint8_t)route.mac[4] | (uint32_t)(uint8_t)route.mac[5] << 8, (uint32_t)(uint16_t)hops[0] | (uint32_t)(uint16_t)hops[1] << 16, (uint32_t)(uint16_t)hops[2]};
        wl_reply(request, reply, 7);
        return true;
    }
    case 2: {  // learn
        if (request->count != 8) return false;
        uint32_t address;
        address = (uint32_t)words[0];
        uint8_t length;
        length = (uint8_t)words[1];
        uint8_t mac[6];
        mac[0] = (uint8_t)words[2];
        mac[1] = (uint8_t)(words[2] >> 8);
        mac[2] = (uint8_t)(words[2] >> 16);
        mac[3] = (uint8_t)(words[2] >> 24);
        mac[4] = (uint8_t)words[3];
        mac[5] = (uint8_t)(words[3] >> 8);
        struct Range ranges[2];
        ranges[0].low = (int16_t)words[4];
        ranges[0].high = (int16_t)words[5];
        ranges[1].low = (int16_t)words[6];
        ranges[1].high = (int16_t)words[7];
        Lookup_on_learn(object, address, length, mac, ranges);
        return true;
    }
    case 3: {  // clear
        if (request->count != 0) return false;
        Lookup_on_clear(object);
        wl_reply(request, 0, 0);
        return true;
    }
    case 4: {  // balance
        if (request->count != 3) return false;
        int8_t a;
        a = (int8_t)words[0];
        int32_t b;
        b = (int32_t)words[1];
        bool up;
        up = (words[2] & 1) != 0;
        int64_t result = Lookup_on_balance(object, a, b, up);
        const uint32_t reply[] = {(uint32_t)result, (uint32_t)((uint64_t)result >> 32)};
        wl_reply(request, reply, 2);
        return true;
    }
    default:
        return false;
    }
}

// ---- Output: for clients ----

// One-way: returns at once.
static inline void Output_send(uint32_t service, uint32_t packet, uint16_t port, uint16_t length) {
    wl_argument(0, (uint32_t)packet);
    wl_argument(1, (uint32_t)(uint16_t)port);
    wl_launch(service, 0, WL_ONE_WAY, 3, (uint32_t)(uint16_t)length);
}

// ---- Output: for servers, which define the ..._on_... functions ----

void Output_on_send(void *object, uint32_t packet, uint16_t port, uint16_t length);

// Serves a request. Returns false if the interface has no such method or the request has the wrong length.
static inline bool Output_serve(void *object, const struct wl_request *request) {
    const uint32_t *words = request->words;
    (void)words;
    switch (request->method) {
    case 0: {  // send
        if (request->count != 3) return false;
        uint32_t packet;
        packet = (uint32_t)words[0];
        uint16_t port;
        port = (uint16_t)words[1];
        uint16_t length;
        length = (uint16_t)words[2];
        Output_on_send(object, packet, port, length);
        return true;
    }
    default:
        return false;
    }
}
