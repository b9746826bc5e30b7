// One end of the benchmark of live forwarding (`wireloom bench live`): loads a program of
// programs.bpf.c and attaches it in the network namespace that it runs in, until its input ends.
//
//   rig OBJECT sink-frames|sink-packets|forward INTERFACE
//     prints at each line of input how many frames have arrived, of how many the latency is known
//     since the last line, and the median and the 99th percentile of these in ns
//   rig OBJECT generate INTERFACE CORE RATE
//     sends RATE frames a second, with the time in each; 0: as many as it can, without
//   rig probe SENDER NAMESPACE RECEIVER N
//     prints how many of N probes arrived, and the median and 99th percentile of their latency in ns
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TCX_INGRESS 46
#define LIVE_FRAMES (1U << 1)
#define PROBE 7777
#define FRAME 60

// As in programs.bpf.c.
#define STEP_NS 32
#define STEPS 262144

struct pace {
    unsigned long long interval_ns, next_ns;
};

static void fail(const char *what) {
    fprintf(stderr, "rig: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int silent(enum libbpf_print_level level, const char *format, va_list words) {
    return level == LIBBPF_WARN && getenv("RIG_VERBOSE") ? vfprintf(stderr, format, words) : 0;
}

static unsigned interface(const char *name) {
    unsigned index = if_nametoindex(name);
    if (!index) fail(name);
    return index;
}

static struct bpf_object *load(const char *file) {
    struct bpf_object *object = bpf_object__open_file(file, NULL);
    if (!object || bpf_object__load(object)) fail(file);
    return object;
}

static int program(struct bpf_object *object, const char *name) {
    struct bpf_program *found = bpf_object__find_program_by_name(object, name);
    if (!found) fail(name);
    return bpf_program__fd(found);
}

// The frame of a test: UDP over IPv4 from 10.77.1.2 to 10.77.2.2, to the router's MAC address.
static void make(unsigned char *frame, unsigned short source, unsigned short destination) {
    memset(frame, 0, FRAME);
    struct ether_header *eth = (void *)frame;
    struct iphdr *ip = (void *)(eth + 1);
    struct udphdr *udp = (void *)(ip + 1);
    memcpy(eth->ether_dhost, "\x02\0\0\0\x77\x01", 6);
    memcpy(eth->ether_shost, "\x02\0\0\0\x77\x02", 6);
    eth->ether_type = htons(ETHERTYPE_IP);
    ip->version = 4;
    ip->ihl = 5;
    ip->tot_len = htons(FRAME - sizeof(*eth));
    ip->ttl = 64;
    ip->protocol = IPPROTO_UDP;
    ip->saddr = inet_addr("10.77.1.2");
    ip->daddr = inet_addr("10.77.2.2");
    unsigned sum = 0;
    for (int word = 0; word < 10; word++) sum += ((unsigned short *)ip)[word];
    sum = (sum & 0xffff) + (sum >> 16);
    ip->check = ~(sum + (sum >> 16));
    memcpy(udp + 1, &ip->check, sizeof(ip->check));
    udp->source = htons(source);
    udp->dest = htons(destination);
    udp->len = htons(FRAME - sizeof(*eth) - sizeof(*ip));
}

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// The end of the step in which the latency of this rank is, in ns.
static long long latency(const unsigned long long *steps, unsigned long long rank) {
    unsigned step = 0;
    for (unsigned long long seen = steps[0]; seen <= rank && step + 1 < STEPS; seen += steps[step]) step++;
    return (step + 1LL) * STEP_NS;
}

static void attach(struct bpf_object *object, const char *what, const char *name) {
    int is_packets = !strcmp(what, "sink-packets");
    int is_forward = !strcmp(what, "forward");
    const char *function = is_packets ? "sink_packets" : is_forward ? "forward" : "sink_frames";
    int type = is_packets ? TCX_INGRESS : BPF_XDP;
    if (bpf_link_create(program(object, function), interface(name), type, NULL) < 0) fail(name);
    int map = bpf_object__find_map_fd_by_name(object, "counted");
    int cores = libbpf_num_possible_cpus();
    unsigned long long counts[cores];
    size_t size = STEPS * sizeof(unsigned long long);
    volatile unsigned long long *latencies = mmap(NULL, size, PROT_READ, MAP_SHARED,
        bpf_object__find_map_fd_by_name(object, "latencies"), 0);
    if (latencies == MAP_FAILED) fail("the latencies");
    static unsigned long long before[STEPS], steps[STEPS];
    printf("ready\n");
    fflush(stdout);
    char line[16];
    while (fgets(line, sizeof(line), stdin)) {
        unsigned key = 0;
        unsigned long long all = 0;
        if (bpf_map_lookup_elem(map, &key, counts)) fail("the counter");
        for (int core = 0; core < cores; core++) all += counts[core];
        unsigned long long known = 0;
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned long long now = latencies[step];
            known += steps[step] = now - before[step];
            before[step] = now;
        }
        printf("%llu %llu", all, known);
        if (known) printf(" %lld %lld", latency(steps, known / 2), latency(steps, known * 99 / 100));
        printf("\n");
        fflush(stdout);
    }
}

