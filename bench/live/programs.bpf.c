// The programs of the rig (rig.c): a generator, sinks, and the peer, which forwards with the
// kernel's routing table as XDP programs of operators do. Built with bpf-gcc.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET 2
// Frames to this UDP port are probes of the latency: sinks let them pass.
#define PROBE 7777

char licence[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} counted SEC(".maps");

// Latencies of frames that carry the time at which they were sent, in steps of STEP_NS; the last one
// is all that are longer.
#define STEP_NS 32
#define STEPS 262144

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, STEPS);
    __type(key, __u32);
    __type(value, __u64);
} latencies SEC(".maps");

// The generator sends a frame at `next_ns` and notes the time in it, and the following one an
// interval later; without an interval as soon as it can, and without the time. The user of the
// program sets it.
struct pace {
    __u64 interval_ns;
    __u64 next_ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pace);
} paces SEC(".maps");

struct headers {
    struct ethhdr eth;
    struct iphdr ip;
    struct udphdr udp;
    // In the frames of the generator: the checksum of the IPv4 header, and when it was sent, or 0.
    __u16 check;
    __u64 sent_ns;
} __attribute__((packed));

// Waits for the time of the next frame, for some 100 us at most, and returns the time. A delay is not
// made up for: that would send more at once than a receiver holds.
static __always_inline __u64 wait(void) {
    __u32 key = 0;
    struct pace *pace = bpf_map_lookup_elem(&paces, &key);
    if (!pace || !pace->interval_ns) return 0;
    __u64 now = bpf_ktime_get_ns();
    // A helper can be called in a loop only as it stands there.
#pragma GCC unroll 1
    for (int turn = 0; turn < 4096; turn++) {
        if (now >= pace->next_ns) break;
        now = bpf_ktime_get_ns();
    }
    __u64 next = pace->next_ns + pace->interval_ns;
    pace->next_ns = next > now ? next : now + pace->interval_ns;
    return now;
}

// Sends the frame of BPF_PROG_TEST_RUN on the interface that it is said to come from. The kernel
// uses the frame's memory again when it has been received: what a router changed is put back.
SEC("xdp")
int generate(struct xdp_md *ctx) {
    void *data = (void *)(long)ctx->data;
    struct headers *headers = data;
    if ((void *)(headers + 1) > (void *)(long)ctx->data_end) return XDP_DROP;
    __u8 *eth = data;
    eth[0] = eth[6] = 2;
    eth[1] = eth[2] = eth[3] = eth[7] = eth[8] = eth[9] = 0;
    eth[4] = eth[10] = 0x77;
    eth[5] = 1;
    eth[11] = 2;
    headers->ip.check = headers->check;
    headers->ip.ttl = 64;
    headers->sent_ns = wait();
    return XDP_TX;
}

static __always_inline int is_probe(void *data, void *end) {
    struct headers *headers = data;
    if ((void *)(headers + 1) > end) return 0;
    return headers->eth.h_proto == bpf_htons(ETH_P_IP) && headers->udp.dest == bpf_htons(PROBE);
}

static __always_inline void count(void *data, void *end) {
    __u32 key = 0;
    __u64 *value = bpf_map_lookup_elem(&counted, &key);
    if (value) *value += 1;
    struct headers *headers = data;
    if ((void *)(headers + 1) > end || !headers->sent_ns) return;
    __u64 steps = (bpf_ktime_get_ns() - headers->sent_ns) / STEP_NS;
    key = steps < STEPS ? steps : STEPS - 1;
    value = bpf_map_lookup_elem(&latencies, &key);
    if (value) __sync_fetch_and_add(value, 1);
}

SEC("xdp")
int sink_frames(struct xdp_md *ctx) {
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (is_probe(data, end)) return XDP_PASS;
    count(data, end);
    return XDP_DROP;
}

SEC("tc")
int sink_packets(struct __sk_buff *skb) {
    void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
    if (is_probe(data, end)) return TC_ACT_OK;
    count(data, end);
    return TC_ACT_SHOT;
}

// IPv4 forwarding in the driver: lookup of route and neighbour in the kernel's tables, TTL,
// checksum, link header. What it cannot forward goes to the kernel.
SEC("xdp")
int forward(struct xdp_md *ctx) {
    void *data = (void *)(long)ctx->data;
    void *end = (void *)(long)ctx->data_end;
    struct headers *headers = data;
    if ((void *)(headers + 1) > end) return XDP_PASS;
    struct iphdr *ip = (void *)((struct ethhdr *)data + 1);
    if (headers->eth.h_proto != bpf_htons(ETH_P_IP)) return XDP_PASS;
    if (ip->ihl != 5 || ip->ttl <= 1) return XDP_PASS;
    struct bpf_fib_lookup fib = {};
    fib.family = AF_INET;
    fib.tos = ip->tos;
    fib.l4_protocol = ip->protocol;
    fib.tot_len = bpf_ntohs(ip->tot_len);
    fib.ipv4_src = ip->saddr;
    fib.ipv4_dst = ip->daddr;
    fib.ifindex = ctx->ingress_ifindex;
    if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS) return XDP_PASS;
    __u32 sum = ip->check + bpf_htons(0x0100);
    ip->check = sum + (sum >= 0xffff);
    ip->ttl--;
    __builtin_memcpy(headers->eth.h_dest, fib.dmac, ETH_ALEN);
    __builtin_memcpy(headers->eth.h_source, fib.smac, ETH_ALEN);
    return bpf_redirect(fib.ifindex, 0);
}
