#ifndef LARDER_SPAWN_H
#define LARDER_SPAWN_H

#include <sys/types.h>

/// Starts `path` with `input` as descriptor 0 and `output` as descriptor 1; standard error is inherited, every other
/// descriptor is closed, all signals have their defaults. Returns 0 and fills `pid`, or an errno value.
int larder_spawn(const char *path, char *const arguments[], char *const environment[], int input, int output,
                 pid_t *pid);

/// Ties this process to its parent: asks for SIGKILL when the thread that spawned it ends, forbids core files, and
/// limits the data segment to `data_bytes` (0: no limit). Returns 0, or an errno value.
int larder_become_worker(unsigned long long data_bytes);

/// Makes a pipe whose ends are closed on exec. Returns 0, or an errno value.
int larder_pipe(int ends[2]);

#endif
