// What the file formats alone cost: the workloads that `Scripts/instructions.sh` counts, done with no more SQL, bytes
// and hashes than Docs/StorageFormat.md and Docs/WireFormat.md demand, and without looking for mistakes.
//   floors WORKLOAD FILE RECORDS [plain] [prepare] [time] [edited]
// FILE is a copy of a store that `Benchmarks --write-store` has made, which is written; `change` takes FILE-second, an
// equal one, as well. `plain` does the app's part on tables without Tally, which are made in FILE-plain. `prepare` does
// only what comes before a workload, which a counter subtracts. `time` prints the user, system and wall time of the
// workload alone, in seconds. `edited` leaves rows the state of edited ones where `instructions.sh` has rows that were
// only inserted (delta, again). Words are taken as they lie in memory: little-endian.
//
// What is written fits to the bit: `tally verify` finds nothing in a file afterwards. Left out is what depends on
// chance or comes once: the pruning of the log in slices (a slice of 128 rows after 64 that were added), taking a
// delta apart again, looking at `tally_pending` and the catalog where no other connection has committed.
#define SQLITE_ENABLE_PREUPDATE_HOOK
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

typedef uint8_t u8;
typedef uint64_t u64;
typedef sqlite3_int64 i64;
// A function of its own in a profile.
#define PART __attribute__((noinline)) static
enum { mostRows = 1 << 17, batch = 1000, blockRows = 4096, fields = 6, itemSize = 17, mostStamps = 1 << 12 };
enum { existenceCell = 1, fieldCell = 2, deleteCell = 8 };
enum { nullClass, integerClass, realClass, textClass, nameClass = 5 };

static void must(int isDone, const char *what) {
  if (isDone) return;
  fprintf(stderr, "floors: %s\n", what);
  exit(1);
}

// MARK: Bytes

static u64 word(const void *bytes) { u64 value; memcpy(&value, bytes, 8); return value; }
static u64 big(const void *bytes) { return __builtin_bswap64(word(bytes)); }

static u8 *put(u8 *out, const void *bytes, size_t count) { return (u8 *)memcpy(out, bytes, count) + count; }

static u8 *putBig(u8 *out, u64 value, int count) {
  value = __builtin_bswap64(value << (64 - 8 * count));
  return put(out, &value, count);
}

static u8 *putVarint(u8 *out, u64 value) {
  for (; value >= 0x80; value >>= 7) *out++ = value | 0x80;
  *out++ = value;
  return out;
}

