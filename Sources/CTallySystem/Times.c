#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CTallySystem.h"

#include <sys/stat.h>
#include <time.h>
#if defined(__linux__)
#include <fcntl.h>
#endif

static int64_t microseconds(int64_t seconds, int64_t nanoseconds) { return seconds * 1000000 + nanoseconds / 1000; }

int tally_file_times(int descriptor, int64_t *made, int64_t *written) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return -1;
#if defined(__APPLE__)
  *written = microseconds(status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec);
  *made = microseconds(status.st_birthtimespec.tv_sec, status.st_birthtimespec.tv_nsec);
#else
  *written = microseconds(status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  *made = microseconds(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
// Android has the call since version 11.
#if defined(STATX_BTIME) && !(defined(__ANDROID__) && __ANDROID_API__ < 30)
  struct statx more;
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 && (more.stx_mask & STATX_BTIME))
    *made = microseconds(more.stx_btime.tv_sec, more.stx_btime.tv_nsec);
#endif
#endif
  return 0;
}
