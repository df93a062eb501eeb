// The parts of a store's file: bytes, hashes, rows, bodies, and a connection with its statements.
#pragma once
#define SQLITE_ENABLE_PREUPDATE_HOOK
#include "CTallySQLite.h"
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
  beginning, commit, update, insert, removal, rows, zone, putZone, addLog, lastLog, dropLog,
  body, edit, resize, row, found, show, hide, context, meta, incarnation, receive, plainRows, ignore, who,
  statements
};
#define COLUMNS "name, notes, count, price, day, owner"
static const char *texts[statements] = {
    "BEGIN IMMEDIATE", "COMMIT", "UPDATE Item SET count = ? WHERE id = ?",
    "INSERT INTO Item(id, " COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?)", "DELETE FROM Item WHERE id = ?",
    "SELECT id, " COLUMNS ", tally_clock FROM Item",
    "SELECT fingerprint, tail FROM tally_zone WHERE n = 0",
    "UPDATE tally_zone SET fingerprint = ?, tail = ? WHERE n = 0",
    "INSERT INTO tally_log(n, zone, replica, sequence, items) VALUES(?, 0, 1, ?, ?)",
    "SELECT max(n) FROM tally_log",
    "DELETE FROM tally_log WHERE zone = 0 AND replica = 1 AND sequence = ? AND length(items) = 17 AND items = ?",
    "SELECT n, body FROM tally_key(?) LEFT JOIN tally_extra ON n = tally_key",
    "UPDATE tally_extra SET body = edit(body) WHERE n = ?", "UPDATE tally_extra SET body = ? WHERE n = ?",
    "SELECT id, " COLUMNS ", tally_clock, rowid FROM Item WHERE id = ?",
    "SELECT id, " COLUMNS ", tally_clock FROM tally_key(?) LEFT JOIN Item ON id = tally_key",
    "UPDATE Item SET tally_clock = ?, count = ? WHERE rowid = ?",
    "INSERT INTO tally_hidden(kind, key, body) VALUES(2, ?, ?)", "INSERT INTO tally_context VALUES(1, ?, ?, ?)",
    "SELECT key, value FROM tally_meta", "UPDATE tally_meta SET value = ? WHERE key = 'incarnation'",
    "INSERT INTO Item(id, " COLUMNS ", tally_clock) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
    "SELECT id, " COLUMNS " FROM Item", "INSERT OR IGNORE INTO Item(id, " COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?)",
    "SELECT id FROM tally_replica WHERE n = 1"};

// The newest entries of the log, and those in its table that have become needless (StorageFormat.md, section 5).
enum { tailBytes = 2048, headBytes = 24, mostEntries = 128 };
typedef struct { u64 number, sequence; u8 items[itemSize]; } Entry;

typedef struct {
  sqlite3 *db;
  sqlite3_stmt *known[statements];
  // What the statements that look rows up, as a store does, find next.
  struct tally_key bodyKey, rowKey;
  Stamp last;
  Sum sum;
  Entry entries[mostEntries], needless[mostEntries];
  int entryCount, needlessCount;
  // The bytes of the entries.
  u8 tail[tailBytes + headBytes];
  int tailSize;
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

// Moves a statement that goes on running to the next key.
static void find(sqlite3_stmt *query, struct tally_key *key) {
  if (!sqlite3_stmt_busy(query)) tally_key_bind(query, 1, key);
  must(tally_key_find(query, key) == SQLITE_ROW && sqlite3_column_type(query, 0) != SQLITE_NULL, "a row is missing");
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
  must(!tally_key_register(file.db), "keys cannot be handed over");
  sqlite3_create_function(file.db, "edit", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, 0, edited, 0, 0);
  return file;
}

static void closeFile(File *file) {
  for (int i = 0; i < statements; i++) sqlite3_finalize(file->known[i]);
  must(sqlite3_close(file->db) == SQLITE_OK, "a file does not close");
}

static void readStanding(File *file) {
  must(sqlite3_step(use(file, zone)) == SQLITE_ROW, "there is no zone");
  const u8 *sums = sqlite3_column_blob(use(file, zone), 0);
  file->sum = (Sum){big(sums), big(sums + 8)};
  const u8 *tail = sqlite3_column_blob(use(file, zone), 1), *end = tail + sqlite3_column_bytes(use(file, zone), 1);
  must(tail && sipBytes(tail + 8, end - tail - 8, 1) == big(tail), "the tail is damaged");
  tail += 8;
  must(takeVarint(&tail) == 1 && takeVarint(&tail) == 1, "there is another replica");
  file->last.sequence = takeVarint(&tail);
  must(!takeVarint(&tail), "there are needless entries");
  memcpy(file->tail, tail, file->tailSize = end - tail);
  for (u64 number = 0; tail < end; tail += itemSize) {
    Entry *entry = &file->entries[file->entryCount++];
    entry->number = number += takeVarint(&tail);
    takeVarint(&tail);
    entry->sequence = takeVarint(&tail);
    must(takeVarint(&tail) == itemSize, "an entry lists something else");
    memcpy(entry->items, tail, itemSize);
  }
  sqlite3_reset(use(file, zone));
}
