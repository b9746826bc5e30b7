/* Batches of threads, the outcome of packets, and the interface of an engine to the host. */
#ifndef WL_BATCH_H
#define WL_BATCH_H

#include "slot.h"

/* The number of threads in a batch: enough to hide the latency of a memory access by work on the
 * other threads, few enough that they and their packets stay in the first two levels of cache. */
#ifndef WL_BATCH
#define WL_BATCH 64
#endif

/* The number of threads that begin in a round, in engines whose packets may overtake each other. Their
 * accesses to memory are few enough for the processor to have all of them under way at once, and
 * spread evenly over the time. */
#ifndef WL_ADMITTED
#define WL_ADMITTED 8
#endif

#define WL_ABI 9

enum wl_verdict { WL_NOTHING, WL_SENT, WL_TO_CPU, WL_DROPPED, WL_RUNAWAY };

enum { WL_NO_OUTPUT = 0xffffffff };
/* No packet has more bytes. */
enum { WL_ALL_BYTES = 0xffff };

/* A packet that leaves: its window, then its payload. Copies that a thread emits share their payload
 * until it changes, so that a loop that emits a long packet needs memory for windows only. */
struct wl_output {
    const uint8_t *window, *payload;
    uint32_t window_length, payload_length;
    uint32_t next; /* the next packet that this thread emitted, or WL_NO_OUTPUT */
    uint32_t reasons; /* for WL_TO_CPU and WL_DROPPED: the set of the reason */
    uint16_t value;   /* the port or the reason */
    uint32_t verdict; /* an enum wl_verdict */
};

/* The output of a thread: the packets that it emitted, then how it ended. */
struct wl_end {
    struct wl_output last;
    uint32_t first_emitted, last_emitted; /* indices into wl_machine.emitted */
};

/* The first part of every engine's state. */
struct wl_machine {
    const struct wl_slot *slots;
    uint64_t *steps; /* how often threads began each step, for programs that count */
    uint64_t in_lanes; /* packets that no thread executed (lanes.h) */
    struct wl_output *emitted;
    uint64_t emitted_count, emitted_room;
    struct wl_arena arena;
    struct wl_end ends[WL_BATCH];
};

/* The interface that the host looks up in the shared object. */
struct wl_engine {
    uint32_t abi, batch, slots;
    size_t state_size;
    /* Executes the first `count` packets of the array, at most `batch`, with numbers from `sequence`
     * on. The array has `known` packets; those after the first `count` are only prefetched. */
    void (*execute)(void *state, const struct wl_arrival *packets, uint32_t count, uint32_t known,
                    uint64_t sequence);
    void (*close)(void *state);
    void (*show)(const struct wl_packet *packet, struct wl_view *view);
    void (*replace)(struct wl_packet *packet, struct wl_arena *arena, const struct wl_view *view);
};

WL_INLINE void wl_machine_begin(struct wl_machine *m)
{
    m->emitted_count = 0;
    wl_arena_reset(&m->arena);
}

WL_FUNCTION void wl_machine_close(struct wl_machine *m)
{
    wl_arena_close(&m->arena);
    free(m->emitted);
    m->emitted = NULL;
    m->emitted_count = m->emitted_room = 0;
}

/* Returns the end of the packets that begin in a round: those from `first` on, `most` at most. Fetches
 * as many that follow, those of the next batch too: of each the line that it begins in and, since
 * packets begin anywhere in a line, the one that a short packet's last byte lies in. What describes
 * packets is fetched still earlier. */
WL_INLINE uint32_t wl_admit(const struct wl_arrival *packets, uint32_t first, uint32_t count, uint32_t known,
                            uint32_t most)
{
    uint32_t end = count - first < most ? count : first + most;
    for (uint32_t i = end; first < count && i < known && i - end < most; i++) {
        WL_PREFETCH(packets[i].bytes);
        WL_PREFETCH(packets[i].bytes + (packets[i].length < 64 ? packets[i].length : 64));
        WL_PREFETCH(packets + i + WL_BATCH);
    }
    return end;
}

WL_INLINE void wl_end_begin(struct wl_end *end)
{
    end->last.verdict = WL_NOTHING;
    end->first_emitted = WL_NO_OUTPUT;
}

WL_INLINE void wl_end_packet(struct wl_end *end, struct wl_packet *p, uint32_t verdict, uint32_t reasons,
                             uint16_t value)
{
    struct wl_output *out = &end->last;
    out->window = wl_front(p);
    out->window_length = p->window;
    out->payload = p->payload;
    out->payload_length = p->payload_length;
    out->reasons = reasons;
    out->value = value;
    out->verdict = wl_is_intact(p) ? verdict : WL_RUNAWAY;
}

/* Sends the packet to its egress port. */
WL_INLINE void wl_end_sent(struct wl_end *end, struct wl_packet *p)
{
    wl_end_packet(end, p, WL_SENT, 0, p->egress);
}

/* Ends the packet outside the fast path: it is dropped, or goes to the control processor. */
WL_COLD void wl_end_aside(struct wl_end *end, struct wl_packet *p, uint32_t verdict, uint32_t reasons,
                          uint16_t reason)
{
    wl_end_packet(end, p, verdict, reasons, reason);
}

/* Sends a copy of the packet in its current form: `count` bytes from `offset` on, as far as there
 * are any. */
WL_COLD void wl_emit_bytes(struct wl_machine *m, struct wl_end *end, struct wl_packet *p, uint32_t offset,
                           uint32_t count, uint32_t verdict, uint32_t reasons, uint16_t value)
{
    const uint32_t skipped = offset < p->window ? offset : p->window;
    const uint32_t window = count < p->window - skipped ? count : p->window - skipped;
    const uint32_t behind = offset - skipped < p->payload_length ? offset - skipped : p->payload_length;
    const uint32_t left = p->payload_length - behind;
    if (m->emitted_count == m->emitted_room) {
        m->emitted_room = m->emitted_room ? 2 * m->emitted_room : WL_BATCH;
        m->emitted = realloc(m->emitted, m->emitted_room * sizeof *m->emitted);
        if (!m->emitted)
            abort();
    }
    uint32_t index = (uint32_t)m->emitted_count++;
    m->emitted[index] = (struct wl_output){
        .window = wl_window_copy(p, &m->arena) + skipped,
        .payload = p->payload + behind,
        .window_length = window,
        .payload_length = count - window < left ? count - window : left,
        .next = WL_NO_OUTPUT,
        .reasons = reasons,
        .value = value,
        .verdict = verdict,
    };
    /* From here on a change of the payload makes a copy, as if it were where it arrived. */
    p->payload_room = 0;
    if (end->first_emitted == WL_NO_OUTPUT)
        end->first_emitted = index;
    else
        m->emitted[end->last_emitted].next = index;
    end->last_emitted = index;
}

/* Sends a copy of the packet in its current form to its egress port. */
WL_INLINE void wl_emit(struct wl_machine *m, struct wl_end *end, struct wl_packet *p)
{
    wl_emit_bytes(m, end, p, 0, WL_ALL_BYTES, WL_SENT, 0, p->egress);
}

#endif
