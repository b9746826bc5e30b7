// Threads with shared memory, on the thread manager: each has a hardware thread to itself. All
// threads share the variables of the program. Only the thread itself sees variables on its stack,
// so a pointer to one must not be given to another thread.
#pragma once

#include "wl_platform.h"

typedef uint32_t wl_thread;

// Sends a request with up to three words; returns the reply.
static inline uint32_t wl_manage(uint32_t method, uint32_t first, uint32_t second, uint32_t last) {
    WL_ARGUMENT_WORDS[0] = first;
    WL_ARGUMENT_WORDS[1] = second;
    wl_call(WL_THREAD_MANAGER, method, WL_OWN_TICKET, last);
    return wl_wait(WL_OWN_TICKET);
}

// Creates a thread that executes a function. It begins at once if a hardware thread is free,
// otherwise when one becomes free; more urgent threads (greater priority) begin first.
static inline wl_thread wl_thread_create(uint32_t (*function)(uint32_t), uint32_t argument, uint32_t priority) {
    return wl_manage(0, (uint32_t)function, argument, priority);
}

// Ends this thread; the program ends with its first thread.
__attribute__((noreturn)) static inline void wl_thread_exit(uint32_t value) {
    wl_call(WL_THREAD_MANAGER, 1, WL_ONE_WAY, value);
    __builtin_unreachable();
}

// Waits for a thread's end; returns the value of its function.
static inline uint32_t wl_thread_join(wl_thread thread) {
    return wl_manage(2, 0, 0, thread);
}

// Returns the number of this thread.
static inline wl_thread wl_thread_self(void) {
    return wl_manage(11, 0, 0, 0);
}

// Threads that wait for the same event are served by priority, equals in the order of arrival.
// Returns the previous priority.
static inline uint32_t wl_thread_set_priority(uint32_t priority) {
    return wl_manage(10, 0, 0, priority);
}

// Addresses name monitors, conditions and semaphores, such as the address of the data that a
// monitor guards; no memory is used there. A thread can enter a monitor again that it is in, and
// must leave it as often.
static inline void wl_monitor_enter(const void *monitor) {
    wl_manage(3, 0, 0, (uint32_t)monitor);
}

static inline void wl_monitor_leave(const void *monitor) {
    wl_manage(4, 0, 0, (uint32_t)monitor);
}

// Leaves the monitor, waits for a notification, and enters it again. Test the condition again then:
// another thread may have been faster.
static inline void wl_condition_wait(const void *condition, const void *monitor) {
    wl_manage(5, (uint32_t)condition, 0, (uint32_t)monitor);
}

// Wakes one waiting thread, if there is one. Returns the number of woken threads.
static inline uint32_t wl_condition_notify(const void *condition, const void *monitor) {
    return wl_manage(6, (uint32_t)condition, 0, (uint32_t)monitor);
}

// Wakes all waiting threads. Returns the number of woken threads.
static inline uint32_t wl_condition_notify_all(const void *condition, const void *monitor) {
    return wl_manage(7, (uint32_t)condition, 0, (uint32_t)monitor);
}

// Takes a unit of a semaphore, which begins with 0 units; waits for one.
static inline void wl_semaphore_acquire(const void *semaphore) {
    wl_manage(8, 0, 0, (uint32_t)semaphore);
}

// Adds units to a semaphore.
static inline void wl_semaphore_release(const void *semaphore, uint32_t count) {
    wl_manage(9, (uint32_t)semaphore, 0, count);
}
