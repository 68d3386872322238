/* Loaded before libc: fails the calls that change files under a folder, as it was told by `fail_on`.

   Calls are counted from there on. `first` is the number of the first that fails, `last` that of the last. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, SYNC = 2, MOVE = 4, LOCK = 8, SHORT = 16 };

static char folder[4096];
static atomic_int kinds, first, last, error, counted, failed;

void fail_on(const char *where, int what, int from, int to, int code) {
    kinds = 0;
    snprintf(folder, sizeof folder, "%s", where);
    first = from;
    last = to;
    error = code;
    counted = failed = 0;
    kinds = what;
}

int calls_counted(void) { return counted; }
int calls_failed(void) { return failed; }

static int is_ours(const char *path) { return folder[0] && strncmp(path, folder, strlen(folder)) == 0; }

static int is_open_file_of_ours(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

/* Whether this call has to fail. */
static int fails(enum kind kind, int ours) {
    if (!(kinds & kind) || !ours) return 0;
    int number = atomic_fetch_add(&counted, 1) + 1;
    if (number < first || number > last) return 0;
    atomic_fetch_add(&failed, 1);
    errno = error;
    return 1;
}

#define REAL(name) static typeof(&name) real; if (!real) real = (typeof(&name))dlsym(RTLD_NEXT, #name)

/* A write that fails may have got half of it onto the disk. */
#define FAILING_WRITE(name, offset_type) \
    ssize_t name(int fd, const void *data, size_t size, offset_type at) { \
        REAL(name); \
        if (kinds && fails(WRITE, is_open_file_of_ours(fd))) { \
            int code = errno; \
            if (kinds & SHORT) real(fd, data, size / 2, at); \
            errno = code; \
            return -1; \
        } \
        return real(fd, data, size, at); \
    }

FAILING_WRITE(pwrite, off_t)
FAILING_WRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    return kinds && fails(WRITE, is_open_file_of_ours(fd)) ? -1 : real(fd, data, size);
}

#define FAILING(kind, name, result, parameters, arguments, ours) \
    result name parameters { REAL(name); return kinds && fails(kind, ours) ? -1 : real arguments; }

FAILING(WRITE, ftruncate, int, (int fd, off_t size), (fd, size), is_open_file_of_ours(fd))
FAILING(WRITE, ftruncate64, int, (int fd, off64_t size), (fd, size), is_open_file_of_ours(fd))
FAILING(SYNC, fsync, int, (int fd), (fd), is_open_file_of_ours(fd))
FAILING(SYNC, fdatasync, int, (int fd), (fd), is_open_file_of_ours(fd))
FAILING(MOVE, rename, int, (const char *from, const char *to), (from, to), is_ours(to))
FAILING(MOVE, unlink, int, (const char *path), (path), is_ours(path))

/* Locks: taking one fails, or, as a network's disk may, giving one back. */
static int lock(int fd, int command, void *lock) {
    REAL(fcntl64);
    if ((command == F_SETLK || command == F_SETLK64) && kinds && fails(LOCK, is_open_file_of_ours(fd))) return -1;
    return real(fd, command, lock);
}

int fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return lock(fd, command, argument);
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return lock(fd, command, argument);
}
