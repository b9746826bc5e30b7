/* Where the kernel enters: `wl_live` for frames that a port receives, `wl_trial` for those of
 * BPF_PROG_TEST_RUN. The file that includes it has defined WL_THREAD, the structure of the engine's
 * thread, WL_PASS, its function, and, if steps jump back, WL_JUMPS_BACK. */

enum { WL_XDP_ABORTED, WL_XDP_DROP, WL_XDP_PASS };
enum { WL_SHORTEST = 14 }; /* the shortest frame that the kernel lets a program send */

/* struct xdp_md (linux/bpf.h) */
struct xdp_md {
    uint32_t data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

/* What the loader sets for each port, before the program is verified. */
struct wl_settings {
    uint32_t port;  /* the number of this port */
    uint32_t ports; /* how many there are */
    uint32_t completes; /* whether frames may have checksums that are left to hardware */
};
const struct wl_settings wl_settings = { 0, 0, 0 };

WL_INLINE const struct wl_settings *wl_set(void)
{
    const struct wl_settings *settings = &wl_settings;
    WL_OPAQUE(settings);
    return settings;
}

/* Sizes that the loader needs. */
const uint32_t wl_thread_bytes = sizeof(WL_THREAD);
const uint32_t wl_packet_bytes = sizeof(struct wl_packet);
const uint32_t wl_counted_at = offsetof(WL_THREAD, counted);

/* A trial: the packet that the frame stands for, and what became of it. */
struct wl_trial {
    uint64_t now_ns, sequence;
    uint32_t ingress, length; /* a frame shorter than the kernel takes is lengthened */
    uint32_t verdict, reasons, value;
    uint32_t is_in_frame;     /* whether the frame is the packet; else the packet is in `bytes`, */
    uint32_t window;          /* and so many bytes of the frame after the first `taken` */
    uint32_t taken, payload_length, unused;
    uint8_t bytes[2 * WL_LONGEST];
};

/* What happened at a port, and to packets of a reason. */
struct wl_counts {
    uint64_t packets, bytes;
};
enum { WL_COUNT_RECEIVED, WL_COUNT_SENT, WL_COUNT_UNSENT, WL_COUNT_NO_PORT, WL_COUNTS };

/* The key of a verdict's counts. */
struct wl_verdict_key {
    uint32_t verdict, reasons, value;
};

/* A token bucket that holds a tenth of a second, as a virtual clock (the generic cell rate algorithm
 * of ITU-T I.371): each packet moves it on by the time between packets at the full rate. A step of
 * UINT64_MAX admits none. */
struct wl_bucket {
    uint64_t clock, step, refused;
};
static const uint64_t wl_ahead_ns = 100000000;

/* Copies a whole frame of 8 to WL_WINDOW - 1 bytes from or to `own`, in pieces of eight bytes whose
 * last one overlaps: a helper of the kernel takes as long as a search. Returns whether it did. */
WL_INLINE bool wl_copy_short(struct xdp_md *ctx, uint8_t *own, uint32_t count, bool leaves)
{
    uint8_t *data = (uint8_t *)(uintptr_t)ctx->data, *end = (uint8_t *)(uintptr_t)ctx->data_end;
    uint64_t last = count - 8;
    WL_OPAQUE(last);
    if (last > WL_WINDOW - 8 || data + count != end)
        return false;
    WL_UNROLL for (uint32_t i = 0; i < WL_WINDOW / 8; i++) {
        uint8_t *at = data + 8 * i;
        if (at + 8 > end)
            break;
        if (leaves)
            *(wl_any64 *)at = *(wl_any64 *)(own + 8 * i);
        else
            *(wl_any64 *)(own + 8 * i) = *(wl_any64 *)at;
    }
    uint8_t *at = data + last;
    if (at + 8 > end)
        return false;
    if (leaves)
        *(wl_any64 *)at = *(wl_any64 *)(own + last);
    else
        *(wl_any64 *)(own + last) = *(wl_any64 *)at;
    return true;
}

/* Copies the beginning of a frame of `length` bytes into the window. */
WL_INLINE void wl_arrive(struct xdp_md *ctx, struct wl_packet *p, uint32_t length)
{
    const uint8_t *data = (const uint8_t *)(uintptr_t)ctx->data, *end = (const uint8_t *)(uintptr_t)ctx->data_end;
    uint32_t window = length < WL_WINDOW ? length : (uint32_t)WL_WINDOW;
    p->front = WL_END - window;
    p->window = window;
    p->taken = window;
    p->arrived = length;
    p->payload_length = length - window;
    p->egress = 0;
    p->at = 0;
    if (window == WL_WINDOW && data + WL_WINDOW <= end) {
        wl_any64 *to = (wl_any64 *)(p->area + WL_END - WL_WINDOW);
        const wl_any64 *from = (const wl_any64 *)data;
        WL_UNROLL for (uint32_t i = 0; i < WL_WINDOW / 8; i++)
            to[i] = from[i];
        return;
    }
    uint64_t count = window, front = p->front;
    WL_OPAQUE(count);
    WL_OPAQUE(front);
    if (length < WL_WINDOW && wl_copy_short(ctx, p->area + (front & 511), window, false))
        return;
    count &= 255;
    if (count > 0)
        wl_load_frame(ctx, 0, p->area + (front & 511), (uint32_t)count);
}

/* Makes the frame what the packet is. Returns whether that was possible: the packet must not be
 * shorter than the kernel sends. */
WL_INLINE bool wl_leave(struct xdp_md *ctx, struct wl_packet *p)
{
    int32_t shorter = (int32_t)p->taken - (int32_t)p->window;
    int32_t cut = (int32_t)(p->arrived - p->taken) - (int32_t)p->payload_length;
    if (wl_length(p) < WL_SHORTEST)
        return false;
    if (shorter < 0 && wl_adjust_head(ctx, shorter))
        return false;
    if (cut > 0 && wl_adjust_tail(ctx, -cut))
        return false;
    if (shorter > 0 && wl_adjust_head(ctx, shorter))
        return false;
    const uint8_t *end = (const uint8_t *)(uintptr_t)ctx->data_end;
    uint8_t *data = (uint8_t *)(uintptr_t)ctx->data;
    if (p->window == WL_WINDOW && data + WL_WINDOW <= end) {
        const wl_any64 *from = (const wl_any64 *)(p->area + WL_END - WL_WINDOW);
        wl_any64 *to = (wl_any64 *)data;
        WL_UNROLL for (uint32_t i = 0; i < WL_WINDOW / 8; i++)
            to[i] = from[i];
        return true;
    }
    uint64_t count = p->window, front = p->front;
    WL_OPAQUE(count);
    WL_OPAQUE(front);
    if (p->payload_length == 0 && p->window < WL_WINDOW &&
        wl_copy_short(ctx, p->area + (front & 511), p->window, true))
        return true;
    count &= 511;
    return count == 0 || wl_store_frame(ctx, 0, p->area + (front & 511), (uint32_t)count) == 0;
}

/* Executes the engine for a packet. A thread begins with a context of zeros. */
WL_INLINE void wl_run(WL_THREAD *t)
{
    wl_any64 *context = (wl_any64 *)&t->context;
    _Pragma("GCC unroll 16") for (uint32_t i = 0; i < (sizeof t->context + 7) / 8; i++)
        context[i] = 0;
#ifdef WL_JUMPS_BACK
    /* Most packets end in the first pass, and then need no loop. */
    if (!WL_PASS(0, &t)) {
        wl_loop(WL_MAX_BACKWARD_JUMPS, (void *)&WL_PASS, &t, 0);
        if (t->packet.at != WL_ENDED)
            wl_end(&t->packet, WL_RUNAWAY, 0, 0);
    }
#else
    WL_PASS(0, &t);
#endif
}

WL_INLINE void wl_count_at(uint32_t port, uint32_t what, uint64_t bytes)
{
    uint32_t index = port * WL_COUNTS + what;
    struct wl_counts *counts = wl_map_find(&wl_map_counts, &index);
    if (counts) {
        counts->packets += 1;
        counts->bytes += bytes;
    }
}

WL_INLINE uint32_t wl_fold(uint64_t sum)
{
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

enum { WL_CHUNK = 512 };

/* Bytes of a frame that are summed up: those left, and where they begin. */
struct wl_summing {
    struct xdp_md *ctx;
    uint64_t from, left, total;
};

/* Adds a part of the bytes. Returns whether there are no more. */
WL_ALONE uint64_t wl_sum_part(uint32_t turn, struct wl_summing *sum)
{
    uint32_t zero = 0;
    uint8_t *chunk = wl_map_find(&wl_map_scratch, &zero);
    uint64_t part = sum->left < WL_CHUNK ? sum->left : WL_CHUNK;
    (void)turn;
    WL_OPAQUE(part);
    if (!chunk || part == 0 || part > WL_CHUNK)
        return 1;
    /* The last part is lengthened by zeros to a multiple of four bytes. */
    *(wl_any32 *)(chunk + (part & (2 * WL_CHUNK - 4))) = 0;
    if (wl_load_frame(sum->ctx, (uint32_t)sum->from, chunk, (uint32_t)part))
        return 1;
    sum->from += part;
    sum->left -= part;
    uint64_t whole = part + 3;
    WL_OPAQUE(whole);
    whole &= 2 * WL_CHUNK - 4;
    if (whole > WL_CHUNK)
        return 1;
    sum->total = (uint32_t)wl_csum_diff(NULL, 0, chunk, (uint32_t)whole, (uint32_t)sum->total);
    return 0;
}

/* A sender on this computer may leave the checksum of a TCP segment or a UDP datagram to hardware:
 * the field then has the sum of the pseudo-header, and nobody would complete it after a redirection.
 * This does, in the window. Returns whether the checksum is out of its reach. */
WL_PART uint64_t wl_complete(struct xdp_md *ctx)
{
    uint32_t zero = 0;
    WL_THREAD *t = wl_map_find(&wl_map_threads, &zero);
    if (!t)
        return 0;
    struct wl_packet *p = &t->packet;
    uint32_t l3 = 14, type = wl_get16(p, 12), start, length, protocol;
    uint64_t sum = 0;
    for (uint32_t tags = 0; tags < 2 && (type == 0x8100 || type == 0x88a8); tags++) {
        type = wl_get16(p, l3 + 2);
        l3 += 4;
    }
    uint32_t first = wl_get8(p, l3);
    if (type == 0x0800 && first >> 4 == 4) {
        if (wl_get16(p, l3 + 6) & 0x3fff)
            return 0; /* a fragment */
        start = l3 + (first & 15) * 4;
        length = wl_get16(p, l3 + 2);
        protocol = wl_get8(p, l3 + 9);
        sum = (uint64_t)wl_get32(p, l3 + 12) + wl_get32(p, l3 + 16);
    } else if (type == 0x86dd && first >> 4 == 6) {
        start = l3 + 40;
        length = wl_get16(p, l3 + 4) + 40u;
        protocol = wl_get8(p, l3 + 6);
        for (uint32_t i = 0; i < 4; i++)
            sum += (wl_get64(p, l3 + 8 + 8 * i) >> 32) + (uint32_t)wl_get64(p, l3 + 8 + 8 * i);
        /* Hop-by-hop options, routing and destination options (RFC 8200 section 4). */
        for (uint32_t i = 0; i < 8 && (protocol == 0 || protocol == 43 || protocol == 60); i++) {
            uint32_t at = wl_reach(start);
            protocol = wl_get8(p, at);
            start += wl_get8(p, at + 1) * 8u + 8;
        }
    } else {
        return 0;
    }
    uint32_t end = l3 + length, field = start + (protocol == 6 ? 16 : 6);
    if ((protocol != 6 && protocol != 17) || end > p->arrived || field + 2 > end)
        return 0;
    if (field + 2 > p->window)
        return 1;
    uint32_t pseudo = wl_fold(sum + protocol + (end - start));
    if (wl_get16(p, wl_reach(field)) != pseudo)
        return 0;
    struct wl_summing summing = { ctx, start, end - start, 0 };
    wl_loop(WL_MAX_LENGTH / WL_CHUNK + 2, (void *)&wl_sum_part, &summing, 0);
    if (summing.left)
        return 0;
    /* The sum of the bytes in the order of this computer is that in network order, swapped. */
    uint32_t folded = wl_swap16((uint16_t)wl_fold(summing.total));
    if (wl_fold((uint64_t)pseudo + folded) == 0xffff)
        return 0; /* the checksum is right, and equals the sum of the pseudo-header by chance */
    uint32_t checksum = ~folded & 0xffff;
    wl_put(p, field, 2, protocol == 17 && checksum == 0 ? 0xffff : checksum, 0);
    return 0;
}

/* Whether nothing is left to complete, as far as a glance at the frame tells: most frames are IPv4 without
 * tags, options and fragments, and have a checksum that is not the sum of the pseudo-header. Sums are
 * of words in the order of this computer (RFC 1071 section 2). */
WL_INLINE bool wl_is_complete(struct xdp_md *ctx)
{
    enum { IP = 14, PAYLOAD = 34, LEAST = 54 };
    const uint8_t *data = (const uint8_t *)(uintptr_t)ctx->data, *end = (const uint8_t *)(uintptr_t)ctx->data_end;
    if (data + LEAST > end)
        return false;
    uint32_t type = *(const wl_any16 *)(data + 12), fragment = *(const wl_any16 *)(data + IP + 6);
    if (type != wl_swap16(0x0800) || data[IP] != 0x45 || fragment & wl_swap16(0x3fff))
        return false;
    uint32_t protocol = data[IP + 9], field;
    if (protocol == 17)
        field = *(const wl_any16 *)(data + PAYLOAD + 6);
    else if (protocol == 6)
        field = *(const wl_any16 *)(data + PAYLOAD + 16);
    else
        return true;
    uint32_t length = (uint32_t)wl_swap16(*(const wl_any16 *)(data + IP + 2)) - (PAYLOAD - IP);
    uint64_t sum = (uint64_t)*(const wl_any32 *)(data + IP + 12) + *(const wl_any32 *)(data + IP + 16);
    return wl_fold(sum + wl_swap16((uint16_t)protocol) + wl_swap16((uint16_t)length)) != field;
}

/* Two processors may meet a verdict for the first time at once. Only one of them makes its counts,
 * and both add to them. */
WL_INLINE void wl_count_verdict(const struct wl_verdict_key *key, uint64_t bytes)
{
    struct wl_counts *counts = wl_map_find(&wl_map_verdicts, key);
    if (!counts) {
        struct wl_counts none = { 0, 0 };
        wl_map_set(&wl_map_verdicts, key, &none, WL_MAP_NEW);
        counts = wl_map_find(&wl_map_verdicts, key);
        if (!counts)
            return;
    }
    counts->packets += 1;
    counts->bytes += bytes;
}

/* Whether the kernel gets a packet of this verdict now. Other processors use the bucket too: where
 * several find it idle at the same time, it admits a packet more for each. */
WL_INLINE bool wl_admits(const struct wl_verdict_key *key)
{
    struct wl_bucket *bucket = wl_map_find(&wl_map_buckets, key);
    if (!bucket) {
        struct wl_verdict_key others = { WL_NOTHING, 0, 0 };
        const struct wl_bucket *like = wl_map_find(&wl_map_buckets, &others);
        struct wl_bucket first = { 0, like ? like->step : 0, 0 };
        wl_map_set(&wl_map_buckets, key, &first, WL_MAP_NEW);
        bucket = wl_map_find(&wl_map_buckets, key);
        if (!bucket)
            return true;
    }
    uint64_t now = wl_kernel_ns(), step = bucket->step, clock = bucket->clock;
    uint64_t room = step < wl_ahead_ns ? wl_ahead_ns - step : 0;
    if (step == UINT64_MAX || (clock > now && clock - now > room)) {
        __sync_fetch_and_add(&bucket->refused, 1);
        return false;
    }
    if (clock < now)
        bucket->clock = now;
    __sync_fetch_and_add(&bucket->clock, step);
    return true;
}

/* Where packets are passed on while somebody watches: as they arrive, as they leave, as they go to
 * the kernel or are dropped, and at the end of their way, if they were wanted at its beginning. */
enum { WL_POINT_IN, WL_POINT_OUT, WL_POINT_CPU, WL_POINT_DROP, WL_POINT_END };
#ifdef WL_POINTS
#define WL_HAS(point) ((WL_POINTS) >> (point) & 1)
#include "watch.h"
#else
#define WL_HAS(point) 0
WL_INLINE bool wl_wants(struct wl_packet *p, uint32_t port) { return p && port && false; }
WL_INLINE void wl_pass_on(struct xdp_md *ctx, uint32_t point) { (void)ctx, (void)point; }
#endif

int wl_live(struct xdp_md *ctx)
{
    uint32_t zero = 0, port = wl_set()->port;
    WL_THREAD *t = wl_map_find(&wl_map_threads, &zero);
    if (!t)
        return WL_XDP_ABORTED;
    struct wl_packet *p = &t->packet;
    uint64_t length = wl_frame_length(ctx);
    if (length > WL_MAX_LENGTH)
        return WL_XDP_PASS;
    wl_arrive(ctx, p, (uint32_t)length);
    p->ingress = port;
    if (wl_set()->completes && !wl_is_complete(ctx) && wl_complete(ctx))
        return WL_XDP_PASS;
#if defined(WL_NEEDS_TIME) || defined(WL_POINTS)
    p->env.now_ns = wl_kernel_ns();
#endif
    p->env.sequence += 1;
    wl_count_at(port, WL_COUNT_RECEIVED, length);
    bool is_wanted = (WL_HAS(WL_POINT_IN) || WL_HAS(WL_POINT_CPU)) && wl_wants(p, port);
    if (WL_HAS(WL_POINT_IN) && is_wanted)
        wl_pass_on(ctx, WL_POINT_IN);
    wl_run(t);
    if (WL_HAS(WL_POINT_END) && is_wanted)
        wl_pass_on(ctx, WL_POINT_END);
    if (p->verdict == WL_SENT) {
        uint32_t to = p->egress;
        if (WL_HAS(WL_POINT_OUT) && wl_wants(p, to))
            wl_pass_on(ctx, WL_POINT_OUT);
        if (to >= wl_set()->ports) {
            wl_count_at(port, WL_COUNT_NO_PORT, length);
            return WL_XDP_DROP;
        }
        if (!wl_leave(ctx, p)) {
            wl_count_at(to, WL_COUNT_UNSENT, length);
            return WL_XDP_DROP;
        }
        wl_count_at(to, WL_COUNT_SENT, wl_length(p));
        return (int)wl_redirect_map(&wl_map_ports, to, WL_XDP_DROP);
    }
    struct wl_verdict_key key = { p->verdict, p->reasons, p->value };
    wl_count_verdict(&key, wl_length(p));
    if (p->verdict != WL_TO_CPU) {
        if (WL_HAS(WL_POINT_DROP) && wl_wants(p, port))
            wl_pass_on(ctx, WL_POINT_DROP);
        return WL_XDP_DROP;
    }
    if (WL_HAS(WL_POINT_CPU) && is_wanted)
        wl_pass_on(ctx, WL_POINT_CPU);
    return wl_admits(&key) ? WL_XDP_PASS : WL_XDP_DROP;
}

int wl_trial(struct xdp_md *ctx)
{
    uint32_t zero = 0;
    WL_THREAD *t = wl_map_find(&wl_map_threads, &zero);
    struct wl_trial *trial = wl_map_find(&wl_map_trial, &zero);
    if (!t || !trial)
        return WL_XDP_ABORTED;
    struct wl_packet *p = &t->packet;
    wl_arrive(ctx, p, trial->length & 0xffff);
    p->ingress = trial->ingress;
    p->env.now_ns = trial->now_ns;
    p->env.sequence = trial->sequence;
    wl_run(t);
    trial->verdict = p->verdict;
    trial->reasons = p->reasons;
    trial->value = p->verdict == WL_SENT ? p->egress : p->value;
    trial->taken = p->taken;
    trial->payload_length = p->payload_length;
    trial->window = p->window;
    trial->is_in_frame = trial->length >= WL_SHORTEST && wl_leave(ctx, p);
    if (!trial->is_in_frame) {
        uint64_t front = p->front;
        WL_OPAQUE(front);
        front &= 511;
        _Pragma("GCC unroll 32") for (uint32_t i = 0; i < WL_LONGEST / 8; i++)
            ((wl_any64 *)trial->bytes)[i] = *(wl_any64 *)(p->area + front + 8 * i);
    }
    return WL_XDP_PASS;
}
