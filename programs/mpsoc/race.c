// Two threads increment one variable without synchronisation: `wireloom mpsoc application
// programs/mpsoc/race.c --on mpsoc-oc48 --races` reports the race.

#include "wl_print.h"
#include "wl_threads.h"

enum { ROUNDS = 100 };

static uint32_t count;          // incremented without synchronisation
static uint32_t guarded_count;  // incremented inside the monitor of this name

static uint32_t counts(uint32_t unused) {
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        count++;
        wl_monitor_enter(&guarded_count);
        guarded_count++;
        wl_monitor_leave(&guarded_count);
    }
    return 0;
}

int main(void) {
    wl_thread other = wl_thread_create(counts, 0, 0);
    counts(0);
    wl_thread_join(other);
    wl_printf("guarded %u, not guarded %u, of %u\n", guarded_count, count, 2 * ROUNDS);
    return 0;
}
