// Lookups alone, with the functions that generated engines call: bursts of keys, as a batch of threads makes them.
#include "wireloom.h"

#include "lpm.h"

enum { BURST = 64 };

// Looks `count` keys up (a multiple of BURST) and writes the number of each one's value, a burst after the other to the
// same place, as rte_fib_lookup_bulk does for a forwarder. Returns their sum.
uint64_t look_up(const struct wl_lpm_table *table, const uint32_t *keys, size_t count)
{
	const struct wl_slot slot = { .data = (void *)(uintptr_t)table, .spread = table->spread,
				      .blocks = table->blocks, .values = table->values };
	struct wl_lpm_walk walks[BURST];
	uint64_t found[BURST], sum = 0;
	for (size_t at = 0; at + BURST <= count; at += BURST) {
		const uint32_t *burst = keys + at;
		for (uint32_t i = 0; i < BURST; i++)
			wl_lpm32_fetch(&slot, burst[i], 18);
		for (uint32_t i = 0; i < BURST; i++)
			wl_lpm32_begin(&slot, burst[i], 18, &walks[i]);
		for (uint32_t i = 0; i < BURST && wl_lpm_is_deep(&slot); i++)
			wl_lpm32_walk(&slot, burst[i], 18, &walks[i]);
		for (uint32_t i = 0; i < BURST; i++)
			found[i] = wl_lpm32_value(&slot, burst[i], 1, &walks[i])[0];
		for (uint32_t i = 0; i < BURST; i++)
			sum += found[i];
	}
	return sum;
}
