#ifndef LARDER_FILES_H
#define LARDER_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What Swift cannot see of Linux: variadic calls, calls without a wrapper in glibc, calls behind _GNU_SOURCE.
// Each returns what the system call returns and leaves errno as it was set.

/// openat2(2) with RESOLVE_NO_SYMLINKS, and RESOLVE_BENEATH where the path could climb: no symbolic link on the way is
/// followed and nothing above `directory` is reached. Where the kernel has no openat2, the path is walked with
/// O_NOFOLLOW. O_CLOEXEC and O_NOFOLLOW are always added.
int larder_open_beneath(int directory, const char *path, int flags, mode_t mode);

/// Opens a file beneath `directory`, by a path of names alone, for reading, and reads its beginning at once. Returns the
/// descriptor and sets `done` to the bytes read; -1 where either failed, and then nothing is open: `done` is below zero
/// where it was the reading.
int larder_open_and_read(int directory, const char *path, void *buffer, size_t count, ssize_t *done);

/// pread(2) and close(2), of which glibc makes cancellation points: those cost more where there is more than one thread.
ssize_t larder_read(int fd, void *buffer, size_t count, int64_t offset);
int larder_close(int fd);

/// open(2), following symbolic links, with O_CLOEXEC.
int larder_open(const char *path, int flags, mode_t mode);

/// An open file description lock (F_OFD_SETLK): it ends with the description, so with the process.
/// `type` is F_RDLCK, F_WRLCK or F_UNLCK. Never blocks: EAGAIN where another description holds it.
int larder_ofd_lock(int fd, short type, int64_t offset, int64_t length);

/// copy_file_range(2) between two offsets.
ssize_t larder_copy_file_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);

/// syncfs(2).
int larder_syncfs(int fd);

#endif
