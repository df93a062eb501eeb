#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CTallySQLite.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

extern int sqlite3_db_config(struct sqlite3 *, int, ...);
extern int sqlite3_value_type(struct sqlite3_value *);
extern long long sqlite3_value_int64(struct sqlite3_value *);
extern double sqlite3_value_double(struct sqlite3_value *);
extern const unsigned char *sqlite3_value_text(struct sqlite3_value *);
extern const void *sqlite3_value_blob(struct sqlite3_value *);
extern int sqlite3_value_bytes(struct sqlite3_value *);
#define TALLY_INTEGER 1
#define TALLY_FLOAT 2
#define TALLY_TEXT 3
#define TALLY_BLOB 4
#define TALLY_NULL 5
#define TALLY_UTF8 1
#define TALLY_DBCONFIG_ENABLE_FKEY 1002
#define TALLY_DBCONFIG_ENABLE_TRIGGER 1003

static void *(*hook)(struct sqlite3 *, tally_preupdate_callback, void *);
static int (*oldValue)(struct sqlite3 *, int, struct sqlite3_value **);
static int (*newValue)(struct sqlite3 *, int, struct sqlite3_value **);
static int (*depth)(struct sqlite3 *);
static int (*columnCount)(struct sqlite3 *);
static int (*blobwrite)(struct sqlite3 *);
static int (*encoding)(struct sqlite3_value *);
static const char *(*schemaName)(struct sqlite3 *, int);
static int isAvailable;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look_up(void) {
  *(void **)&hook = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_hook");
  *(void **)&oldValue = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_old");
  *(void **)&newValue = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_new");
  *(void **)&depth = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_depth");
  *(void **)&columnCount = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_count");
  *(void **)&blobwrite = dlsym(RTLD_DEFAULT, "sqlite3_preupdate_blobwrite");
  // Since SQLite 3.40; without it, texts are read in the way that always works.
  *(void **)&encoding = dlsym(RTLD_DEFAULT, "sqlite3_value_encoding");
  // Since SQLite 3.39.
  *(void **)&schemaName = dlsym(RTLD_DEFAULT, "sqlite3_db_name");
  // Without the last (SQLite 3.36), a write of incremental I/O cannot be told from a delete.
  isAvailable = hook && oldValue && newValue && depth && columnCount && blobwrite;
}

int tally_enable_triggers(struct sqlite3 *connection, int isOn) {
  int state = 0;
  return sqlite3_db_config(connection, TALLY_DBCONFIG_ENABLE_TRIGGER, isOn, &state);
}

int tally_enforces_foreign_keys(struct sqlite3 *connection) {
  int state = 0;
  return sqlite3_db_config(connection, TALLY_DBCONFIG_ENABLE_FKEY, -1, &state) == 0 && state;
}

int tally_has_attached(struct sqlite3 *connection) {
  pthread_once(&once, look_up);
  // After the main file and the temporary one.
  return schemaName ? schemaName(connection, 2) != NULL : -1;
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

int tally_preupdate_count(struct sqlite3 *connection) { return columnCount(connection); }

int tally_preupdate_blobwrite(struct sqlite3 *connection) { return blobwrite(connection); }

// Neither a text nor a blob is changed or copied for its bytes to be compared, which sqlite3_value_text() would do to end
// a text with a zero. Both rows have texts in the encoding of the file.
static int has_same_value(struct sqlite3_value *one, struct sqlite3_value *other) {
  const int type = sqlite3_value_type(one);
  if (type != sqlite3_value_type(other)) return 0;
  switch (type) {
  case TALLY_INTEGER: return sqlite3_value_int64(one) == sqlite3_value_int64(other);
  case TALLY_FLOAT: return sqlite3_value_double(one) == sqlite3_value_double(other);
  case TALLY_TEXT:
  case TALLY_BLOB: {
    const void *bytes = sqlite3_value_blob(one);
    const void *others = sqlite3_value_blob(other);
    const int count = sqlite3_value_bytes(one);
    return count == sqlite3_value_bytes(other) && (count == 0 || (bytes && others && !memcmp(bytes, others, count)));
  }
  default: return 1;
  }
}

int tally_preupdate_changes(struct sqlite3 *connection, int column, int *changes) {
  struct sqlite3_value *before = 0, *after = 0;
  int status = oldValue(connection, column, &before);
  if (status == 0) status = newValue(connection, column, &after);
  if (status == 0) *changes = !has_same_value(before, after);
  return status;
}

int tally_preupdate_copy(
    struct sqlite3 *connection, int clock, int clockSize, int gap, const int *columns, int count, int refusesNull,
    unsigned char *bytes, int limit) {
  struct sqlite3_value *stamp = 0;
  const int result = oldValue(connection, clock, &stamp);
  if (result) return -result;
  if (!stamp || sqlite3_value_type(stamp) != TALLY_BLOB || sqlite3_value_bytes(stamp) != clockSize) return 0;
  memcpy(bytes, sqlite3_value_blob(stamp), clockSize);
  int used = clockSize + gap;
  for (int place = 0; place < count; place++) {
    struct sqlite3_value *value = 0;
    const int status = oldValue(connection, columns[place], &value);
    if (status) return -status;
    const int type = value ? sqlite3_value_type(value) : TALLY_NULL;
    if (limit - used < 12) return 0;
    const unsigned head = (unsigned)place << 4 | (unsigned)type << 1;
    memcpy(bytes + used, &head, 4);
    used += 4;
    switch (type) {
    case TALLY_INTEGER: {
      const long long number = sqlite3_value_int64(value);
      memcpy(bytes + used, &number, 8);
      used += 8;
      break;
    }
    case TALLY_FLOAT: {
      const double number = sqlite3_value_double(value);
      memcpy(bytes + used, &number, 8);
      used += 8;
      break;
    }
    case TALLY_TEXT:
    case TALLY_BLOB: {
      int size = 0;
      const void *content = type == TALLY_TEXT ? tally_value_utf8(value, &size) : sqlite3_value_blob(value);
      if (type == TALLY_BLOB) size = sqlite3_value_bytes(value);
      if (limit - used - 4 < size) return 0;
      memcpy(bytes + used, &size, 4);
      if (size) memcpy(bytes + used + 4, content, size);
      used += 4 + size;
      break;
    }
    default:
      if (refusesNull) return 0;
    }
  }
  return used;
}

const void *tally_value_utf8(struct sqlite3_value *value, int *count) {
  const void *bytes =
      encoding && encoding(value) == TALLY_UTF8 ? sqlite3_value_blob(value) : (const void *)sqlite3_value_text(value);
  *count = bytes ? sqlite3_value_bytes(value) : 0;
  return bytes;
}