static u64 takeVarint(const u8 **bytes) {
  u64 value = 0;
  for (int shift = 0;; shift += 7) {
    u8 byte = *(*bytes)++;
    value |= (u64)(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

static u64 zigzag(i64 number) { return (u64)number << 1 ^ number >> 63; }
static i64 unzigzag(u64 number) { return (i64)(number >> 1) ^ -(i64)(number & 1); }

static u8 digitOf[256];
static const u8 places[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

static void takeUUID(const u8 *text, u8 *key) {
  for (int i = 0; i < 16; i++) key[i] = digitOf[text[places[i]]] << 4 | digitOf[text[places[i] + 1]];
}

static void putUUID(u8 *text, const u8 *key) {
  text[8] = text[13] = text[18] = text[23] = '-';
  for (int i = 0; i < 16; i++) {
    text[places[i]] = "0123456789abcdef"[key[i] >> 4];
    text[places[i] + 1] = "0123456789abcdef"[key[i] & 15];
  }
}

// MARK: Hashes (WireFormat.md, sections 6 and 8)

typedef struct { u64 a, b, c, d; } Sip;
typedef struct { u64 first, second; } Sum;
typedef struct { u64 sequence, time; } Stamp;
static u8 replica[16];

static inline void sipRound(Sip *s) {
#define ROTATE(x, n) x = x << n | x >> (64 - n)
  s->a += s->b, ROTATE(s->b, 13), s->b ^= s->a, ROTATE(s->a, 32);
  s->c += s->d, ROTATE(s->d, 16), s->d ^= s->c;
  s->a += s->d, ROTATE(s->d, 21), s->d ^= s->a;
  s->c += s->b, ROTATE(s->b, 17), s->b ^= s->c, ROTATE(s->c, 32);
}

static inline void sipWord(Sip *s, u64 value, int rounds) {
  s->d ^= value;
  for (int i = 0; i < rounds; i++) sipRound(s);
  s->a ^= value;
}

// The constants of SipHash with the key 00 01 02 ... 0F.
static inline Sip sip(int isWide) {
  return (Sip){0x7469686173716475, 0x6B617F6D656E6665 ^ (isWide ? 0xEE : 0), 0x6B7F62616D677361, 0x7B6B696E727E6C7B};
}

// The last bytes, fewer than eight.
static inline u64 rest(const u8 *bytes, size_t count) {
  size_t left = count & 7;
  if (!left) return 0;
  if (count >= 8) return word(bytes + count - 8) >> (64 - 8 * left);
  u64 value = 0;
  for (size_t i = 0; i < left; i++) value |= (u64)bytes[i] << 8 * i;
  return value;
}

// SipHash-1-3 of a name, or SipHash-2-4 of a delta.
PART u64 sipBytes(const u8 *bytes, size_t count, int rounds) {
  Sip s = sip(0);
  for (size_t i = 0; i + 8 <= count; i += 8) sipWord(&s, word(bytes + i), rounds);
  sipWord(&s, rest(bytes, count) | (u64)count << 56, rounds);
  s.c ^= 0xFF;
  for (int i = 0; i < rounds + 2; i++) sipRound(&s);
  return s.a ^ s.b ^ s.c ^ s.d;
}

// What the cells of one stamp and one record begin with.
PART Sip prefixOf(Stamp stamp, u64 name) {
  Sip s = sip(1);
  u64 words[] = {2ull << 48 | stamp.time, big(replica), big(replica + 8), stamp.sequence, name};
  for (int i = 0; i < 5; i++) sipWord(&s, words[i], 1);
  return s;
}

PART void addCell(Sum *sum, int sign, Sip s, u64 part, int kind, int class, const void *value, size_t count) {
  const u8 *bytes = value;
  sipWord(&s, part, 1);
  for (size_t i = 0; i + 8 <= count; i += 8) sipWord(&s, word(bytes + i), 1);
  size_t left = count & 7;
  u64 tail = rest(bytes, count) | (u64)kind << 8 * left;
  if (left < 7) tail |= (u64)class << (8 * left + 8);
  if (left >= 6) sipWord(&s, tail, 1), tail = left == 7 ? class : 0;
  sipWord(&s, tail | (u64)(48 + count + 2) << 56, 1);
  s.c ^= 0xEE;
  for (int i = 0; i < 3; i++) sipRound(&s);
  sum->first += sign * (s.a ^ s.b ^ s.c ^ s.d);
  s.b ^= 0xDD;
  for (int i = 0; i < 3; i++) sipRound(&s);
  sum->second += sign * (s.a ^ s.b ^ s.c ^ s.d);
}

// MARK: Rows

// Fields in the order of the columns: name, notes, count, price, day, owner; `wire` is that of their keys.
static const char *keys[fields] = {"name", "notes", "count", "price", "day", "owner&"};
static const u8 wire[fields] = {2, 4, 0, 1, 5, 3};
static u64 parts[fields];
typedef struct { const u8 *text; int count; } Text;
typedef struct { Text id, text[fields]; i64 count; double price; } Row;

static void addField(Sum *sum, int sign, Sip prefix, const Row *row, int field) {
  if (field == 2) addCell(sum, sign, prefix, parts[2], fieldCell, integerClass, &row->count, 8);
  else if (field == 3) addCell(sum, sign, prefix, parts[3], fieldCell, realClass, &row->price, 8);
  else addCell(sum, sign, prefix, parts[field], fieldCell, textClass, row->text[field].text, row->text[field].count);
}

// What a row adds to the fingerprint; of an edited row the count has another stamp.
static void addRow(Sum *sum, const Row *row, Stamp inserted, const Stamp *edited) {
  u64 name = sipBytes(row->id.text, row->id.count, 1);
  Sip prefix = prefixOf(inserted, name);
  addCell(sum, 1, prefix, 0, existenceCell, nullClass, 0, 0);
  for (int i = 0; i < fields; i++) addField(sum, 1, edited && i == 2 ? prefixOf(*edited, name) : prefix, row, i);
}

// A value as it stands in a delta and in a body.
static u8 *putValue(u8 *out, const Row *row, int field) {
  Text text = row->text[field];
  *out++ = field == 2 ? integerClass : field == 3 ? realClass : field == 5 ? nameClass : textClass;
  if (field == 2) return putVarint(out, zigzag(row->count));
  if (field == 3) return putBig(out, word(&row->price), 8);
  if (field != 5) return put(putVarint(out, text.count), text.text, text.count);
  takeUUID(text.text + 8, out + 6);
  return put(out, "\5Owner", 6) + 16;
}

// MARK: Bodies and clocks (StorageFormat.md, sections 3 and 4)

static Stamp takeStamp(const u8 **bytes, u64 before) {
  takeVarint(bytes);
  u64 sequence = takeVarint(bytes);
  return (Stamp){sequence, before + unzigzag(takeVarint(bytes))};
}

static u8 *putStamp(u8 *out, Stamp stamp, u64 before) {
  return putVarint(putVarint(putVarint(out, 1 << 2 | 2), stamp.sequence), zigzag(stamp.time - before));
}

// The stamps in the body of a row whose count was edited.
static void takeStamps(const u8 *body, Stamp *inserted, Stamp *edited) {
  body += 5;
  *inserted = takeStamp(&body, 0);
  *edited = takeStamp(&body, inserted->time);
}

static Stamp stampOf(const u8 *clock) {
  return (Stamp){big(clock) >> 16 & UINT32_MAX, big(clock + 4) & 0xFFFFFFFFFFFF};
}

static int isExtra(const u8 *clock) { return clock[0] == 0xFF && clock[1] == 0xFF; }
static i64 extraOf(const u8 *clock) { return big(clock) & 0xFFFFFFFFFFFF; }

static u8 *putClock(u8 *out, Stamp stamp, u64 sum) {
  return putBig(putBig(putBig(putBig(out, 1, 2), stamp.sequence, 4), stamp.time, 6), sum & 0xFFFFFF, 3);
}

// MARK: A database

enum {
  beginning, commit, update, insert, removal, rows, vector, zone, putVector, putZone, log, addLog, findLog, moveLog,
  body, edit, resize, row, show, hide, context, meta, incarnation, startRead, receive, plainRows, ignore, who,
  statements
};
#define COLUMNS "name, notes, count, price, day, owner"
static const char *texts[statements] = {
    "BEGIN IMMEDIATE", "COMMIT", "UPDATE Item SET count = ? WHERE id = ?",
    "INSERT INTO Item(id, " COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?)", "DELETE FROM Item WHERE id = ?",
    "SELECT id, " COLUMNS ", tally_clock FROM Item", "SELECT replica, sequence FROM tally_vector WHERE zone = 0",
    "SELECT fingerprint FROM tally_zone WHERE n = 0",
    "UPDATE tally_vector SET sequence = ? WHERE zone = 0 AND replica = 1",
    "UPDATE tally_zone SET fingerprint = ? WHERE n = 0",
    "SELECT items FROM tally_log WHERE zone = 0 AND replica = 1 AND sequence > ?",
    "INSERT INTO tally_log(zone, replica, sequence, items) VALUES(0, 1, ?, ?)",
    "SELECT n FROM tally_log WHERE zone = 0 AND replica = 1 AND sequence = ? AND length(items) = 17 AND items = ?",
    "UPDATE tally_log SET sequence = ? WHERE n = ?", "SELECT body FROM tally_extra WHERE n = ?",
    "UPDATE tally_extra SET body = edit(body) WHERE n = ?", "UPDATE tally_extra SET body = ? WHERE n = ?",
    "SELECT id, " COLUMNS ", tally_clock, rowid FROM Item WHERE id = ?",
    "UPDATE Item SET tally_clock = ?, count = ? WHERE rowid = ?",
    "INSERT INTO tally_hidden(kind, key, body) VALUES(2, ?, ?)", "INSERT INTO tally_context VALUES(1, ?, ?, ?)",
    "SELECT key, value FROM tally_meta", "UPDATE tally_meta SET value = ? WHERE key = 'incarnation'",
    "BEGIN", "INSERT INTO Item(id, " COLUMNS ", tally_clock) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
    "SELECT id, " COLUMNS " FROM Item", "INSERT OR IGNORE INTO Item(id, " COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?)",
    "SELECT id FROM tally_replica WHERE n = 1"};

typedef struct {
  sqlite3 *db;
  sqlite3_stmt *known[statements];
  Stamp last;
  Sum sum;
} File;

static void sql(sqlite3 *db, const char *text) { must(!sqlite3_exec(db, text, 0, 0, 0), text); }

static sqlite3_stmt *use(File *file, int which) {
  sqlite3_stmt **known = &file->known[which];
  if (!*known)
    must(!sqlite3_prepare_v3(file->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, known, 0), texts[which]);
  return *known;
}

static void run(sqlite3_stmt *statement) {
  must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(sqlite3_db_handle(statement)));
  sqlite3_reset(statement);
}

static void bindText(sqlite3_stmt *to, int place, Text text) {
  sqlite3_bind_text(to, place, (const char *)text.text, text.count, SQLITE_STATIC);
}

static Text textAt(sqlite3_stmt *query, int place) {
  const u8 *text = sqlite3_column_text(query, place);
  return (Text){text, sqlite3_column_bytes(query, place)};
}

static void bindRow(sqlite3_stmt *to, const Row *row) {
  bindText(to, 1, row->id);
  for (int i = 0; i < fields; i++) if (i != 2 && i != 3) bindText(to, i + 2, row->text[i]);
  sqlite3_bind_int64(to, 4, row->count);
  sqlite3_bind_double(to, 5, row->price);
}

// A row of a query for an id and the six columns, valid until its next step.
static Row rowAt(sqlite3_stmt *query) {
  Row row = {.id = textAt(query, 0)};
  for (int i = 0; i < fields; i++) if (i != 2 && i != 3) row.text[i] = textAt(query, i + 1);
  row.count = sqlite3_column_int64(query, 3);
  row.price = sqlite3_column_double(query, 4);
  return row;
}

static void noteRow(void *, sqlite3 *, int, const char *, const char *, i64, i64);
static void edited(sqlite3_context *, int, sqlite3_value **);
static int isPlain;

static File openFile(const char *path) {
  File file = {0};
  must(!sqlite3_open_v2(path, &file.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0), path);
  sql(file.db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
               "PRAGMA temp_store = MEMORY");
  if (isPlain) return file;
  // Triggers are for those who have no hook.
  sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, 0);
  sqlite3_create_function(file.db, "edit", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, 0, edited, 0, 0);
  return file;
}

