// The code that every thread executes first, and functions that compilers require.

#include <stddef.h>

#include "wl_threads.h"

int main(void);

// The machine has set the stack pointer. The first thread of the program has no function argument.
__attribute__((noreturn, used, section(".text.start"))) void _start(uint32_t argument, uint32_t (*function)(uint32_t)) {
    wl_thread_exit(function ? function(argument) : (uint32_t)main());
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    unsigned char *place = to;
    for (const unsigned char *next = from; bytes > 0; bytes--) *place++ = *next++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    unsigned char *place = to;
    const unsigned char *next = from;
    if (place < next) return memcpy(to, from, bytes);
    while (bytes > 0) bytes--, place[bytes] = next[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    for (unsigned char *place = to; bytes > 0; bytes--) *place++ = (unsigned char)value;
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes) {
    const unsigned char *a = one, *b = other;
    for (; bytes > 0; bytes--, a++, b++)
        if (*a != *b) return *a - *b;
    return 0;
}
