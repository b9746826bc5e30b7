// IPv4 forwarding with both programming models together. Threads that have packets call objects
// that know the routes, of which a service has several. Others count what is sent in shared memory,
// each port under its own monitor. In programs/mpsoc:
//
//     wireloom mpsoc application forward.{c,sidl} --on mpsoc-oc48 --in in.pcap --out out.pcapng
//
// The objects that know the routes can instead be a hardware element, the engine `search` of
// forward.loom; clients see no difference:
//
//     wireloom mpsoc application forward.{c,sidl,loom} -D ROUTES_IN_HARDWARE --on forward.toml ...

#include "forward.h"
#include "wl_packets.h"
#include "wl_threads.h"

enum { FORWARDERS = 64, ROUTERS = 24, COUNTERS = 8, PORTS = 4, TOLD_TOGETHER = 16, ETHERNET = 14, NO_IPV4 = 1, TTL_ENDS = 2 };

#ifndef ROUTES_IN_HARDWARE
// Prefixes from the longest to the shortest; the last one matches everything.
static const struct {
    uint32_t prefix;
    uint16_t length, port;
} table[] = {
    {0xc0000200, 24, 3}, {0xac100000, 12, 1}, {0x0a000000, 8, 2}, {0x80000000, 1, 1}, {0, 0, 0},
};

struct Route Routes_on_search(void *object, uint32_t address) {
    (void)object;
    unsigned at = 0;
    while (table[at].length > 0 && (address ^ table[at].prefix) >> (32 - table[at].length) != 0) at++;
    return (struct Route){.port = table[at].port, .length = table[at].length};
}

static uint32_t knows_the_way(uint32_t unused) {
    (void)unused;
    return wl_serve(SERVICE_routes, Routes_serve, 0);
}
#endif

// Counts of sent packets by port: those of all servers, each port guarded by the monitor of its own
// address, and those of one server that the others have not yet seen.
struct count {
    uint32_t packets, bytes;
};
static struct count counted[PORTS];
struct news {
    struct count ports[PORTS];
    unsigned packets;
};

static void tell(struct news *news) {
    for (unsigned port = 0; port < PORTS; port++) {
        struct count *own = &news->ports[port];
        if (own->packets == 0) continue;
        wl_monitor_enter(&counted[port]);
        counted[port].packets += own->packets;
        counted[port].bytes += own->bytes;
        wl_monitor_leave(&counted[port]);
        *own = (struct count){0, 0};
    }
    news->packets = 0;
}

void Counts_on_sent(void *object, uint16_t port, uint16_t bytes) {
    struct news *news = object;
    news->ports[port].packets++;
    news->ports[port].bytes += bytes;
    // Shared memory is remote: one access for many packets.
    if (++news->packets == TOLD_TOGETHER) tell(news);
}

static uint32_t counts(uint32_t unused) {
    (void)unused;
    struct news news = {0};
    return wl_serve(SERVICE_counts, Counts_serve, &news);
}

// RFC 1624: the sum of a header whose time to live, the high byte of its word, is decremented.
static uint16_t sum_without_a_hop(uint16_t sum) {
    uint32_t more = sum + 0x100u;
    return (uint16_t)(more + (more >> 16));
}

static void forward(void) {
    if (wl_packet_u16(12) != 0x0800 || (*wl_packet_byte(ETHERNET) & 0xf0) != 0x40) return wl_packet_drop(NO_IPV4);
    // The route is requested before the rest is examined.
    Routes_search_begin(SERVICE_routes, 0, wl_packet_u32(ETHERNET + 16));
    uint8_t *ttl = wl_packet_byte(ETHERNET + 8);
    bool ends = *ttl <= 1;
    --*ttl;
    wl_packet_set_u16(ETHERNET + 10, sum_without_a_hop(wl_packet_u16(ETHERNET + 10)));
    struct Route route = Routes_search_end(0);
    if (ends) return wl_packet_drop(TTL_ENDS);
    Counts_sent(SERVICE_counts, route.port, (uint16_t)wl_packet_length());
    wl_packet_send(route.port);
}

static uint32_t forwards(uint32_t packets) {
    do {
        wl_packet_receive();
        forward();
    } while (--packets > 0);
    return 0;
}

int main(void) {
#ifndef ROUTES_IN_HARDWARE
    for (unsigned k = 0; k < ROUTERS; k++) wl_thread_create(knows_the_way, 0, 0);
#endif
    for (unsigned k = 0; k < COUNTERS; k++) wl_thread_create(counts, 0, 0);
    for (unsigned k = 1; k < FORWARDERS; k++) wl_thread_create(forwards, UINT32_MAX, 0);
    return (int)forwards(UINT32_MAX);
}