static void closeFile(File *file) {
  for (int i = 0; i < statements; i++) sqlite3_finalize(file->known[i]);
  must(sqlite3_close(file->db) == SQLITE_OK, "a file does not close");
}

static void readStanding(File *file) {
  must(sqlite3_step(use(file, vector)) == SQLITE_ROW, "there is no vector");
  file->last.sequence = sqlite3_column_int64(use(file, vector), 1);
  sqlite3_reset(use(file, vector));
  must(sqlite3_step(use(file, zone)) == SQLITE_ROW, "there is no zone");
  const u8 *sums = sqlite3_column_blob(use(file, zone), 0);
  file->sum = (Sum){big(sums), big(sums + 8)};
  sqlite3_reset(use(file, zone));
}

// MARK: Capture

typedef struct { i64 row, extra; u64 name; i64 was, count; Text id, body; u8 clock[15]; } Note;
static Note notes[batch];
static u8 items[batch * itemSize], arena[1 << 20], *arenaEnd;
static int noteCount;
static Stamp now;
static Sum *kept;
static u64 replaced;

// A value of the row that changes, as bytes: an integer and a real have theirs in memory. A real without a fraction may
// come as an integer.
static Text taken(sqlite3 *db, int isNew, int column, u8 *memory) {
  sqlite3_value *value;
  (isNew ? sqlite3_preupdate_new : sqlite3_preupdate_old)(db, column, &value);
  if (column == 4) return *(double *)memory = sqlite3_value_double(value), (Text){memory, 8};
  if (column == 3) return *(i64 *)memory = sqlite3_value_int64(value), (Text){memory, 8};
  const u8 *bytes = sqlite3_value_blob(value);
  return (Text){bytes, sqlite3_value_bytes(value)};
}

// The hash of a vector that has one entry: of what a delete had seen, or for the check of the vector itself.
static u64 entryHash(int rounds) {
  u64 words[] = {big(replica), big(replica + 8), now.sequence};
  return sipBytes((u8 *)words, 24, rounds);
}

// The body of a deleted record that had one stamp: its values, and the delete.
static void noteDelete(Note *note, const Row *row, const u8 *clock) {
  Sum sum = {0};
  note->id.text = arenaEnd;
  note->id.count = row->id.count;
  u8 *start = put(arenaEnd, row->id.text, row->id.count), *out = start + 5;
  addCell(&sum, 1, prefixOf(now, note->name), entryHash(1), deleteCell, nullClass, 0, 0);
  *kept = (Sum){kept->first + sum.first, kept->second + sum.second};
  putBig(put(start, "\1", 1), (big(clock + 7) + sum.first) & 0xFFFFFF, 3)[0] = 2;
  out = putStamp(putStamp(out, stampOf(clock), 0), now, stampOf(clock).time);
  out = put(out, (u8[]){1, fields << 1}, 2);
  for (int i = 0; i < fields; i++) out = putValue(put(out, (u8[]){(2 + i) << 1 | 1, 0}, 2), row, i);
  arenaEnd = put(out, "\0\1\2", 3);
  note->body = (Text){start, arenaEnd - start};
}

