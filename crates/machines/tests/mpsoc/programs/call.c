/* A call for each packet, whose reply it waits for. */
#include "mpe.h"

int main(void) {
    for (;;) {
        (void)RECEIVE;
        ARGUMENT(0) = 1;
        ARGUMENT(1) = 2;
        CALL(0, 0, 0) = 3;
        EGRESS = WAIT(0);
        SEND = FINISH;
    }
}
