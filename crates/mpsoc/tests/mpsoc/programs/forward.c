/* The first byte selects the fate of a packet: 0 sent changed, 1 dropped with a reason, 2 sent
   twice, 3 to the control processor with fewer bytes, 4 gone. Words from a table of constants and
   from objects are written into sent packets. */
#include "mpe.h"

const u32 table[64] = { [0] = 0x01020304, [17] = 0x55667788, [63] = 7 };

int main(u32 thread) {
    for (;;) {
        u32 number = RECEIVE;
        u32 length = INFORMATION(2);
        SHARED(thread) = SHARED(thread) + 1;
        ARGUMENT(0) = number;
        ARGUMENT(1) = length;
        CALL(0, 0, 3) = table[BYTE(1) & 63];
        CALL(1, 0, 1) = number;
        CALL(0, 1, 0) = number;
        u32 sum = WAIT(3);
        u32 last = WAIT(1) + REPLY(1, 11);
        if (REPLY(3, 1) != number || REPLY(3, 0) != sum) SEND = DROP | 99 << 8;
        else switch (BYTE(0)) {
        case 0:
            /* Four bytes in front hold the sum. */
            WINDOW_FRONT = 0x102 - 4;
            LENGTH = length + 4;
            for (int i = 0; i < 4; i++) BYTE(i - 4) = sum >> (24 - 8 * i);
            BYTE(2) = last;
            EGRESS = 5;
            SEND = FINISH;
            break;
        case 1: SEND = DROP | 300 << 8 | 2u << 24; break;
        case 2:
            EGRESS = 1;
            SEND = EMIT;
            BYTE(2) = 0xee;
            EGRESS = 2;
            SEND = FINISH;
            break;
        case 3:
            WINDOW_END = 0x102 + 10;
            LENGTH = 10;
            SEND = TO_CPU | 1 << 8;
            break;
        case 4: SEND = DONE; break;
        default: SEND = RUNAWAY;
        }
    }
}
