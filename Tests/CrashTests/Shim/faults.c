/* Stands between a program and the C library (LD_PRELOAD), counts the calls that change files under one folder, and lets one fail.
 *
 *   FAULT_UNDER  the folder; nothing outside of it is counted or touched
 *   FAULT_AT     the number of the call that fails, from 1; 0 for none
 *   FAULT_HOW    kill: SIGKILL before the call; killed: SIGKILL right after it; EIO, ENOSPC: the call does nothing and fails;
 *                short: a write writes half, what writes nothing fails with EIO
 *   FAULT_ALWAYS if set, all calls from FAULT_AT on fail
 *   FAULT_LOG    a file that gets one line for each call counted
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count, strike = -1;
static int journal = -1;

enum verdict { PASS, FAIL, SHORT, KILL_AFTER };

static void start(void) {
  const char *at = getenv("FAULT_AT"), *log = getenv("FAULT_LOG");
  strike = at ? atol(at) : 0;
  /* By system call, so that neither we nor the C library count it. */
  if (log) journal = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static enum verdict judge(const char *call, const char *path) {
  const char *under = getenv("FAULT_UNDER"), *how = getenv("FAULT_HOW");
  if (!under || strncmp(path, under, strlen(under)) != 0) return PASS;
  pthread_mutex_lock(&mutex);
  if (strike < 0) start();
  long number = ++count;
  if (journal >= 0) {
    char line[600];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path + strlen(under));
    syscall(SYS_write, journal, line, length);
  }
  pthread_mutex_unlock(&mutex);
  if (!how || !strike || !(number == strike || (number > strike && getenv("FAULT_ALWAYS")))) return PASS;
  if (!strcmp(how, "kill")) syscall(SYS_kill, getpid(), SIGKILL);
  if (!strcmp(how, "killed")) return KILL_AFTER;
  errno = !strcmp(how, "ENOSPC") ? ENOSPC : EIO;
  return !strcmp(how, "short") ? SHORT : FAIL;
}

static enum verdict judge_at(const char *call, int folder, const char *path) {
  char full[4096], link[64];
  if (path[0] == '/') return judge(call, path);
  if (folder == AT_FDCWD) {
    if (!getcwd(full, sizeof full / 2)) return PASS;
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, full, sizeof full / 2);
    if (length < 0) return PASS;
    full[length] = 0;
  }
  size_t length = strlen(full);
  snprintf(full + length, sizeof full - length, "/%s", path);
  return judge(call, full);
}

static enum verdict judge_fd(const char *call, int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  int saved = errno;
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length < 0) return PASS;
  path[length] = 0;
  return judge(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Calls that write bytes: `half` does it with half of them. */
#define WRITING(what, whole, half)                  \
  do {                                                 \
    enum verdict found = (what);                      \
    if (found == FAIL) return -1;                      \
    if (found == SHORT) return half;                   \
    __auto_type result = whole;                        \
    if (found == KILL_AFTER) syscall(SYS_kill, getpid(), SIGKILL); \
    return result;                                     \
  } while (0)

#define OTHER(what, whole) WRITING(what, whole, -1)

ssize_t write(int file, const void *bytes, size_t length) {
  WRITING(judge_fd("write", file), REAL(write)(file, bytes, length), REAL(write)(file, bytes, length / 2));
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
  WRITING(judge_fd("pwrite", file), REAL(pwrite)(file, bytes, length, offset),
          REAL(pwrite)(file, bytes, length / 2, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
  WRITING(judge_fd("pwrite", file), REAL(pwrite64)(file, bytes, length, offset),
          REAL(pwrite64)(file, bytes, length / 2, offset));
}

ssize_t writev(int file, const struct iovec *parts, int number) {
  WRITING(judge_fd("writev", file), REAL(writev)(file, parts, number),
          REAL(write)(file, parts[0].iov_base, parts[0].iov_len / 2));
}

int fsync(int file) { OTHER(judge_fd("fsync", file), REAL(fsync)(file)); }
int fdatasync(int file) { OTHER(judge_fd("fdatasync", file), REAL(fdatasync)(file)); }
int ftruncate(int file, off_t size) { OTHER(judge_fd("ftruncate", file), REAL(ftruncate)(file, size)); }
int ftruncate64(int file, off64_t size) { OTHER(judge_fd("ftruncate", file), REAL(ftruncate64)(file, size)); }
int truncate(const char *path, off_t size) { OTHER(judge_at("truncate", AT_FDCWD, path), REAL(truncate)(path, size)); }
int fallocate(int file, int mode, off_t offset, off_t size) {
  OTHER(judge_fd("fallocate", file), REAL(fallocate)(file, mode, offset, size));
}

/* posix_fallocate returns the error instead of setting errno. */
int posix_fallocate(int file, off_t offset, off_t size) {
  enum verdict v = judge_fd("fallocate", file);
  if (v == FAIL || v == SHORT) return errno;
  int result = REAL(posix_fallocate)(file, offset, size);
  if (v == KILL_AFTER) syscall(SYS_kill, getpid(), SIGKILL);
  return result;
}

int unlink(const char *path) { OTHER(judge_at("unlink", AT_FDCWD, path), REAL(unlink)(path)); }
int remove(const char *path) { OTHER(judge_at("unlink", AT_FDCWD, path), REAL(remove)(path)); }
int rmdir(const char *path) { OTHER(judge_at("rmdir", AT_FDCWD, path), REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { OTHER(judge_at("mkdir", AT_FDCWD, path), REAL(mkdir)(path, mode)); }
int unlinkat(int folder, const char *path, int flags) {
  OTHER(judge_at("unlink", folder, path), REAL(unlinkat)(folder, path, flags));
}
int rename(const char *old, const char *new) { OTHER(judge_at("rename", AT_FDCWD, new), REAL(rename)(old, new)); }
int renameat(int from, const char *old, int to, const char *new) {
  OTHER(judge_at("rename", to, new), REAL(renameat)(from, old, to, new));
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  OTHER(judge_at("rename", to, new), REAL(renameat2)(from, old, to, new, flags));
}
int link(const char *old, const char *new) { OTHER(judge_at("link", AT_FDCWD, new), REAL(link)(old, new)); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
  OTHER(judge_at("link", to, new), REAL(linkat)(from, old, to, new, flags));
}

/* Opening counts if it may make a file or empty one. */
#define OPENING(name, folder, path, flags, call)                              \
  do {                                                                        \
    va_list list;                                                             \
    va_start(list, flags);                                                    \
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(list, mode_t) : 0; \
    va_end(list);                                                             \
    enum verdict v = flags & (O_CREAT | O_TRUNC) ? judge_at("open", folder, path) : PASS; \
    OTHER(v, call);                                                           \
  } while (0)

int open(const char *path, int flags, ...) {
  OPENING(open, AT_FDCWD, path, flags, REAL(open)(path, flags, mode));
}
int open64(const char *path, int flags, ...) {
  OPENING(open64, AT_FDCWD, path, flags, REAL(open64)(path, flags, mode));
}
int openat(int folder, const char *path, int flags, ...) {
  OPENING(openat, folder, path, flags, REAL(openat)(folder, path, flags, mode));
}
int openat64(int folder, const char *path, int flags, ...) {
  OPENING(openat64, folder, path, flags, REAL(openat64)(folder, path, flags, mode));
}
