// The peer of the router: a DPDK application's loop around rte_fib and rte_fib6 that does what programs/router.loom
// does with IPv4 or IPv6 packets, and sends the same bytes. It copies each packet into a buffer with headroom, checks
// it, looks its destination and source up in bulk, counts its flow, and writes TTL, checksum and link header.
//
// Usage: router FOLDER 4|6
// FOLDER holds records (records.h): ports, hops, values, destinations, sources, packets.
// For each line on standard input it works once through all packets, in bursts, and prints nanoseconds, packets, and
// bytes of entries of its tables. So a caller can take turns with it. The line is
//   whole          the whole router
//   forward        without source lookup and counters, which is the work of DPDK's l3fwd
//   scalar, vector the destinations' lookups and nothing else; 0 nanoseconds where there are no vector instructions
//   write FILE, write-forward FILE   the packets that are sent: port and length, four bytes each, then the bytes
#include "tables.h"

#include <rte_memcpy.h>
#include <rte_prefetch.h>

enum { BURST = 64, HEADROOM = 128, ROOM = 2048, FLOWS = 1 << 16, MOST_PACKETS = 1 << 24 };
enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_VLAN = 0x8100, TYPE_SERVICE = 0x88a8, TYPE_MPLS = 0x8847 };

enum verdict { GOES_ON, SENT, TO_CPU, DROPPED };

// A packet as it arrived: borrowed, and not changed.
struct frame {
	const uint8_t *bytes;
	uint32_t length;
	uint16_t ingress;
};

// A packet that is worked on, with room for a longer link header in front.
struct buffer {
	uint8_t room[HEADROOM + ROOM];
} __rte_cache_aligned;

struct work {
	uint8_t *bytes; // layer 3 begins at bytes + l3
	uint32_t length;
	uint16_t l3, port;
	uint8_t link_group, verdict;
	uint16_t destination, source; // numbers of values
};

struct counter {
	uint64_t packets, bytes;
};

static struct port *ports;
static size_t port_count;
static struct hop *hops;
static size_t hop_count;
static struct value *values;
static struct frame *frames;
static size_t frame_count;
static struct table destinations, sources;
static struct counter flows[FLOWS];
static struct buffer buffers[BURST];
static struct work works[BURST];
static FILE *output;

static inline uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t get32(const uint8_t *p) { return address4(p); }

static inline void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

// Takes a packet, finds layer 3 behind up to two VLAN tags, and returns the EtherType. Ends packets for others.
static inline uint16_t arrive(struct work *w, struct buffer *buffer, const struct frame *frame)
{
	static const struct port unused;
	const struct port *port = frame->ingress < port_count ? &ports[frame->ingress] : &unused;
	uint8_t *p = buffer->room + HEADROOM;
	w->bytes = p;
	w->length = frame->length;
	w->l3 = 14;
	w->port = 0;
	w->destination = w->source = 0;
	w->verdict = DROPPED;
	if (frame->length < 14 || frame->length > ROOM)
		return 0;
	rte_memcpy(p, frame->bytes, frame->length);
	uint16_t type = get16(p + 12);
	for (int tags = 0; tags < 2 && unlikely(type == TYPE_VLAN || type == TYPE_SERVICE); tags++) {
		w->l3 += 4;
		if (w->length < w->l3)
			return 0;
		type = get16(p + w->l3 - 2);
	}
	w->link_group = p[0] & 1;
	if (!w->link_group && !port->any_mac && memcmp(p, port->mac, 6))
		return 0;
	w->verdict = GOES_ON;
	return type;
}

static inline int is_inside_host(uint32_t address) { return address >> 24 == 0 || address >> 24 == 127; }

