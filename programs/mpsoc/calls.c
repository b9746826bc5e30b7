// Object calls from one processor to another, as fast as possible: the threads of the first
// processor are clients, those of the second are servers of one service. It is for processors of 16
// threads, or of the number given with -DTHREADS=8, and makes 500 calls per client, or the number
// given with -DCALLS=100. With -DONE_WAY no server replies.

#include "calls.h"
#include "wl_print.h"
#include "wl_threads.h"

#ifndef THREADS
#define THREADS 16
#endif
#ifndef CALLS
#define CALLS 500
#endif

static uint32_t wrong;   // clients that got a wrong reply; each writes only in that case
static uint32_t served;  // the semaphore of clients whose last note has arrived

uint32_t Adder_on_add(void *object, uint32_t a, uint32_t b) {
    (void)object;
    return a + b;
}

// The value is the number of notes that the client has still to send.
void Adder_on_note(void *object, uint32_t value) {
    (void)object;
    if (value == 0) wl_semaphore_release(&served, 1);
}

static uint32_t server(uint32_t unused) {
    (void)unused;
    return wl_serve(SERVICE_adders, Adder_serve, 0);
}

#ifdef ONE_WAY
static uint32_t client(uint32_t unused) {
    (void)unused;
    for (uint32_t left = CALLS; left-- > 0;) Adder_note(SERVICE_adders, left);
    return 0;
}

// Calls are served in the order in which they arrive: after the last ones all others have been
// served.
static void wait_for_servers(void) {
    for (unsigned k = 0; k < THREADS; k++) wl_semaphore_acquire(&served);
}
#else
// Two calls are in flight at a time.
static uint32_t client(uint32_t me) {
    bool is_right = true;
    Adder_add_begin(SERVICE_adders, 0, me, 0);
    for (uint32_t call = 1; call < CALLS; call++) {
        Adder_add_begin(SERVICE_adders, call & 1, me, call);
        is_right &= Adder_add_end(~call & 1) == me + call - 1;
    }
    is_right &= Adder_add_end(~CALLS & 1) == me + CALLS - 1;
    if (!is_right) wrong = 1;
    return 0;
}

// A client has the replies to all of its calls.
static void wait_for_servers(void) {
}
#endif

int main(void) {
    wl_thread clients[THREADS];
    // Hardware threads are assigned in the order of their numbers, so the first processor is full
    // when servers begin.
    for (uint32_t me = 1; me < THREADS; me++) clients[me] = wl_thread_create(client, me, 0);
    for (uint32_t k = 0; k < THREADS; k++) wl_thread_create(server, 0, 0);
    uint32_t begin = wl_cycles();
    client(0);
    for (unsigned k = 1; k < THREADS; k++) wl_thread_join(clients[k]);
    wait_for_servers();
    uint32_t cycles = wl_cycles() - begin;
    uint32_t calls = THREADS * CALLS;
    wl_printf("%u calls in %u cycles: %u.%u cycles a call\n", calls, cycles, cycles / calls, cycles * 10 / calls % 10);
    return wrong ? 1 : 0;
}
