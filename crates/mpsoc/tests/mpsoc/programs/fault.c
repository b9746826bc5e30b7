/* The first byte of a packet selects the error to make. */
#include "mpe.h"

const u32 constant = 5;

/* Its frames exceed the stack. */
static __attribute__((noinline)) u32 deepen(u32 levels) {
    volatile u32 frame[8];
    frame[levels & 7] = levels;
    return levels ? deepen(levels - 1) + frame[levels & 7] : 0;
}

int main(void) {
    for (;;) {
        (void)RECEIVE;
        switch (BYTE(0)) {
        case 0: WORD(&constant) = 1; break;
        case 1: (void)WAIT(2); break;
        case 2: LENGTH = 1; SEND = FINISH; break;
        case 3: CALL(5, 0, 0) = 0; break;
        case 4: SHARED(1 << 20) = 0; break;
        case 5: SEND = DONE; SEND = DONE; break;
        case 6: (void)WORD(0x50000000); break;
        case 7: (void)WORD(0x14); break;
        case 8: deepen(1000); break;
        default: for (;;) __asm__ volatile("");
        }
        SEND = DONE;
    }
}