// The checks of RFC 1812 before the lookups.
static inline uint8_t check4(struct work *w)
{
	const uint8_t *ip = w->bytes + w->l3;
	uint32_t arrived = w->length - w->l3;
	if (arrived < 20 || ip[0] >> 4 != 4)
		return DROPPED;
	uint32_t header = (ip[0] & 15) * 4u, total = get16(ip + 2);
	if (header < 20 || total < header || arrived < total)
		return DROPPED;
	if (header > 20)
		return TO_CPU;
	uint64_t sum = 0;
	for (int i = 0; i < 5; i++) {
		uint32_t word;
		memcpy(&word, ip + 4 * i, 4);
		sum += word;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	if ((uint16_t)((sum & 0xffff) + (sum >> 16)) != 0xffff)
		return DROPPED;
	uint32_t src = get32(ip + 12), dst = get32(ip + 16);
	if (src >> 28 == 14 || src == 0xffffffff)
		return DROPPED;
	if (unlikely(dst >> 28 == 14)) {
		int control = dst >> 8 == 0xe00000;
		if (is_inside_host(src) && !(src == 0 && control))
			return DROPPED;
		return control ? TO_CPU : DROPPED;
	}
	if (unlikely(dst == 0xffffffff))
		return is_inside_host(src) && src != 0 ? DROPPED : TO_CPU;
	if (is_inside_host(src) || is_inside_host(dst))
		return DROPPED;
	w->length = w->l3 + total;
	return GOES_ON;
}

// The checks of RFC 8200 and RFC 4291 before the lookups.
static inline uint8_t check6(struct work *w)
{
	static const uint8_t loopback[16] = { [15] = 1 }, mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *ip = w->bytes + w->l3, *src = ip + 8, *dst = ip + 24;
	uint32_t arrived = w->length - w->l3, total;
	if (arrived < 40 || ip[0] >> 4 != 6)
		return DROPPED;
	total = 40u + get16(ip + 4);
	if (arrived < total)
		return DROPPED;
	if (!memcmp(src, loopback, 16) || src[0] == 0xff || !memcmp(src, mapped, 12) || !memcmp(dst, loopback, 16))
		return DROPPED;
	int is_multicast = dst[0] == 0xff, scope = dst[1] & 15;
	if (is_multicast && scope <= 1)
		return DROPPED;
	if (ip[6] == 0)
		return TO_CPU;
	if (is_multicast)
		return scope == 2 ? TO_CPU : DROPPED;
	if (dst[0] == 0xfe && dst[1] >> 6 == 2)
		return TO_CPU;
	w->length = w->l3 + total;
	return GOES_ON;
}

// What the routes say, before the next hop is read.
static inline uint8_t check_routes(const struct work *w, int family, int is_whole, struct value to, struct value from)
{
	const uint8_t *src = w->bytes + w->l3 + 8;
	static const uint8_t unspecified[16];
	if (family == 4 && is_whole && from.kind == OWN)
		return DROPPED;
	if (to.kind != FORWARD || w->link_group) {
		if (to.kind == OWN || (family == 4 && to.kind == DIRECTED_BROADCAST))
			return TO_CPU;
		if (w->link_group)
			return DROPPED;
		return to.kind == NONE || to.kind == CONNECTED || to.kind == REJECT ? TO_CPU : DROPPED;
	}
	if (family == 6 && !memcmp(src, unspecified, 16))
		return DROPPED;
	if (family == 6 && src[0] == 0xfe && src[1] >> 6 == 2)
		return TO_CPU;
	return is_whole && from.kind == NONE ? TO_CPU : GOES_ON;
}

static inline uint32_t label_word(uint32_t label, uint32_t tc, uint32_t bottom, uint32_t ttl)
{
	return label << 12 | tc << 9 | bottom << 8 | ttl;
}

// Everything after the lookups.
static inline uint8_t forward(struct work *w, int family, int is_whole)
{
	uint8_t *ip = w->bytes + w->l3;
	struct value to = values[w->destination], from = values[w->source];
	uint8_t verdict = check_routes(w, family, is_whole, to, from);
	if (unlikely(verdict != GOES_ON))
		return verdict;
	uint8_t *ttl_at = family == 4 ? ip + 8 : ip + 7;
	uint32_t ttl = *ttl_at, size = w->length - w->l3;
	if (unlikely(ttl <= 1))
		return TO_CPU;
	static const struct hop unknown;
	const struct hop *hop = to.next_hop < hop_count ? &hops[to.next_hop] : &unknown;
	if (is_whole) {
		struct counter *flow = &flows[(uint32_t)from.class << 8 | to.class];
		flow->packets++;
		flow->bytes += size;
	}
	uint32_t stack = 4u * hop->labels;
	if (unlikely(!memcmp(hop->macs, unknown.macs, 6) || size + stack > hop->mtu))
		return TO_CPU;
	ttl--;
	if (family == 4) {
		// RFC 1624: HC' = ~(~HC + ~m + m').
		uint32_t before = (uint32_t)get16(ip + 8), after = ttl << 8 | ip[9];
		uint32_t sum = (uint16_t)~get16(ip + 10) + (uint32_t)(uint16_t)~before + after;
		sum = (sum & 0xffff) + (sum >> 16);
		put16(ip + 10, (uint16_t)~((sum & 0xffff) + (sum >> 16)));
	}
	*ttl_at = (uint8_t)ttl;
	uint32_t tc = family == 4 ? ip[1] >> 5 : (uint32_t)(ip[0] << 4 | ip[1] >> 4) >> 5 & 7;
	uint32_t tag = hop->vlan ? 4 : 0;
	uint8_t *front = ip - 14 - tag - stack, *type = front + 12;
	memcpy(front, hop->macs, 12);
	if (tag) {
		put32(type, (uint32_t)TYPE_VLAN << 16 | hop->vlan);
		type += 4;
	}
	put16(type, hop->labels ? TYPE_MPLS : family == 4 ? TYPE_IPV4 : TYPE_IPV6);
	if (hop->labels) {
		put32(type + 2, label_word(hop->label, tc, hop->labels == 1, ttl));
		if (hop->labels == 2)
			put32(type + 6, label_word(hop->second, tc, 1, ttl));
	}
	w->length += (uint32_t)(w->bytes - front);
	w->bytes = front;
	w->port = hop->port;
	return SENT;
}

static inline __attribute__((always_inline)) void look_up(int family, const struct table *table, void *addresses,
							  uint64_t *found, uint32_t count)
{
	if (family == 4)
		rte_fib_lookup_bulk(table->v4, addresses, found, (int)count);
	else
		rte_fib6_lookup_bulk(table->v6, addresses, found, (int)count);
}

static inline __attribute__((always_inline)) void burst(const struct frame *in, uint32_t count, uint32_t ahead,
							int family, int is_whole)
{
	static uint32_t to4[BURST], from4[BURST];
	static uint8_t to6[BURST][16], from6[BURST][16];
	static uint64_t to[BURST], from[BURST];
	struct work *list[BURST];
	uint32_t alive = 0;
	for (uint32_t i = 0; i < ahead; i++) {
		rte_prefetch1(in[count + i].bytes);
		rte_prefetch1(in[count + i].bytes + RTE_MIN(in[count + i].length, 64u) - 1);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct work *w = &works[i];
		uint16_t type = arrive(w, &buffers[i], &in[i]);
		if (w->verdict != GOES_ON)
			continue;
		const uint8_t *ip = w->bytes + w->l3;
		if (type != (family == 4 ? TYPE_IPV4 : TYPE_IPV6))
			w->verdict = DROPPED;
		else
			w->verdict = family == 4 ? check4(w) : check6(w);
		if (w->verdict != GOES_ON)
			continue;
		if (family == 4) {
			to4[alive] = get32(ip + 16);
			from4[alive] = get32(ip + 12);
		} else {
			memcpy(to6[alive], ip + 24, 16);
			memcpy(from6[alive], ip + 8, 16);
		}
		list[alive++] = w;
	}
	look_up(family, &destinations, family == 4 ? (void *)to4 : to6, to, alive);
	if (is_whole)
		look_up(family, &sources, family == 4 ? (void *)from4 : from6, from, alive);
	for (uint32_t i = 0; i < alive; i++) {
		list[i]->destination = (uint16_t)to[i];
		list[i]->source = is_whole ? (uint16_t)from[i] : 0;
		const struct value to_value = values[list[i]->destination], from_value = values[list[i]->source];
		if (is_whole)
			rte_prefetch0(&flows[(uint32_t)from_value.class << 8 | to_value.class]);
	}
	for (uint32_t i = 0; i < alive; i++)
		list[i]->verdict = forward(list[i], family, is_whole);
}

// What the outside sees of a packet.
static inline uint64_t leave(const struct work *w)
{
	if (unlikely(output != NULL) && w->verdict == SENT) {
		uint32_t head[2] = { w->port, w->length };
		if (fwrite(head, sizeof(head), 1, output) != 1 || fwrite(w->bytes, w->length, 1, output) != 1)
			fail("the packets cannot be written");
	}
	return w->verdict + w->length + w->port;
}

static inline __attribute__((always_inline)) uint64_t pass(int family, int is_whole)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < frame_count; at += BURST) {
		uint32_t count = (uint32_t)RTE_MIN((size_t)BURST, frame_count - at);
		uint32_t ahead = (uint32_t)RTE_MIN((size_t)BURST, frame_count - at - count);
		burst(&frames[at], count, ahead, family, is_whole);
		for (uint32_t i = 0; i < count; i++)
			sum += leave(&works[i]);
	}
	return sum;
}

