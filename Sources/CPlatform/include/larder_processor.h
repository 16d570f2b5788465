#ifndef LARDER_PROCESSOR_H
#define LARDER_PROCESSOR_H

/// The number of the processor that the calling thread runs on, or -1. It may run on another one a moment later.
int larder_processor(void);

#endif
