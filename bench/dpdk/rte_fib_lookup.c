// The peer that longest-prefix matching is measured against: DPDK's rte_fib (DIR-24-8) over the same prefixes and
// the same destinations.
//
// Usage: rte_fib_lookup PREFIXES DESTINATIONS [EAL options]
// PREFIXES: records of 4 bytes address (host order), 1 byte length, 3 bytes zero, 8 bytes next hop.
// DESTINATIONS: addresses of 4 bytes, host order.
// For each line on standard input it looks all destinations up once, in bursts of 32 as DPDK applications do, and
// prints nanoseconds, lookups and a checksum of the next hops found. So a caller can take turns with it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_memory.h>

enum { BURST = 32, TBL8_GROUPS = 1 << 15 };

struct prefix {
	uint32_t address;
	uint8_t length;
	uint8_t zero[3];
	uint64_t next_hop;
};

static void fail(const char *what)
{
	fprintf(stderr, "rte_fib_lookup: %s\n", what);
	exit(2);
}

// Reads a whole file of records; answers their number.
static size_t read_records(const char *path, size_t size, void **records)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		fail(path);
	long length = ftell(file);
	if (length < 0 || length % (long)size)
		fail(path);
	rewind(file);
	*records = malloc(length ? (size_t)length : 1);
	if (!*records || fread(*records, 1, (size_t)length, file) != (size_t)length)
		fail(path);
	fclose(file);
	return (size_t)length / size;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		fail("PREFIXES and DESTINATIONS are missing");
	struct prefix *prefixes;
	uint32_t *destinations;
	size_t prefix_count = read_records(argv[1], sizeof(*prefixes), (void **)&prefixes);
	size_t count = read_records(argv[2], sizeof(*destinations), (void **)&destinations);

	// No huge pages, no devices: this is a lookup loop, not a forwarder.
	char *eal[] = { argv[0], "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m", "512", "--lcores", "0",
			"--log-level", "error" };
	if (rte_eal_init(sizeof(eal) / sizeof(eal[0]), eal) < 0)
		fail("the DPDK environment does not start");

	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = 0,
		.max_routes = (int)prefix_count + 1,
		.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = TBL8_GROUPS },
	};
	struct rte_fib *fib = rte_fib_create("peer", SOCKET_ID_ANY, &config);
	if (!fib)
		fail("the table cannot be made");
	for (size_t i = 0; i < prefix_count; i++)
		if (rte_fib_add(fib, prefixes[i].address, prefixes[i].length, prefixes[i].next_hop))
			fail("a prefix is refused");

	char line[64];
	uint64_t hops[BURST];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t sum = 0;
		uint64_t begin = now_ns();
		for (size_t i = 0; i + BURST <= count; i += BURST) {
			rte_fib_lookup_bulk(fib, &destinations[i], hops, BURST);
			for (int j = 0; j < BURST; j++)
				sum += hops[j];
		}
		uint64_t elapsed = now_ns() - begin;
		printf("%llu %zu %llu\n", (unsigned long long)elapsed, count / BURST * BURST, (unsigned long long)sum);
		fflush(stdout);
	}
	return 0;
}
