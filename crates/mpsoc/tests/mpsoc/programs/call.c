/* Makes a call for each packet and waits for its reply. */
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