static uint64_t run(int family, int is_whole)
{
	if (family == 4)
		return is_whole ? pass(4, 1) : pass(4, 0);
	return is_whole ? pass(6, 1) : pass(6, 0);
}

// Looks all destinations up; they are gathered before the clock starts. Returns nanoseconds, 0 without the lookup
// function that is asked for.
static uint64_t time_lookups(int family, int is_vector, uint64_t *sum)
{
	size_t bytes = (size_t)(family == 4 ? 4 : 16);
	uint8_t *addresses = malloc(frame_count * bytes + 1);
	uint64_t found[BURST];
	if (!addresses)
		fail("there is no memory");
	for (size_t i = 0; i < frame_count; i++) {
		const uint8_t *ip = frames[i].bytes + 14;
		if (family == 4) {
			uint32_t to = get32(ip + 16);
			memcpy(addresses + 4 * i, &to, 4);
		} else {
			memcpy(addresses + 16 * i, ip + 24, 16);
		}
	}
	int refused = family == 4 ? rte_fib_select_lookup(destinations.v4, is_vector ? RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512
										     : RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO)
				  : rte_fib6_select_lookup(destinations.v6, is_vector ? RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512
										      : RTE_FIB6_LOOKUP_TRIE_SCALAR);
	uint64_t begin = now_ns();
	for (size_t i = 0; !refused && i + BURST <= frame_count; i += BURST) {
		look_up(family, &destinations, addresses + bytes * i, found, BURST);
		for (int j = 0; j < BURST; j++)
			*sum += found[j];
	}
	uint64_t elapsed = refused ? 0 : now_ns() - begin;
	if (family == 4)
		rte_fib_select_lookup(destinations.v4, RTE_FIB_LOOKUP_DEFAULT);
	else
		rte_fib6_select_lookup(destinations.v6, RTE_FIB6_LOOKUP_DEFAULT);
	free(addresses);
	return elapsed;
}

