/* Passes packets on to the process, while somebody captures or traces them. Only a program that is
 * watched has this: the file that includes it has defined WL_POINTS, the points of interest, and the
 * function `wl_wants` before it, which chooses packets. */
#ifndef WL_WATCH_H
#define WL_WATCH_H

#include "packet.h"

void *wl_ring_reserve(const void *map, uint64_t bytes, uint64_t flags) WL_HELPER(131);
void wl_ring_submit(void *place, uint64_t flags) WL_HELPER(132);

extern struct wl_map wl_map_ring; /* a ring buffer of struct wl_event */
extern struct wl_map wl_map_lost; /* how many packets it had no room for */

/* The process looks into the ring from time to time: nobody is to be woken. */
enum { WL_NO_WAKING = 1 };

/* A packet in the ring. */
struct wl_event {
    uint64_t now_ns, sequence;
    uint32_t point, processor;
    uint32_t port;           /* at WL_POINT_OUT the port that it is sent to, else that of arrival */
    uint32_t egress;
    uint32_t window, rest;   /* bytes in the two parts after this */
    uint32_t room;           /* how many bytes the first part has room for */
    uint32_t verdict, reasons, value;
};

/* Writes the packet in hand into the ring. The arguments are the most bytes of its two parts. */
#define WL_WRITE(front_room, rest_room)                                                                                \
    do {                                                                                                               \
        struct {                                                                                                       \
            struct wl_event head;                                                                                      \
            uint8_t front[front_room], rest[rest_room];                                                                \
        } *e = wl_ring_reserve(&wl_map_ring, sizeof *e, 0);                                                            \
        if (!e) {                                                                                                      \
            uint64_t *lost = wl_map_find(&wl_map_lost, &zero);                                                         \
            if (lost)                                                                                                  \
                __sync_fetch_and_add(lost, 1);                                                                         \
            return 0;                                                                                                  \
        }                                                                                                              \
        WL_OPAQUE(e); /* no address is computed before the check */                                                    \
        e->head.now_ns = p->env.now_ns;                                                                                \
        e->head.sequence = p->env.sequence;                                                                            \
        e->head.point = point;                                                                                         \
        e->head.processor = (uint32_t)wl_kernel_cpu();                                                                 \
        e->head.port = point == WL_POINT_OUT ? p->egress : p->ingress;                                                 \
        e->head.egress = p->egress;                                                                                    \
        e->head.window = window;                                                                                       \
        e->head.rest = (uint32_t)count;                                                                                \
        e->head.room = (front_room);                                                                                   \
        e->head.verdict = p->verdict;                                                                                  \
        e->head.reasons = p->reasons;                                                                                  \
        e->head.value = p->value;                                                                                      \
        _Pragma("GCC unroll 32") for (uint32_t i = 0; i < (front_room) / 8; i++)                                       \
            ((wl_any64 *)e->front)[i] = *(wl_any64 *)(p->area + front + 8 * i);                                        \
        if ((rest_room) > 0 && count > 0 && count <= (rest_room) && wl_load_frame(ctx, from, e->rest, (uint32_t)count)) \
            e->head.rest = 0;                                                                                          \
        wl_ring_submit(e, WL_NO_WAKING);                                                                               \
        return 0;                                                                                                      \
    } while (0)

/* Copies the packet in hand to whoever watches; a packet for the kernel is copied as it arrived. */
WL_ALONE uint64_t wl_pass_on(struct xdp_md *ctx, uint32_t point)
{
    uint32_t zero = 0;
    WL_THREAD *t = wl_map_find(&wl_map_threads, &zero);
    if (!t)
        return 0;
    struct wl_packet *p = &t->packet;
    uint32_t window = p->window, from = p->taken;
    uint64_t count = p->payload_length, front = p->front;
    if (point == WL_POINT_CPU) {
        window = 0;
        from = 0;
        count = p->arrived;
    }
    WL_OPAQUE(front);
    WL_OPAQUE(count);
    front &= 511;
    if (window <= WL_WINDOW && count == 0)
        WL_WRITE(WL_WINDOW, 0);
    if (count <= 1536)
        WL_WRITE(WL_LONGEST, 1536);
    if (count <= 10240)
        WL_WRITE(WL_LONGEST, 10240);
    WL_WRITE(WL_LONGEST, 65536);
}

#endif
