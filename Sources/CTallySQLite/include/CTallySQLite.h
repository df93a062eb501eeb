// What Swift cannot reach of SQLite's own interface: variadic functions, and the preupdate hook, which many headers do not declare
// although the library has it. The hook is looked up at run time, so that nothing has to be there at link time. And a table-valued
// function, which SQLite calls for each row.
#pragma once

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

/// Switches the triggers that are stored in database files on or off for one connection: SQLITE_DBCONFIG_ENABLE_TRIGGER. TEMP triggers
/// are not concerned. Expires prepared statements if it changes anything. Returns SQLite's result code.
int tally_enable_triggers(struct sqlite3 *connection, int isOn);

/// Whether foreign keys are enforced on a connection: SQLITE_DBCONFIG_ENABLE_FKEY.
int tally_enforces_foreign_keys(struct sqlite3 *connection);

/// Whether any file is attached to a connection: 1 or 0, or -1 where the library cannot say (before SQLite 3.39).
int tally_has_attached(struct sqlite3 *connection);

/// See https://www.sqlite.org/c3ref/preupdate_blobwrite.html.
typedef void (*tally_preupdate_callback)(
    void *context, struct sqlite3 *connection, int operation, const char *schema, const char *table,
    long long oldRow, long long newRow);

/// Whether the SQLite library that the process has loaded offers the hook.
int tally_preupdate_is_available(void);

/// Sets the hook of a connection; NULL to remove it.
void tally_preupdate_set(struct sqlite3 *connection, tally_preupdate_callback callback, void *context);

/// Within the callback: the value of a column before and after. Returns SQLite's result code.
int tally_preupdate_old(struct sqlite3 *connection, int column, struct sqlite3_value **value);
int tally_preupdate_new(struct sqlite3 *connection, int column, struct sqlite3_value **value);

/// Within the callback: 0 for a statement of the connection's, more inside triggers and foreign key actions.
int tally_preupdate_depth(struct sqlite3 *connection);

/// Within the callback: the number of the table's columns.
int tally_preupdate_count(struct sqlite3 *connection);

/// Within the callback: the column that incremental blob I/O writes; -1 for anything else.
int tally_preupdate_blobwrite(struct sqlite3 *connection);

/// Within the callback for an update: whether a column holds another value or another type than before. Neither value is copied.
/// Returns SQLite's result code.
int tally_preupdate_changes(struct sqlite3 *connection, int column, int *changes);

/// Within the callback for an update or a delete: copies what stood in a row. First the column `clock`, a blob of `clockSize` bytes;
/// then, after a gap of `gap` bytes, each of the other columns: a head of four bytes, which is its place among them shifted by four
/// bits and SQLite's type shifted by one, and the value, eight bytes of a number or a length of four bytes and that many. All in the
/// machine's order. No new value is asked for, of which SQLite would make a copy. Returns how many bytes that took; 0 if there are
/// more than `limit`, if the clock is no such blob, or if a value is null and `refusesNull` is not 0; or SQLite's result code, negated.
int tally_preupdate_copy(
    struct sqlite3 *connection, int clock, int clockSize, int gap, const int *columns, int count, int refusesNull,
    unsigned char *bytes, int limit);

/// The bytes of a text in UTF-8, and how many they are; NULL for none. They need not end with a zero, as those of
/// sqlite3_value_text() do, which copies most texts for it.
const void *tally_value_utf8(struct sqlite3_value *value, int *count);

/// The key that a running statement looks up next: a text if there is one, which stays where it is while the statement runs, or else a
/// number.
struct tally_key {
  long long number;
  const char *text;
  int count;
  /// Whether the statement has asked for it.
  int isTaken;
  /// Whether the statement reads whole tables instead of looking keys up.
  int scans;
};

/// Gives a connection the table-valued function `tally_key(place)`, whose one column `tally_key` is, row by row without an end, the key at
/// that place in memory. Returns SQLite's result code.
int tally_key_register(struct sqlite3 *connection);

/// Binds the place of a key. It has to stay there for as long as the statement runs. Returns SQLite's result code.
int tally_key_bind(struct sqlite3_stmt *statement, int index, struct tally_key *key);

/// Steps a statement to the first row of the key as it is now. Returns SQLite's result code.
int tally_key_find(struct sqlite3_stmt *statement, struct tally_key *key);
