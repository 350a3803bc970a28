/* Loaded ahead of the C library: lets the n-th call of a kind fail for files below one folder, and moves the wall clock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, OPEN = 4, READ = 8, NAME = 16, CUT = 32 };

static char folder[4096];
static int kinds, countdown, error, lasting, is_short, struck;
static long long clock_offset;

/* From now on the call with this number, counted from 0, fails, and if it is lasting all after it. A short one writes half. */
void faulty_arm(const char *below, int which, int number, int code, int is_lasting, int writes_half) {
    snprintf(folder, sizeof folder, "%s", below);
    countdown = number, error = code, lasting = is_lasting, is_short = writes_half, struck = 0;
    kinds = which;
}

/* No call fails any more; how many did. */
int faulty_disarm(void) {
    kinds = 0;
    return struck;
}

void faulty_clock(long long seconds) { clock_offset = seconds; }

static int is_below(const char *path) { return path && !strncmp(path, folder, strlen(folder)); }

static int fails(int kind, const char *path) {
    if (!(kinds & kind) || !is_below(path)) return 0;
    if (countdown-- > 0) return 0;
    if (countdown < -1 && !lasting) return 0;
    struck++;
    errno = error;
    return 1;
}

static int fails_open(int kind, int handle) {
    char link[64], path[4096];
    if (!(kinds & kind)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(kind, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A short one takes half of the bytes and says so; if the fault is lasting, the rest fails at the next call. */
#define WRITES(name, signature, call, half)                                       \
    ssize_t name signature {                                                      \
        if (!fails_open(WRITE, handle)) return REAL(name) call;                   \
        return is_short && size > 1 && struck == 1 ? REAL(name) half : -1;        \
    }

WRITES(write, (int handle, const void *content, size_t size), (handle, content, size), (handle, content, size / 2))
WRITES(pwrite, (int handle, const void *content, size_t size, off_t at), (handle, content, size, at), (handle, content, size / 2, at))
WRITES(pwrite64, (int handle, const void *content, size_t size, off64_t at), (handle, content, size, at), (handle, content, size / 2, at))

#define FAILS(kind, type, name, signature, call) \
    type name signature { return fails_open(kind, handle) ? -1 : REAL(name) call; }

FAILS(SYNC, int, fsync, (int handle), (handle))
FAILS(SYNC, int, fdatasync, (int handle), (handle))
FAILS(CUT, int, ftruncate, (int handle, off_t size), (handle, size))
FAILS(CUT, int, ftruncate64, (int handle, off64_t size), (handle, size))
FAILS(READ, ssize_t, read, (int handle, void *room, size_t size), (handle, room, size))
FAILS(READ, ssize_t, pread, (int handle, void *room, size_t size, off_t at), (handle, room, size, at))
FAILS(READ, ssize_t, pread64, (int handle, void *room, size_t size, off64_t at), (handle, room, size, at))

#define NAMES(name) \
    int name(const char *from, const char *to) { return fails(NAME, to) ? -1 : REAL(name)(from, to); }

NAMES(rename)
NAMES(link)

#define OPENS(name)                                                 \
    int name(const char *path, int flags, ...) {                    \
        va_list rest;                                               \
        va_start(rest, flags);                                      \
        mode_t mode = va_arg(rest, mode_t);                         \
        va_end(rest);                                               \
        return fails(OPEN, path) ? -1 : REAL(name)(path, flags, mode); \
    }

OPENS(open)
OPENS(open64)

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = REAL(clock_gettime)(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += clock_offset;
    return result;
}
