/* Bounds that the golden model sets. A test compares them with its own. */
#ifndef WL_BOUNDS_H
#define WL_BOUNDS_H

enum {
    WL_WINDOW = 128,              /* bytes of an arriving packet that its header window holds */
    WL_LONGEST = 256,             /* the longest window */
    WL_MAX_LENGTH = 65535,        /* the longest packet */
    WL_MAX_BACKWARD_JUMPS = 65535 /* a thread that jumps backwards more often is stopped */
};

#endif
