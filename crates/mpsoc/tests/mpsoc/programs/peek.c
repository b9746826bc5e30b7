/* Exposes the timing to threads: how often they poll until a reply has arrived, and the cycle in
   which they send. */
#include "mpe.h"

#define CYCLES WORD(0x20000024)

enum { NOT_YET = 0x12345678 };

int main(void) {
    for (;;) {
        (void)RECEIVE;
        ARGUMENT(0) = BYTE(0);
        ARGUMENT(1) = 2;
        REPLY(3, 0) = NOT_YET;
        CALL(0, 0, 3) = 3;
        u32 looks = 0;
        while (REPLY(3, 0) == NOT_YET) {
            looks++;
            /* Instructions executed before the arrival of a reply do not overwrite it. */
            ARGUMENT(looks & 15) = looks;
        }
        BYTE(2) = looks;
        BYTE(3) = looks >> 8;
        EGRESS = WAIT(3);
        u32 cycle = CYCLES;
        for (u32 byte = 0; byte < 4; byte++) {
            BYTE(4 + byte) = cycle >> 8 * byte;
        }
        SEND = FINISH;
    }
}
