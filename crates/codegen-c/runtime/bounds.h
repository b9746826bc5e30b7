/* Bounds that the golden model sets. A test compares them with those of the model. */
#ifndef WL_BOUNDS_H
#define WL_BOUNDS_H

enum {
    WL_WINDOW = 128,              /* bytes of an arriving packet in its header window */
    WL_LONGEST = 256,             /* the longest window */
    WL_MAX_LENGTH = 65535,        /* the longest packet */
    WL_MAX_BACKWARD_JUMPS = 65535 /* a thread with more backward jumps is stopped */
};

#endif