static void generate(struct bpf_object *object, const char *name, int core, long long rate) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof(cores), &cores)) fail("a core");
    unsigned char frame[FRAME];
    make(frame, 1000, 2000);
    struct xdp_md context = {.data_end = FRAME, .ingress_ifindex = interface(name)};
    // A call that begins waits for the rest of the kernel for some 20 ms. Those with a rate take a
    // quarter of a second: they end soon when the input does.
    int at_once = rate ? (rate + 3) / 4 : 1 << 20;
    DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = FRAME,
        .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = at_once,
        .flags = LIVE_FRAMES, .batch_size = rate ? 1 : 64); // frames wait for the end of their batch
    int generator = program(object, "generate");
    printf("ready\n");
    fflush(stdout);
    unsigned key = 0;
    struct pace pace = {.interval_ns = rate ? 1000000000LL / rate : 0};
    int paces = bpf_object__find_map_fd_by_name(object, "paces");
    if (bpf_map_update_elem(paces, &key, &pace, BPF_ANY)) fail("the pace");
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) == 0)
        if (bpf_prog_test_run_opts(generator, &options)) fail("BPF_PROG_TEST_RUN");
}

static int raw(const char *name, int protocol) {
    int socket_ = socket(AF_PACKET, SOCK_RAW, htons(protocol));
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol),
        .sll_ifindex = interface(name)};
    if (socket_ < 0 || bind(socket_, (void *)&address, sizeof(address))) fail(name);
    return socket_;
}

static int order(const void *one, const void *other) {
    long long a = *(const long long *)one, b = *(const long long *)other;
    return (a > b) - (a < b);
}

// Sends probes in this namespace and receives them in another. The kernel notes when each arrives.
static void probe(const char *sender, const char *namespace, const char *receiver, int count) {
    int out = raw(sender, 0), on = 1;
    int other = open(namespace, O_RDONLY);
    if (other < 0 || setns(other, CLONE_NEWNET)) fail(namespace);
    int in = raw(receiver, ETH_P_IP);
    if (setsockopt(in, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on))) fail("timestamps");
    long long *latencies = calloc(count, sizeof(*latencies));
    int arrived = 0;
    unsigned char frame[FRAME];
    for (int index = 0; index < count; index++) {
        make(frame, 1000, PROBE);
        long long begin = now(CLOCK_REALTIME);
        memcpy(frame + 42, &begin, sizeof(begin));
        if (send(out, frame, FRAME, 0) < 0) {
            if (errno == ENOBUFS) continue; // lost at once: the other end does not keep up
            fail("a probe");
        }
        struct pollfd polled = {.fd = in, .events = POLLIN};
        long long deadline = now(CLOCK_MONOTONIC) + 20000000;
        int got = 0;
        while (!got && now(CLOCK_MONOTONIC) < deadline && poll(&polled, 1, 20) > 0) {
            unsigned char bytes[2048];
            char control[256];
            struct iovec part = {bytes, sizeof(bytes)};
            struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                .msg_controllen = sizeof(control)};
            if (recvmsg(in, &message, 0) < FRAME) continue;
            long long sent;
            memcpy(&sent, bytes + 42, sizeof(sent));
            if (sent != begin) continue;
            for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
                struct timespec *time = (void *)CMSG_DATA(c);
                latencies[arrived++] = time->tv_sec * 1000000000LL + time->tv_nsec - begin;
                got = 1;
            }
        }
        usleep(500);
    }
    qsort(latencies, arrived, sizeof(*latencies), order);
    if (!arrived) { printf("0 0 0\n"); return; }
    printf("%d %lld %lld\n", arrived, latencies[arrived / 2], latencies[arrived * 99 / 100]);
}

int main(int count, char **words) {
    // The compiler makes type information that kernels do not know; it is optional.
    libbpf_set_print(silent);
    if (count == 4) attach(load(words[1]), words[2], words[3]);
    else if (count == 6 && !strcmp(words[2], "generate"))
        generate(load(words[1]), words[3], atoi(words[4]), atoll(words[5]));
    else if (count == 6 && !strcmp(words[1], "probe"))
        probe(words[2], words[3], words[4], atoi(words[5]));
    else {
        fprintf(stderr, "rig: wrong words\n");
        return 2;
    }
    return 0;
}
