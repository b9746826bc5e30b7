/* The Wireloom runtime: all that generated engines include. */
#ifndef WIRELOOM_H
#define WIRELOOM_H

#include "batch.h"
#include "compute.h"
#include "lpm.h"
#include "state.h"
#include "wide.h"

#endif