// What it learns is all that capture needs: the row need not be read again.
PART void noteRow(void *context, sqlite3 *db, int operation, const char *schema, const char *table, i64 old, i64 new) {
  if (strcmp(table, "Item")) return;
  int isNew = operation == SQLITE_INSERT, changes = 0;
  Note *note = &notes[noteCount];
  u8 memory[16];
  note->row = new;
  if (operation == SQLITE_UPDATE) {
    for (int i = 1; i <= fields; i++) {
      Text before = taken(db, 0, i, memory), after = taken(db, 1, i, memory + 8);
      if (before.count == after.count && !memcmp(before.text, after.text, before.count)) continue;
      memcpy(&note->was, before.text, 8), memcpy(&note->count, after.text, 8), changes++;
    }
    if (!changes) return;
  }
  Row row = {.id = taken(db, isNew, 0, memory)};
  takeUUID(row.id.text + 7, put(items + noteCount++ * itemSize, "\10", 1));
  const u8 *clock = isNew ? 0 : taken(db, 0, 7, memory).text;
  if (operation != SQLITE_UPDATE) {
    for (int i = 0; i < fields; i++) if (i != 2 && i != 3) row.text[i] = taken(db, isNew, i + 1, memory);
    memcpy(&row.count, taken(db, isNew, 3, memory).text, 8), memcpy(&row.price, taken(db, isNew, 4, memory).text, 8);
  }
  u64 before = kept->first;
  if (isNew) addRow(kept, &row, now, 0), putClock(note->clock, now, kept->first - before);
  if (isNew) return;
  note->name = sipBytes(row.id.text, row.id.count, 1);
  note->extra = extraOf(clock);
  if (operation == SQLITE_DELETE) noteDelete(note, &row, clock);
}

PART int editBody(const Note *note, const u8 *body, u8 *out) {
  Stamp first, last;
  takeStamps(body, &first, &last);
  u64 before = kept->first;
  replaced = last.sequence;
  addCell(kept, 1, prefixOf(now, note->name), parts[2], fieldCell, integerClass, &note->count, 8);
  addCell(kept, -1, prefixOf(last, note->name), parts[2], fieldCell, integerClass, &note->was, 8);
  u8 *end = putBig(put(out, "\1", 1), (big(body - 4) + kept->first - before) & 0xFFFFFF, 3);
  *end++ = 2;
  return put(putStamp(putStamp(end, first, 0), now, first.time), "\1\3\10\1\0\0", 6) - out;
}

// As a function of SQL it spares one of two searches.
static void edited(sqlite3_context *context, int count, sqlite3_value **values) {
  u8 out[64], in[64 + 4];
  memcpy(in + 4, sqlite3_value_blob(values[0]), sqlite3_value_bytes(values[0]));
  sqlite3_result_blob(context, out, editBody(notes, in + 4, out), SQLITE_TRANSIENT);
}

PART void putOneBody(File *file) {
  sqlite3_bind_int64(use(file, edit), 1, notes[0].extra);
  run(use(file, edit));
}

// Of many rows, what has as many bytes as before goes in place: bodies (`isBody`), or the clocks of inserted rows.
PART void putInPlace(File *file, int isBody) {
  sqlite3_blob *blob = 0;
  u8 in[64], out[64];
  for (int i = noteCount - 1; i >= 0; i--) {
    i64 number = isBody ? notes[i].extra : notes[i].row;
    const char *table = isBody ? "tally_extra" : "Item", *column = isBody ? "body" : "tally_clock";
    int status = blob ? sqlite3_blob_reopen(blob, number)
                      : sqlite3_blob_open(file->db, "main", table, column, number, 1, &blob);
    must(status == SQLITE_OK, "a blob does not open");
    int size = sqlite3_blob_bytes(blob);
    if (isBody) must(!sqlite3_blob_read(blob, in + 4, size, 0), "a body is not read");
    int length = isBody ? editBody(&notes[i], in + 4, out) : size;
    if (length == size) {
      must(!sqlite3_blob_write(blob, isBody ? out : notes[i].clock, size, 0), "a blob is not written");
      continue;
    }
    sqlite3_bind_blob(use(file, resize), 1, out, length, SQLITE_STATIC);
    sqlite3_bind_int64(use(file, resize), 2, number);
    run(use(file, resize));
  }
  sqlite3_blob_close(blob);
}

PART void putHidden(File *file) {
  for (int i = noteCount - 1; i >= 0; i--) {
    bindText(use(file, hide), 1, notes[i].id);
    sqlite3_bind_blob(use(file, hide), 2, notes[i].body.text, notes[i].body.count, SQLITE_STATIC);
    run(use(file, hide));
  }
  int size = putVarint(putVarint(putVarint(arena, 1), 1), now.sequence) - arena;
  sqlite3_bind_int64(use(file, context), 1, now.sequence);
  sqlite3_bind_int64(use(file, context), 2, now.time);
  sqlite3_bind_blob(use(file, context), 3, arena, size, SQLITE_STATIC);
  run(use(file, context));
}

// The entry of a record that was edited before, alone in its transaction, moves to the new one: one row is written,
// where dropping the old entry and adding the new are two.
PART void putLog(File *file, const u8 *items, int count) {
  i64 number = 0;
  if (count == 1 && replaced) {
    sqlite3_bind_int64(use(file, findLog), 1, replaced);
    sqlite3_bind_blob(use(file, findLog), 2, items, itemSize, SQLITE_STATIC);
    if (sqlite3_step(use(file, findLog)) == SQLITE_ROW) number = sqlite3_column_int64(use(file, findLog), 0);
    sqlite3_reset(use(file, findLog));
  }
  sqlite3_stmt *write = use(file, number ? moveLog : addLog);
  sqlite3_bind_int64(write, 1, now.sequence);
  if (number) sqlite3_bind_int64(write, 2, number);
  else sqlite3_bind_blob(write, 2, items, count * itemSize, SQLITE_STATIC);
  run(write);
}

PART void putStanding(File *file) {
  u8 sums[24];
  putBig(putBig(putBig(sums, file->sum.first, 8), file->sum.second, 8), entryHash(2), 8);
  sqlite3_bind_int64(use(file, putVector), 1, now.sequence);
  run(use(file, putVector));
  sqlite3_bind_blob(use(file, putZone), 1, sums, 24, SQLITE_STATIC);
  run(use(file, putZone));
}

