// DPDK's tables for longest-prefix matching, filled from records of prefixes. They give the number of a value: with
// two bytes an entry the tables are half as large as with four, and the values stay in the first-level cache.
#pragma once
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>

#include "records.h"

struct table {
	struct rte_fib *v4;
	struct rte_fib6 *v6;
	size_t bytes; // of entries
};

// Asks for huge pages: DPDK's memory comes from ordinary pages here, and each lookup would miss the translation
// buffers.
static int use_huge_pages(const struct rte_memseg_list *list, void *unused)
{
	(void)unused;
	madvise(list->base_va, list->len, MADV_HUGEPAGE);
	return 0;
}

// Starts DPDK without devices and without huge pages of the system's pool.
static inline void start_dpdk(char *name)
{
	char *eal[] = { name, "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m", "1024", "--lcores", "0",
			"--log-level", "error" };
	if (rte_eal_init(sizeof(eal) / sizeof(eal[0]), eal) < 0)
		fail("the DPDK environment does not start");
	rte_memseg_list_walk(use_huge_pages, NULL);
}

// The number of groups of 256 entries below the first 24 bits that the prefixes need at most: one for each byte
// boundary that a longer prefix passes, shared by prefixes of the same leading bytes that follow each other.
static inline uint32_t count_groups(const struct prefix *prefixes, size_t count, int longest)
{
	uint64_t groups = 0;
	for (int bytes = 3; bytes < longest; bytes++) {
		uint8_t last[16];
		int seen = 0;
		for (size_t i = 0; i < count; i++) {
			if (prefixes[i].length <= 8 * bytes)
				continue;
			if (seen && !memcmp(last, prefixes[i].address, (size_t)bytes))
				continue;
			memcpy(last, prefixes[i].address, (size_t)bytes);
			seen = 1;
			groups++;
		}
	}
	return (uint32_t)groups + 16;
}

static inline uint32_t address4(const uint8_t *a)
{
	return (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
}

// Makes a table of IPv6 prefixes, if these entries and so many groups hold them.
static inline int make_table6(struct table *table, const char *name, const struct prefix *prefixes, size_t count,
			      enum rte_fib_trie_nh_sz entry, uint32_t groups)
{
	struct rte_fib6_conf config = {
		.type = RTE_FIB6_TRIE,
		.default_nh = 0,
		.max_routes = (int)count + 1,
		.trie = { .nh_sz = entry, .num_tbl8 = groups },
	};
	table->v6 = rte_fib6_create(name, SOCKET_ID_ANY, &config);
	if (!table->v6)
		fail("the IPv6 table cannot be made");
	for (size_t i = 0; i < count; i++) {
		if (rte_fib6_add(table->v6, prefixes[i].address, prefixes[i].length, prefixes[i].value)) {
			rte_fib6_free(table->v6);
			return 0;
		}
	}
	return 1;
}

// Makes a table of the prefixes in file NAME, for addresses of 4 or 16 bytes. The fastest lookup of this processor is
// chosen: vector instructions where DPDK has them for it.
static inline struct table make_table(const char *folder, const char *name, int address_bytes)
{
	struct prefix *prefixes;
	size_t count = read_records(folder, name, sizeof(*prefixes), (void **)&prefixes);
	uint32_t groups = count_groups(prefixes, count, address_bytes);
	struct table table = { .bytes = 2 * ((size_t)(1 << 24) + (size_t)groups * 256) };
	if (address_bytes == 4) {
		struct rte_fib_conf config = {
			.type = RTE_FIB_DIR24_8,
			.default_nh = 0,
			.max_routes = (int)count + 1,
			.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_2B, .num_tbl8 = groups },
		};
		table.v4 = rte_fib_create(name, SOCKET_ID_ANY, &config);
		if (!table.v4)
			fail("the IPv4 table cannot be made");
		for (size_t i = 0; i < count; i++)
			if (rte_fib_add(table.v4, address4(prefixes[i].address), prefixes[i].length, prefixes[i].value))
				fail("an IPv4 prefix is refused");
		rte_fib_select_lookup(table.v4, RTE_FIB_LOOKUP_DEFAULT);
	} else {
		/* rte_fib6 refuses a prefix when it has reserved all groups, and it reserves some that it never
		 * uses: one for each byte of a prefix past its parent. Entries of two bytes can name 32,767
		 * groups. If these do not suffice, entries have four bytes. */
		uint32_t reserved = 16;
		for (size_t i = 0; i < count; i++)
			if (prefixes[i].length > 24)
				reserved += (prefixes[i].length - 24 + 7u) / 8;
		size_t entry = make_table6(&table, name, prefixes, count, RTE_FIB6_TRIE_2B, RTE_MIN(reserved, 32767u)) ? 2 : 4;
		if (entry == 4 && !make_table6(&table, name, prefixes, count, RTE_FIB6_TRIE_4B, reserved))
			fail("an IPv6 prefix is refused");
		table.bytes = entry * ((size_t)(1 << 24) + (size_t)groups * 256);
		rte_fib6_select_lookup(table.v6, RTE_FIB6_LOOKUP_DEFAULT);
	}
	free(prefixes);
	return table;
}
