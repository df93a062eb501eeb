// ThreadSanitizer and Synchronization.Mutex. Where two threads meet at a lock, Mutex calls a function in
// libswiftSynchronization, which no sanitizer instruments: the sanitizer misses that one has waited for the other, and
// reports what the lock protects as a race. Preloaded into the tests, these say it. Scripts/sanitize.sh.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found) return found;
  fprintf(stderr, "%s is not in libswiftSynchronization any more\n", name);
  abort();
}

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void lock_slow(uint32_t thread, SELF) {
  static SWIFT void (*_Atomic next)(uint32_t, SELF);
  if (!next) next = real(LOCK);
  next(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT _Bool try_lock_slow(SELF) __asm__(TRY);
SWIFT _Bool try_lock_slow(SELF) {
  static SWIFT _Bool (*_Atomic next)(SELF);
  if (!next) next = real(TRY);
  _Bool taken = next(self);
  if (taken && __tsan_acquire) __tsan_acquire(self);
  return taken;
}

SWIFT void unlock_slow(SELF) __asm__(UNLOCK);
SWIFT void unlock_slow(SELF) {
  static SWIFT void (*_Atomic next)(SELF);
  if (!next) next = real(UNLOCK);
  if (__tsan_release) __tsan_release(self);
  next(self);
}
