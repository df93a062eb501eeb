// A table-valued function that hands a statement one key after the other, for as long as the statement runs:
// https://sqlite.org/vtab.html#tabfunc2. The pointer goes in as in SQLite's carray, https://sqlite.org/bindptr.html.
#include "CTallySQLite.h"
#include <sqlite3.h>
#include <stdlib.h>

static const char name[] = "tally_key";
enum { KEY, PLACE };

typedef struct {
  sqlite3_vtab_cursor base;
  struct tally_key *key;
  sqlite3_int64 row;
} Cursor;

static int connect_table(sqlite3 *connection, void *context, int count, const char *const *arguments, sqlite3_vtab **table,
                         char **error) {
  (void)context, (void)count, (void)arguments, (void)error;
  int status = sqlite3_declare_vtab(connection, "CREATE TABLE x(tally_key, tally_place HIDDEN)");
  if (status != SQLITE_OK) return status;
  // No trigger or view of a file may ask for it.
  status = sqlite3_vtab_config(connection, SQLITE_VTAB_DIRECTONLY);
  if (status != SQLITE_OK) return status;
  *table = calloc(1, sizeof **table);
  return *table ? SQLITE_OK : SQLITE_NOMEM;
}

static int disconnect(sqlite3_vtab *table) {
  free(table);
  return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
  (void)table;
  Cursor *made = calloc(1, sizeof *made);
  if (!made) return SQLITE_NOMEM;
  *cursor = &made->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
  free(cursor);
  return SQLITE_OK;
}

static int plan(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table;
  for (int i = 0; i < info->nConstraint; i++) {
    if (info->aConstraint[i].iColumn != PLACE || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    info->estimatedCost = 1;
    info->estimatedRows = 1000;
    return SQLITE_OK;
  }
  return SQLITE_CONSTRAINT;
}

static int filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int count, sqlite3_value **values) {
  (void)plan, (void)text;
  Cursor *own = (Cursor *)cursor;
  own->key = count == 1 ? sqlite3_value_pointer(values[0], name) : NULL;
  own->row = 0;
  if (own->key) own->key->isTaken = 1;
  return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor) {
  Cursor *own = (Cursor *)cursor;
  own->key->isTaken = 1;
  own->row++;
  return SQLITE_OK;
}

// There is always another one. Who asks without a pointer gets none.
static int is_at_end(sqlite3_vtab_cursor *cursor) { return ((Cursor *)cursor)->key == NULL; }

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
  const struct tally_key *key = ((Cursor *)cursor)->key;
  if (column != KEY) return SQLITE_OK;
  if (key->text) {
    sqlite3_result_text(context, key->text, key->count, SQLITE_STATIC);
  } else {
    sqlite3_result_int64(context, key->number);
  }
  return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *row) {
  *row = ((Cursor *)cursor)->row;
  return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 0,
    .xConnect = connect_table,
    .xBestIndex = plan,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column,
    .xRowid = row_number,
};

int tally_key_register(struct sqlite3 *connection) { return sqlite3_create_module_v2(connection, name, &module, NULL, NULL); }

int tally_key_bind(struct sqlite3_stmt *statement, int index, struct tally_key *key) {
  return sqlite3_bind_pointer(statement, index, key, name, NULL);
}

int tally_key_find(struct sqlite3_stmt *statement, struct tally_key *key) {
  int status;
  key->isTaken = 0;
  // Another row of the key before, where the key is not unique.
  do status = sqlite3_step(statement);
  while (status == SQLITE_ROW && !key->isTaken);
  key->scans = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0) > 0;
  return status;
}
