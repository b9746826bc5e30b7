/* An offload as the host provides it: either memory on which the code here works itself, or a
 * function of the host. The slots of an engine are in the order of its offloads; the place of an
 * engine that it calls is taken by the slots of that engine. */
#ifndef WL_SLOT_H
#define WL_SLOT_H

#include "packet.h"

/* The inputs of a call besides its arguments. */
struct wl_env {
    uint64_t now_ns;   /* arrival time of the packet for which the thread began */
    uint64_t sequence; /* its number */
};

/* A call that the host executes. Arguments follow each other, each in whole little-endian words;
 * so does the reply. `packet` is NULL in a called engine; the host may change it through
 * wl_replace. */
typedef void wl_host_call(void *instance, uint32_t method, const uint64_t *args, uint64_t *reply,
                          struct wl_packet *packet, struct wl_arena *arena, const struct wl_env *env);

struct wl_slot {
    void *data;        /* the memory of the kinds that are implemented here */
    uint64_t elements; /* number of elements in that memory */
    void *instance;    /* for the host */
    wl_host_call *call;
    /* Two numbers for each method of the kind: how often it was called, and how often that found
     * something. For programs that count; others leave it alone. */
    uint64_t *counts;
    /* What every search in a prefix table of blocks reads (lpm.h): here, so that it need not be
     * fetched through `data` first. NULL in other slots. */
    const uint32_t *spread;
    const void *blocks;
    const uint64_t *values;
    /* The direct table of a prefix table of either form, for prefetches, and the size of its entries
     * as a power of two. */
    const uint8_t *direct;
    uint64_t direct_shift;
};

/* The host's view of the current packet, which the host can change and return. */
struct wl_view {
    const uint8_t *window, *payload;
    uint64_t arrival_ns;
    uint32_t window_length, payload_length;
    uint16_t ingress, egress;
};

WL_FUNCTION void wl_show(const struct wl_packet *p, struct wl_view *view)
{
    view->window = p->front;
    view->payload = p->payload;
    view->arrival_ns = p->arrival_ns;
    view->window_length = p->window;
    view->payload_length = p->payload_length;
    view->ingress = p->ingress;
    view->egress = p->egress;
}

/* Replaces the current packet by the one described, copying its bytes. */
WL_FUNCTION void wl_replace(struct wl_packet *p, struct wl_arena *arena, const struct wl_view *view)
{
    p->front = p->area + WL_END - view->window_length;
    memcpy(p->front, view->window, view->window_length);
    p->window = (uint16_t)view->window_length;
    p->payload_length = 0;
    if (view->payload_length) {
        wl_own_payload(p, arena, view->payload_length);
        memcpy((uint8_t *)p->payload, view->payload, view->payload_length);
        p->payload_length = view->payload_length;
    }
    p->arrival_ns = view->arrival_ns;
    p->ingress = view->ingress;
    p->egress = view->egress;
}

#endif
