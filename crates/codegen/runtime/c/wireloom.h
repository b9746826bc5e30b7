/* The Wireloom runtime: what all generated engines include, beside the headers of the offload kinds that they use. */
#ifndef WIRELOOM_H
#define WIRELOOM_H

#include "batch.h"

#endif