PART void putEnd(File *file) { run(use(file, commit)); }

static void begin(File *file) {
  run(use(file, beginning));
  if (isPlain) return;
  // Whether anybody else has committed, and so may have written to `tally_pending`.
  unsigned version;
  sqlite3_file_control(file->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  now = file->last = (Stamp){file->last.sequence + 1, file->last.time + 4};
  noteCount = replaced = 0;
  arenaEnd = arena;
  kept = &file->sum;
  sqlite3_preupdate_hook(file->db, noteRow, 0);
}

static void end(File *file, void (*capture)(File *)) {
  if (!isPlain) {
    // What is written now is no news to the hook.
    sqlite3_preupdate_hook(file->db, 0, 0);
    capture(file);
    putLog(file, items, noteCount);
    putStanding(file);
  }
  putEnd(file);
}

static void putEdits(File *file) { noteCount == 1 ? putOneBody(file) : putInPlace(file, 1); }
static void putClocks(File *file) { putInPlace(file, 0); }

PART void appRun(sqlite3_stmt *statement) { run(statement); }

static Row all[mostRows];
static int allCount;

static void appUpdate(File *file, int index) {
  sqlite3_bind_int64(use(file, update), 1, 1000000 + index);
  bindText(use(file, update), 2, all[index % allCount].id);
  appRun(use(file, update));
}

static void appInsert(File *file, int index) {
  bindRow(use(file, insert), &all[index]);
  appRun(use(file, insert));
}

static void appIgnore(File *file, int index) {
  bindRow(use(file, ignore), &all[index]);
  appRun(use(file, ignore));
}

static void readAll(File *file) {
  i64 sum = 0;
  while (sqlite3_step(use(file, plainRows)) == SQLITE_ROW) {
    Row row = rowAt(use(file, plainRows));
    sum += row.count + row.text[0].count;
  }
  must(sum != 0, "there are no rows");
}

static void appDelete(File *file, int index) {
  bindText(use(file, removal), 1, all[index].id);
  appRun(use(file, removal));
}

static void inBatches(File *file, int count, int size, void (*app)(File *, int), void (*capture)(File *)) {
  for (int start = 0; start < count; start += size) {
    begin(file);
    for (int i = start; i < start + size && i < count; i++) app(file, i);
    end(file, capture);
  }
}

// MARK: Deltas

typedef struct { u64 high, low; const u8 *values[fields + 1]; int inserted, edited; } Packed;
static Packed packed[blockRows];
static u8 values[1 << 22], raw[1 << 22], *valuesEnd = values, *delta, *deltaEnd;
static Stamp stamps[mostStamps];
static int packedCount, stampCount, ranks[mostStamps];
static ZSTD_CCtx *compressor;

static int stampNumber(Stamp stamp) {
  for (int i = stampCount - 1; i >= 0; i--)
    if (stamps[i].sequence == stamp.sequence && stamps[i].time == stamp.time) return i;
  must(stampCount < mostStamps, "too many stamps");
  stamps[stampCount] = stamp;
  return stampCount++;
}

static int byKey(const void *one, const void *other) {
  const Packed *a = one, *b = other;
  return a->high != b->high ? (a->high < b->high ? -1 : 1) : a->low < b->low ? -1 : a->low > b->low;
}

static int byStamp(const void *one, const void *other) {
  return stamps[*(int *)one].sequence < stamps[*(int *)other].sequence ? -1 : 1;
}

static u8 *putStamps(u8 *out) {
  int order[stampCount];
  for (int i = 0; i < stampCount; i++) order[i] = i;
  qsort(order, stampCount, sizeof *order, byStamp);
  Stamp last = {0};
  out = putVarint(out, stampCount);
  for (int i = 0; i < stampCount; i++) {
    Stamp stamp = stamps[order[i]];
    ranks[order[i]] = i;
    out = putStamp(out, (Stamp){stamp.sequence - last.sequence, stamp.time}, last.time);
    last = stamp;
  }
  *out++ = 0;
  return out;
}

PART void putBlock(void) {
  if (!packedCount) return;
  qsort(packed, packedCount, sizeof *packed, byKey);
  u8 *out = put(putStamps(raw), "\1\4Item\6", 7);
  for (int f = 0; f < fields; f++) {
    size_t size = 0;
    for (int i = 0; i < packedCount; i++) size += packed[i].values[f + 1] - packed[i].values[f];
    const char *key = keys[wire[f]];
    *out++ = strlen(key);
    out = putVarint(put(out, key, strlen(key)), size);
  }
  for (int f = 0; f < fields; f++)
    for (int i = 0; i < packedCount; i++)
      out = put(out, packed[i].values[f], packed[i].values[f + 1] - packed[i].values[f]);
  out = putVarint(out, packedCount);
  for (int i = 0; i < packedCount; i++) out = putBig(putBig(out, packed[i].high, 8), packed[i].low, 8);
  *out++ = 0;
  for (int i = 0; i < packedCount; i++) {
    const Packed *item = &packed[i];
    *out++ = item->edited < 0 ? 3 : 1;
    out = putVarint(out, ranks[item->inserted]);
    *out++ = 0x3F;
    if (item->edited < 0) continue;
    for (int f = 0; f < fields; f++) out = putVarint(out, ranks[f ? item->inserted : item->edited]);
  }
  *out++ = 0;
  u8 head[20];
  size_t room = ZSTD_compressBound(out - raw);
  static u8 frame[1 << 22];
  size_t size = ZSTD_compressCCtx(compressor, frame, room, raw, out - raw, 3);
  deltaEnd = put(deltaEnd, head, putVarint(putVarint(head, (out - raw) << 1 | 1), size) - head);
  deltaEnd = put(deltaEnd, frame, size);
  packedCount = stampCount = 0;
  valuesEnd = values;
}

static void stampsOf(File *file, const u8 *clock, Stamp *first, Stamp *last) {
  if (!isExtra(clock)) { *first = *last = stampOf(clock); return; }
  sqlite3_bind_int64(use(file, body), 1, extraOf(clock));
  must(sqlite3_step(use(file, body)) == SQLITE_ROW, "there is no body");
  takeStamps(sqlite3_column_blob(use(file, body), 0), first, last);
  sqlite3_reset(use(file, body));
}

PART void packRow(File *file, const Row *row, const u8 *clock, Sum *sum) {
  Packed *item = &packed[packedCount++];
  Stamp first, last;
  u8 key[16];
  stampsOf(file, clock, &first, &last);
  takeUUID(row->id.text + 7, key);
  item->high = big(key), item->low = big(key + 8);
  item->inserted = stampNumber(first);
  item->edited = isExtra(clock) ? stampNumber(last) : -1;
  for (int f = 0; f < fields; f++) item->values[f] = valuesEnd, valuesEnd = putValue(valuesEnd, row, wire[f]);
  item->values[fields] = valuesEnd;
  addRow(sum, row, first, isExtra(clock) ? &last : 0);
  if (packedCount == blockRows || valuesEnd - values > 1 << 20) putBlock();
}

// Everything, and the sum that is compared with the one that is kept.
PART void fullDelta(File *file) {
  Sum sum = {0};
  deltaEnd = delta + 60;
  sql(file->db, "BEGIN");
  readStanding(file);
  while (sqlite3_step(use(file, rows)) == SQLITE_ROW) {
    Row row = rowAt(use(file, rows));
    packRow(file, &row, sqlite3_column_blob(use(file, rows), 7), &sum);
  }
  putBlock();
  sqlite3_reset(use(file, rows));
  *deltaEnd++ = 0;
  deltaEnd = putBig(deltaEnd, sipBytes(delta, deltaEnd - delta, 2), 8);
  must(sum.first != file->sum.first, "the sum of the items cannot be that of all records");
  sql(file->db, "COMMIT");
}

// The receiver's part for all blocks.
static void openDelta(void) {
  const u8 *bytes = delta + 60;
  must(sipBytes(delta, deltaEnd - delta - 8, 2) == big(deltaEnd - 8), "a delta is damaged");
  for (u64 head; (head = takeVarint(&bytes));) {
    u64 size = takeVarint(&bytes);
    must(ZSTD_decompress(raw, sizeof raw, bytes, size) == head >> 1, "a block does not decompress");
    bytes += size;
  }
}

// MARK: Receiving

static Stamp *firsts, *lasts;

static int isSame(Text a, Text b) { return a.count == b.count && !memcmp(a.text, b.text, a.count); }

PART void again(File *file, int count) {
  sql(file->db, "BEGIN IMMEDIATE");
  openDelta();
  for (int index = 0; index < count; index++) {
    const Row *want = &all[index];
    sqlite3_stmt *query = use(file, row);
    bindText(query, 1, want->id);
    must(sqlite3_step(query) == SQLITE_ROW, "a row is missing");
    Row have = rowAt(query);
    Stamp first, last;
    stampsOf(file, sqlite3_column_blob(query, 7), &first, &last);
    int same = first.sequence == firsts[index].sequence && last.sequence == lasts[index].sequence;
    for (int i = 0; i < fields; i++) if (i != 2 && i != 3) same &= isSame(have.text[i], want->text[i]);
    must(same && have.count == want->count && have.price == want->price, "a row differs");
    sqlite3_reset(query);
  }
  sql(file->db, "COMMIT");
}

// Each row with its clock and its part of the sum, an entry of the log for each transaction of the sender's.
PART void apply(File *file, int count) {
  static u8 *logs[mostStamps], *ends[mostStamps];
  u8 clock[15];
  begin(file);
  sqlite3_preupdate_hook(file->db, 0, 0);
  openDelta();
  stampCount = 0;
  for (int index = 0; index < count; index++) {
    u64 before = file->sum.first;
    addRow(&file->sum, &all[index], firsts[index], 0);
    putClock(clock, firsts[index], file->sum.first - before);
    bindRow(use(file, receive), &all[index]);
    sqlite3_bind_blob(use(file, receive), 8, clock, 15, SQLITE_STATIC);
    appRun(use(file, receive));
    int number = stampNumber(firsts[index]);
    if (!logs[number]) logs[number] = ends[number] = malloc(blockRows * itemSize);
    takeUUID(all[index].id.text + 7, put(ends[number], "\10", 1));
    ends[number] += itemSize;
  }
  u64 sequence = now.sequence;
  for (int i = 0; i < stampCount; i++) {
    now.sequence = stamps[i].sequence;
    putLog(file, logs[i], (ends[i] - logs[i]) / itemSize);
  }
  now.sequence = sequence;
  putStanding(file);
  putEnd(file);
}

// MARK: One change

// Reads what the last commit wrote and makes a delta of it, and joins that into the other file.
PART int readNews(File *reader, u64 since, u8 *out) {
  run(use(reader, startRead));
  readStanding(reader);
  sqlite3_bind_int64(use(reader, log), 1, since);
  must(sqlite3_step(use(reader, log)) == SQLITE_ROW, "nothing is new");
  u8 key[16];
  char id[44] = "Item|~|";
  memcpy(key, (const u8 *)sqlite3_column_blob(use(reader, log), 0) + 1, 16);
  sqlite3_reset(use(reader, log));
  putUUID((u8 *)id + 7, key);
  bindText(use(reader, row), 1, (Text){(u8 *)id, 43});
  must(sqlite3_step(use(reader, row)) == SQLITE_ROW, "a row is missing");
  Row have = rowAt(use(reader, row));
  Stamp first, last;
  stampsOf(reader, sqlite3_column_blob(use(reader, row), 7), &first, &last);
  // The checksum of the state.
  Sum sum = {0};
  addRow(&sum, &have, first, &last);
  u8 block[64], value[16], *end = put(block, "\1", 1);
  end = put(putStamp(end, last, 0), "\0\1\4Item\1\5count", 14);
  int size = putValue(value, &have, 2) - value;
  end = put(putVarint(end, size), value, size);
  end = put(put(put(end, "\1", 1), key, 16), "\0\2\0\1\0", 5);
  u8 *start = out;
  out = put(put(out, "TL\2\1\1", 5), replica, 16);
  out = putVarint(putVarint(out, since), last.sequence - since);
  out = putBig(putBig(out, reader->sum.first, 8), reader->sum.second, 8);
  out = put(putVarint(out, (end - block) << 1), block, end - block);
  *out++ = 0;
  out = putBig(out, sipBytes(start, out - start, 2), 8);
  sqlite3_reset(use(reader, row));
  run(use(reader, commit));
  return out - start;
}

// The values come as arguments: taking a hundred bytes apart again is left out.
PART void joinEdit(File *file, const u8 *bytes, int size, Text id, i64 count) {
  begin(file);
  sqlite3_preupdate_hook(file->db, 0, 0);
  must(sipBytes(bytes, size - 8, 2) == big(bytes + size - 8), "a delta is damaged");
  sqlite3_stmt *query = use(file, row);
  bindText(query, 1, id);
  must(sqlite3_step(query) == SQLITE_ROW, "a row is missing");
  const u8 *clock = sqlite3_column_blob(query, 7);
  Note *note = &notes[0];
  note->was = sqlite3_column_int64(query, 3), note->count = count;
  note->row = sqlite3_column_int64(query, 8), note->extra = extraOf(clock);
  note->name = sipBytes(id.text, id.count, 1);
  memcpy(note->clock, clock, 15);
  putBig(note->clock + 8, (big(clock + 7) >> 24) + 1, 4);
  takeUUID(id.text + 7, put(items, "\10", 1));
  sqlite3_reset(query);
  sqlite3_bind_blob(use(file, show), 1, note->clock, 15, SQLITE_STATIC);
  sqlite3_bind_int64(use(file, show), 2, count);
  sqlite3_bind_int64(use(file, show), 3, note->row);
  appRun(use(file, show));
  noteCount = 1;
  end(file, putEdits);
}

PART void change(File *one, const char *path, const char *other, int count) {
  File two = openFile(other);
  if (isPlain) {
    for (int i = 0; i < count; i++) {
      begin(one), appUpdate(one, i), end(one, 0);
      begin(&two), appUpdate(&two, i), end(&two, 0);
    }
    return closeFile(&two);
  }
  readStanding(&two);
  two.last.time = one->last.time;
  File reader = openFile(path), otherReader = openFile(other);
  u8 bytes[160];
  for (int i = 0; i < count; i++) {
    run(use(&otherReader, startRead));
    readStanding(&otherReader);
    run(use(&otherReader, commit));
    begin(one), appUpdate(one, i), end(one, putEdits);
    int size = readNews(&reader, otherReader.last.sequence, bytes);
    joinEdit(&two, bytes, size, all[i % allCount].id, 1000000 + i);
  }
  closeFile(&reader), closeFile(&otherReader), closeFile(&two);
}

// MARK: Open

PART void openOnce(const char *path, int index) {
  File file = openFile(path);
  if (isPlain) {
    begin(&file), appUpdate(&file, index), end(&file, 0);
    return closeFile(&file);
  }
  char token[33] = "00112233445566778899aabbccddeeff", *name = sqlite3_mprintf("%s-incarnation", path);
  while (sqlite3_step(use(&file, meta)) == SQLITE_ROW) continue;
  sqlite3_reset(use(&file, meta));
  readStanding(&file);
  file.last.time = 1ull << 41 | (u64)index << 3;
  FILE *out = fopen(name, "w");
  fprintf(out, "%s %d", token, index);
  fclose(out);
  sqlite3_free(name);
  begin(&file);
  sqlite3_bind_text(use(&file, incarnation), 1, token, 32, SQLITE_STATIC);
  run(use(&file, incarnation));
  appUpdate(&file, index);
  end(&file, putEdits);
  closeFile(&file);
}

// MARK: Preparation

// The rows of a store in tables without Tally: those of the baseline in Docs/Benchmarks.md.
static void makePlain(const char *path, const char *store) {
  unlink(path);
  File file = openFile(path);
  char *attach = sqlite3_mprintf("ATTACH %Q AS store", store);
  sql(file.db, attach);
  sql(file.db,
      "CREATE TABLE Owner(id TEXT NOT NULL PRIMARY KEY, name TEXT) STRICT;"
      "CREATE TABLE Item(id TEXT NOT NULL PRIMARY KEY, name TEXT, notes TEXT, count INTEGER, price REAL, day TEXT,"
      "owner TEXT REFERENCES Owner(id) DEFERRABLE INITIALLY DEFERRED) STRICT;"
      "CREATE INDEX Item_on_owner ON Item(owner);"
      "CREATE TABLE Team(id TEXT NOT NULL PRIMARY KEY, name TEXT) STRICT; CREATE TABLE Team_members("
      "source TEXT NOT NULL REFERENCES Team(id) DEFERRABLE INITIALLY DEFERRED,"
      "target TEXT NOT NULL REFERENCES Owner(id) DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY(source, target)) STRICT;"
      "CREATE INDEX Team_members_target ON Team_members(target, source);"
      "INSERT INTO Owner SELECT id, name FROM store.Owner;"
      "INSERT INTO Item SELECT id, " COLUMNS " FROM store.Item");
  closeFile(&file);
}

static Text copy(Text text) { return (Text){memcpy(malloc(text.count + 1), text.text, text.count), text.count}; }

static void load(File *file) {
  int which = isPlain ? plainRows : rows;
  while (sqlite3_step(use(file, which)) == SQLITE_ROW) {
    Row row = rowAt(use(file, which));
    row.id = copy(row.id);
    for (int i = 0; i < fields; i++) if (i != 2 && i != 3) row.text[i] = copy(row.text[i]);
    if (!isPlain) stampsOf(file, sqlite3_column_blob(use(file, rows), 7), &firsts[allCount], &lasts[allCount]);
    all[allCount++] = row;
  }
  sqlite3_reset(use(file, which));
}

static i64 countOf(int index) { return (i64)index * 7919 % 1000000; }

// Gives rows the state of rows that were only inserted. A fresh table numbers its rows from 1.
static void reform(File *file) {
  u8 clock[15];
  sql(file->db, "BEGIN");
  for (int i = 0; i < allCount; i++) {
    Sum gone = {0}, sum = {0};
    addRow(&gone, &all[i], firsts[i], &lasts[i]);
    all[i].count = countOf(i);
    addRow(&sum, &all[i], lasts[i] = firsts[i], 0);
    file->sum = (Sum){file->sum.first + sum.first - gone.first, file->sum.second + sum.second - gone.second};
    putClock(clock, firsts[i], sum.first);
    sqlite3_bind_blob(use(file, show), 1, clock, 15, SQLITE_STATIC);
    sqlite3_bind_int64(use(file, show), 2, all[i].count);
    sqlite3_bind_int64(use(file, show), 3, i + 1);
    run(use(file, show));
  }
  now = file->last;
  putStanding(file);
  sql(file->db, "DELETE FROM tally_extra; COMMIT");
}

static void removeRows(File *file) {
  sql(file->db, "DELETE FROM Item");
  if (!isPlain) {
    sql(file->db, "DELETE FROM tally_log WHERE sequence > 1");
    Sum sum = {0};
    for (int i = 0; i < allCount; i++) addRow(&sum, &all[i], firsts[i], 0);
    file->sum = (Sum){file->sum.first - sum.first, file->sum.second - sum.second};
    now = file->last;
    putStanding(file);
  }
  sql(file->db, "VACUUM");
}

// In the order in which a block has them.
static int byID(const void *one, const void *other) {
  return memcmp(all[*(int *)one].id.text, all[*(int *)other].id.text, 43);
}

static void sortRows(void) {
  int *order = malloc(allCount * sizeof *order);
  Row *sorted = malloc(allCount * sizeof *sorted);
  Stamp *one = malloc(allCount * sizeof *one), *two = malloc(allCount * sizeof *two);
  for (int i = 0; i < allCount; i++) order[i] = i;
  for (int i = 0; i < allCount; i += blockRows)
    qsort(order + i, allCount - i < blockRows ? allCount - i : blockRows, sizeof *order, byID);
  for (int i = 0; i < allCount; i++) sorted[i] = all[order[i]], one[i] = firsts[order[i]], two[i] = lasts[order[i]];
  memcpy(all, sorted, allCount * sizeof *all);
  memcpy(firsts, one, allCount * sizeof *one), memcpy(lasts, two, allCount * sizeof *two);
}

static double seconds(struct timeval time) { return time.tv_sec + time.tv_usec / 1e6; }

int main(int count, char **words) {
  must(count > 3, "usage: floors WORKLOAD FILE RECORDS [plain] [prepare] [time] [edited]");
  const char *workload = words[1], *path = words[2];
  int records = atoi(words[3]), isPrepared = 0, isTimed = 0, isEdited = 0;
  for (int i = 4; i < count; i++) {
    isPlain |= !strcmp(words[i], "plain");
    isPrepared |= !strcmp(words[i], "prepare");
    isTimed |= !strcmp(words[i], "time");
    isEdited |= !strcmp(words[i], "edited");
  }
  for (int i = 0; i < 16; i++) digitOf[(u8) "0123456789abcdef"[i]] = i;
  for (int i = 0; i < fields; i++) parts[i] = sipBytes((const u8 *)keys[i], strlen(keys[i]), 1);
#define IS(name) !strcmp(workload, name)
  const char *second = sqlite3_mprintf("%s-second", path);
  if (isPlain) {
    const char *plain = sqlite3_mprintf("%s-plain", path);
    makePlain(plain, path);
    if (IS("change")) makePlain(second, path);
    path = plain;
  }
  firsts = malloc(mostRows * sizeof *firsts), lasts = malloc(mostRows * sizeof *lasts);
  compressor = ZSTD_createCCtx();
  delta = malloc((size_t)1 << 28);
  int isNew = IS("insert") || IS("apply"), isJoin = IS("again") || IS("apply");
  int isInserted = isNew || IS("delta") || IS("again") || IS("delete");
  File file = openFile(path);
  if (isPlain && isInserted) sql(file.db, "UPDATE Item SET count = (rowid - 1) * 7919 % 1000000");
  if (!isPlain) {
    must(sqlite3_step(use(&file, who)) == SQLITE_ROW, "nobody has written");
    memcpy(replica, sqlite3_column_blob(use(&file, who), 0), 16);
    sqlite3_reset(use(&file, who));
    readStanding(&file);
  }
  load(&file);
  must(records <= allCount || !isInserted, "there are not so many rows");
  if (!isPlain) {
    file.last.time = lasts[0].time + 1000;
    if (isInserted && !isEdited) reform(&file);
    if (isJoin) fullDelta(&file), sortRows();
  }
  if (isNew) removeRows(&file);
  sql(file.db, "PRAGMA wal_checkpoint(TRUNCATE)");
  if (IS("open")) closeFile(&file);
  struct rusage before, after;
  struct timespec start, finish;
  getrusage(RUSAGE_SELF, &before);
  clock_gettime(CLOCK_MONOTONIC, &start);
  if (isPrepared) records = 0;
  else if (IS("update")) inBatches(&file, records, batch, appUpdate, putEdits);
  else if (IS("insert")) inBatches(&file, records, batch, appInsert, putClocks);
  else if (IS("commit")) inBatches(&file, records, 1, appUpdate, putEdits);
  else if (IS("delete")) inBatches(&file, records, batch, appDelete, putHidden);
  else if (IS("change")) change(&file, path, second, records);
  else if (IS("delta")) isPlain ? readAll(&file) : fullDelta(&file);
  else if (IS("again")) isPlain ? inBatches(&file, records, records, appIgnore, 0) : again(&file, records);
  else if (IS("apply")) isPlain ? inBatches(&file, records, records, appInsert, 0) : apply(&file, records);
  else if (IS("open")) for (int i = 0; i < records; i++) openOnce(path, i);
  else must(0, "there is no such workload");
  clock_gettime(CLOCK_MONOTONIC, &finish);
  getrusage(RUSAGE_SELF, &after);
  if (isTimed)
    printf("%.6f %.6f %.6f\n", seconds(after.ru_utime) - seconds(before.ru_utime),
           seconds(after.ru_stime) - seconds(before.ru_stime),
           finish.tv_sec - start.tv_sec + (finish.tv_nsec - start.tv_nsec) / 1e9);
  if (!IS("open")) closeFile(&file);
}
