#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CTallySQLite.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

extern int sqlite3_db_config(struct sqlite3 *, int, ...);
#define TALLY_DBCONFIG_ENABLE_FKEY 1002
#define TALLY_DBCONFIG_ENABLE_TRIGGER 1003

static void *(*hook)(struct sqlite3 *, tally_preupdate_callback, void *);
static int (*oldValue)(struct sqlite3 *, int, struct sqlite3_value **);
static int (*newValue)(struct sqlite3 *, int, struct sqlite3_value **);
static int (*depth)(struct sqlite3 *);
static int (*blobwrite)(struct sqlite3 *);
static int isAvailable;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look_up(void) {
  *(void **)&hook = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_hook");
  *(void **)&oldValue = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_old");
  *(void **)&newValue = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_new");
  *(void **)&depth = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_depth");
  *(void **)&blobwrite = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_blobwrite");
  // Without the last (SQLite 3.36), a write of incremental I/O cannot be told from a delete.
  isAvailable = hook && oldValue && newValue && depth && blobwrite;
}

int tally_enable_triggers(struct sqlite3 *connection, int isOn) {
  int state = 0;
  return sqlite3_db_config(connection, TALLY_DBCONFIG_ENABLE_TRIGGER, isOn, &state);
}

int tally_enforces_foreign_keys(struct sqlite3 *connection) {
  int state = 0;
  return sqlite3_db_config(connection, TALLY_DBCONFIG_ENABLE_FKEY, -1, &state) == 0 && state;
}

int tally_preupdate_is_available(void) {
  pthread_once(&once, look_up);
  return isAvailable;
}

void tally_preupdate_set(struct sqlite3 *connection, tally_preupdate_callback callback, void *context) {
  if (tally_preupdate_is_available()) hook(connection, callback, context);
}

int tally_preupdate_old(struct sqlite3 *connection, int column, struct sqlite3_value **value) {
  return oldValue(connection, column, value);
}

int tally_preupdate_new(struct sqlite3 *connection, int column, struct sqlite3_value **value) {
  return newValue(connection, column, value);
}

int tally_preupdate_depth(struct sqlite3 *connection) { return depth(connection); }

int tally_preupdate_blobwrite(struct sqlite3 *connection) { return blobwrite(connection); }
