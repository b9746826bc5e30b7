/* The Wireloom runtime: the headers that all generated engines include, besides those of the
 * offload kinds that they use. */
#ifndef WIRELOOM_H
#define WIRELOOM_H

#include "batch.h"

#endif