// Puts each packet into memory of its own.
static void read_packets(const char *folder)
{
	uint8_t *all;
	size_t size = read_records(folder, "packets", 1, (void **)&all);
	frames = calloc(MOST_PACKETS, sizeof(*frames));
	if (!frames)
		fail("there is no memory");
	for (size_t at = 0; at < size;) {
		struct packet head;
		if (size - at < sizeof(head) || frame_count == MOST_PACKETS)
			fail("the packets are cut off, or too many");
		memcpy(&head, all + at, sizeof(head));
		at += sizeof(head);
		if (head.length == 0 || head.length > size - at)
			fail("a packet is empty or cut off");
		uint8_t *own = malloc(head.length);
		if (!own)
			fail("there is no memory");
		memcpy(own, all + at, head.length);
		frames[frame_count++] = (struct frame){ .bytes = own, .length = head.length, .ingress = head.ingress };
		at += head.length;
	}
	free(all);
}

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[2], "4") && strcmp(argv[2], "6")))
		fail("usage: router FOLDER 4|6");
	int family = argv[2][0] - '0', address_bytes = family == 4 ? 4 : 16;
	start_dpdk(argv[0]);
	port_count = read_records(argv[1], "ports", sizeof(*ports), (void **)&ports);
	hop_count = read_records(argv[1], "hops", sizeof(*hops), (void **)&hops);
	if (read_records(argv[1], "values", sizeof(*values), (void **)&values) > 1 << 15)
		fail("there are more than 32,768 values");
	destinations = make_table(argv[1], "destinations", address_bytes);
	sources = make_table(argv[1], "sources", address_bytes);
	read_packets(argv[1]);

	char line[4096 + 32], path[4096];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t sum = 0, begin = now_ns(), elapsed;
		int only_forwards = sscanf(line, "write-forward %4095s", path) == 1;
		if (only_forwards || sscanf(line, "write %4095s", path) == 1) {
			output = fopen(path, "wb");
			if (!output)
				fail(path);
			sum = run(family, !only_forwards);
			if (fclose(output))
				fail(path);
			output = NULL;
			elapsed = now_ns() - begin;
		} else if (!strcmp(line, "scalar\n") || !strcmp(line, "vector\n")) {
			elapsed = time_lookups(family, line[0] == 'v', &sum);
		} else {
			sum = run(family, strcmp(line, "forward\n") != 0);
			elapsed = now_ns() - begin;
		}
		printf("%llu %zu %zu %llu\n", (unsigned long long)elapsed, frame_count, destinations.bytes,
		       (unsigned long long)sum);
		fflush(stdout);
	}
	return 0;
}
