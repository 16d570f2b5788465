#define _GNU_SOURCE
#include "larder_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Set once the kernel (or a seccomp filter) has refused openat2.
static atomic_bool without_openat2;

static int walk(int directory, const char *path, int flags, mode_t mode) {
    int at = directory;
    for (;;) {
        const char *slash = strchr(path, '/');
        int fd;
        if (slash == NULL) {
            fd = openat(at, path, flags, mode);
        } else {
            char part[256];
            size_t length = (size_t)(slash - path);
            if (length == 0 || length >= sizeof part || strncmp(path, "..", length) == 0) {
                errno = EINVAL;
                fd = -1;
            } else {
                memcpy(part, path, length);
                part[length] = 0;
                fd = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            }
        }
        if (at != directory) {
            int kept = errno;
            close(at);
            errno = kept;
        }
        if (slash == NULL || fd < 0) return fd;
        at = fd;
        path = slash + 1;
    }
}

static int resolve(int directory, const char *path, int flags, mode_t mode, uint64_t guards) {
    if (!atomic_load_explicit(&without_openat2, memory_order_relaxed)) {
        struct open_how how = {
            .flags = (uint64_t)flags, .mode = (flags & O_CREAT) ? mode : 0, .resolve = RESOLVE_NO_SYMLINKS | guards};
        long fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
        // EAGAIN: a rename on the way could not be ruled out; the walk answers it.
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN)) return (int)fd;
        if (errno == ENOSYS) atomic_store_explicit(&without_openat2, true, memory_order_relaxed);
    }
    return walk(directory, path, flags, mode);
}

int larder_open_beneath(int directory, const char *path, int flags, mode_t mode) {
    flags |= O_CLOEXEC | O_NOFOLLOW;
    bool may_climb = path[0] == '/', is_name = true;
    for (const char *at = path; *at != 0; at++) {
        is_name = is_name && *at != '/';
        may_climb = may_climb || (at[0] == '.' && at[1] == '.');
    }
    // One name that is no link leads nowhere else.
    if (is_name && !may_climb) return openat(directory, path, flags, mode);
    // What neither climbs nor follows a link stays beneath; RESOLVE_BENEATH would look again at the end, at a third of
    // the cost of the call.
    return resolve(directory, path, flags, mode, may_climb ? RESOLVE_BENEATH : 0);
}

int larder_open_and_read(int directory, const char *path, void *buffer, size_t count, ssize_t *done) {
    int fd = resolve(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0, 0);
    if (fd < 0) return fd;
    *done = larder_read(fd, buffer, count, 0);
    if (*done < 0) {
        int kept = errno;
        larder_close(fd);
        errno = kept;
        return -1;
    }
    return fd;
}

ssize_t larder_read(int fd, void *buffer, size_t count, int64_t offset) {
    return syscall(SYS_pread64, fd, buffer, count, (off_t)offset);
}

int larder_close(int fd) { return (int)syscall(SYS_close, fd); }

int larder_open(const char *path, int flags, mode_t mode) { return open(path, flags | O_CLOEXEC, mode); }

int larder_ofd_lock(int fd, short type, int64_t offset, int64_t length) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = length, .l_pid = 0};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

ssize_t larder_copy_file_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count) {
    off64_t source = from_offset, target = to_offset;
    return copy_file_range(from, &source, to, &target, count, 0);
}

int larder_syncfs(int fd) { return syncfs(fd); }
