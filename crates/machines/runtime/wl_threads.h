// Threads that share memory, on the thread manager: each has a hardware thread to itself. Variables of the program are shared by all; those on a stack are seen by
// their thread alone, so that no pointer to one may be given to another.
#pragma once

#include "wl_platform.h"

typedef uint32_t wl_thread;

// A request with up to three words; its answer.
static inline uint32_t wl_manage(uint32_t method, uint32_t first, uint32_t second, uint32_t last) {
    WL_ARGUMENT_WORDS[0] = first;
    WL_ARGUMENT_WORDS[1] = second;
    wl_call(WL_THREAD_MANAGER, method, WL_OWN_TICKET, last);
    return wl_wait(WL_OWN_TICKET);
}

// A new thread, which executes a function. It begins at once if a hardware thread is free, else when one is; the more urgent ones (greater priority) first.
static inline wl_thread wl_thread_create(uint32_t (*function)(uint32_t), uint32_t argument, uint32_t priority) {
    return wl_manage(0, (uint32_t)function, argument, priority);
}

// Ends this thread; the program ends with its first thread.
__attribute__((noreturn)) static inline void wl_thread_exit(uint32_t value) {
    wl_call(WL_THREAD_MANAGER, 1, WL_ONE_WAY, value);
    __builtin_unreachable();
}

// Waits for a thread's end: what its function has answered.
static inline uint32_t wl_thread_join(wl_thread thread) {
    return wl_manage(2, 0, 0, thread);
}

// This thread.
static inline wl_thread wl_thread_self(void) {
    return wl_manage(11, 0, 0, 0);
}

// Whoever waits for the same thing is served by priority, among equals in the order of coming. Answers the priority before.
static inline uint32_t wl_thread_set_priority(uint32_t priority) {
    return wl_manage(10, 0, 0, priority);
}

// Monitors, conditions and semaphores are named by an address, such as that of what a monitor guards; nothing stands there for them. A monitor that a thread is in
// can be entered by it again, and must be left as often.
static inline void wl_monitor_enter(const void *monitor) {
    wl_manage(3, 0, 0, (uint32_t)monitor);
}

static inline void wl_monitor_leave(const void *monitor) {
    wl_manage(4, 0, 0, (uint32_t)monitor);
}

// Leaves the monitor, waits for a notification, enters again. Ask again then for what was waited for: another thread may have been faster.
static inline void wl_condition_wait(const void *condition, const void *monitor) {
    wl_manage(5, (uint32_t)condition, 0, (uint32_t)monitor);
}

// Wakes one that waits, if there is one. Answers how many were woken.
static inline uint32_t wl_condition_notify(const void *condition, const void *monitor) {
    return wl_manage(6, (uint32_t)condition, 0, (uint32_t)monitor);
}

// Wakes all that wait. Answers how many were woken.
static inline uint32_t wl_condition_notify_all(const void *condition, const void *monitor) {
    return wl_manage(7, (uint32_t)condition, 0, (uint32_t)monitor);
}

// Takes a unit of a semaphore, which begins with none; waits for one.
static inline void wl_semaphore_acquire(const void *semaphore) {
    wl_manage(8, 0, 0, (uint32_t)semaphore);
}

// Gives units to a semaphore.
static inline void wl_semaphore_release(const void *semaphore, uint32_t count) {
    wl_manage(9, (uint32_t)semaphore, 0, count);
}
