#include <stddef.h>
#include <xxhash.h>
// The plain functions are built for the least processor of the architecture; these take what the one at hand has.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

static inline XXH64_hash_t larder_xxh3(const void *bytes, size_t count) { return XXH3_64bits(bytes, count); }

static inline void larder_xxh3_update(XXH3_state_t *state, const void *bytes, size_t count) {
    (void)XXH3_64bits_update(state, bytes, count);
}
