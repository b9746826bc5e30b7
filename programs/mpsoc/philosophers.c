// Five philosophers, each a thread, share five forks: shared memory with monitors, conditions,
// semaphores and priorities (docs/machines/mpsoc-applications.md).

#include "wl_print.h"
#include "wl_threads.h"

enum { PHILOSOPHERS = 5, MEALS = 4 };

static bool taken[PHILOSOPHERS];  // forks, guarded by the monitor of this name
static bool changed;              // its address names the condition that a fork was put down
static uint32_t finished;         // its address names a semaphore of finished philosophers
static uint32_t meals[PHILOSOPHERS];

static void eat(uint32_t me) {
    uint32_t left = me, right = (me + 1) % PHILOSOPHERS;
    wl_monitor_enter(taken);
    while (taken[left] || taken[right]) wl_condition_wait(&changed, taken);
    taken[left] = taken[right] = true;
    wl_monitor_leave(taken);

    meals[me]++;

    wl_monitor_enter(taken);
    taken[left] = taken[right] = false;
    wl_condition_notify_all(&changed, taken);
    wl_monitor_leave(taken);
}

static uint32_t philosopher(uint32_t me) {
    for (unsigned meal = 0; meal < MEALS; meal++) eat(me);
    wl_semaphore_release(&finished, 1);
    return meals[me];
}

int main(void) {
    wl_thread philosophers[PHILOSOPHERS];
    // A greater number means greater urgency among threads that wait for the monitor.
    for (uint32_t me = 0; me < PHILOSOPHERS; me++) philosophers[me] = wl_thread_create(philosopher, me, me);
    for (unsigned k = 0; k < PHILOSOPHERS; k++) wl_semaphore_acquire(&finished);
    uint32_t all = 0;
    for (unsigned k = 0; k < PHILOSOPHERS; k++) {
        uint32_t eaten = wl_thread_join(philosophers[k]);
        wl_printf("philosopher %u has eaten %u times\n", k, eaten);
        all += eaten;
    }
    return all == PHILOSOPHERS * MEALS ? 0 : 1;
}
