#ifndef LARDER_MACHINES_H
#define LARDER_MACHINES_H

// Vector code is compiled for several machines, and which of them this is is found out when it is loaded.
// Not under ThreadSanitizer, which clang has watch the choosing too, before it is loaded: that ends the process.
#if defined(__x86_64__) && defined(__ELF__) && !__has_feature(thread_sanitizer)
#define FOR_EACH_MACHINE __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EACH_MACHINE
#endif

#endif
