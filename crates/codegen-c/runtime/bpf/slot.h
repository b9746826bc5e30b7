/* The file that the runtime of other targets has: see packet.h. */
#include "packet.h"
