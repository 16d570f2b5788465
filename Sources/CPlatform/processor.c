#define _GNU_SOURCE
#include "larder_processor.h"

#include <sched.h>

int larder_processor(void) { return sched_getcpu(); }
