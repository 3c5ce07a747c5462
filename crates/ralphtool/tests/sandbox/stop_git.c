/* Preloaded into git by the kill tests: counts the changes git makes to the disk, over all git
 * processes of a command, and stops git just before the one it is asked for, with all lock files
 * in place. STOP_GIT_FOLDER is where the count is kept, STOP_GIT_AT the number of the change. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int create(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void before_change(const char *path) {
    int error = errno;
    const char *folder = getenv("STOP_GIT_FOLDER");
    const char *at = getenv("STOP_GIT_AT");
    if (strcmp(program_invocation_short_name, "git") || !folder || !at || !strcmp(path, "/dev/null"))
        return;
    int count = create(folder, "changes");
    if (count >= 0 && write(count, "x", 1) == 1 && lseek(count, 0, SEEK_CUR) == atol(at)) {
        int stopped = create(folder, "stopped");
        if (stopped >= 0 && write(stopped, path, strlen(path)) >= 0)
            raise(SIGSTOP);
    }
    if (count >= 0)
        close(count);
    errno = error;
}

static int opened(const char *path, int flags, mode_t mode) {
    if (flags & O_CREAT)
        before_change(path);
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define OPEN(NAME, MORE)                                                                           \
    int NAME(const char *path, int flags, ...) {                                                   \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                  \
        va_end(more);                                                                              \
        return opened(path, flags | (MORE), mode);                                                 \
    }

OPEN(open, 0)
OPEN(open64, O_LARGEFILE)

int rename(const char *from, const char *to) {
    before_change(to);
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to) {
    before_change(to);
    return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path) {
    before_change(path);
    return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rmdir(const char *path) {
    before_change(path);
    return syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdir(const char *path, mode_t mode) {
    before_change(path);
    return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
