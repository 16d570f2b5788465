#define _GNU_SOURCE
#include "larder_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int larder_spawn(const char *path, char *const arguments[], char *const environment[], int input, int output,
                 pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int status = posix_spawn_file_actions_init(&actions);
    if (status != 0) return status;
    status = posix_spawnattr_init(&attributes);
    if (status != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return status;
    }
    sigset_t every, none;
    sigfillset(&every);
    sigemptyset(&none);
    // The descriptors are not 0 or 1 themselves: a program that starts workers has these open, as larder sees to.
    if ((status = posix_spawn_file_actions_adddup2(&actions, input, 0)) == 0 &&
        (status = posix_spawn_file_actions_adddup2(&actions, output, 1)) == 0 &&
        (status = posix_spawn_file_actions_addclosefrom_np(&actions, 3)) == 0 &&
        (status = posix_spawnattr_setsigdefault(&attributes, &every)) == 0 &&
        (status = posix_spawnattr_setsigmask(&attributes, &none)) == 0 &&
        (status = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)) == 0)
        status = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

// What a sanitizer keeps beside each byte is data as well, and more than any limit.
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define LIMITS_DATA 0
#else
#define LIMITS_DATA 1
#endif

int larder_become_worker(unsigned long long data_bytes) {
    struct rlimit none = {0, 0};
    struct rlimit data = {data_bytes, data_bytes};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
    if (setrlimit(RLIMIT_CORE, &none) != 0) return errno;
    if (LIMITS_DATA && data_bytes != 0 && setrlimit(RLIMIT_DATA, &data) != 0) return errno;
    return 0;
}

int larder_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }
