// What a local write costs.
#pragma once
#include "store.h"

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

// In the table, after all others.
static void addEntry(File *file, u64 number, u64 sequence, const u8 *items, int count) {
  if (number) sqlite3_bind_int64(use(file, addLog), 1, number);
  else sqlite3_bind_null(use(file, addLog), 1);
  sqlite3_bind_int64(use(file, addLog), 2, sequence);
  sqlite3_bind_blob(use(file, addLog), 3, items, count * itemSize, SQLITE_STATIC);
  run(use(file, addLog));
}

// Moves the entries of the tail into the table, and drops there what edits have made needless, where it is alone in its row.
PART void flushTail(File *file) {
  for (int i = 0; i < file->needlessCount; i++) {
    sqlite3_bind_int64(use(file, dropLog), 1, file->needless[i].sequence);
    sqlite3_bind_blob(use(file, dropLog), 2, file->needless[i].items, itemSize, SQLITE_STATIC);
    run(use(file, dropLog));
  }
  for (int i = 0; i < file->entryCount; i++) {
    const Entry *entry = &file->entries[i];
    addEntry(file, entry->number, entry->sequence, entry->items, 1);
  }
  file->needlessCount = file->entryCount = file->tailSize = 0;
}

static void encodeEntry(File *file, int i) {
  u64 before = i ? file->entries[i - 1].number : 0;
  u8 *out = putVarint(file->tail + file->tailSize, file->entries[i].number - before);
  out = putVarint(putVarint(putVarint(out, 1), file->entries[i].sequence), itemSize);
  file->tailSize = put(out, file->entries[i].items, itemSize) - file->tail;
}

// Takes the entry of the edit before away; one that is in the table goes later.
static void dropEntry(File *file, const u8 *items) {
  for (int i = 0; i < file->entryCount; i++) {
    if (file->entries[i].sequence != replaced) continue;
    memmove(&file->entries[i], &file->entries[i + 1], (--file->entryCount - i) * sizeof(Entry));
    file->tailSize = 0;
    for (int j = 0; j < file->entryCount; j++) encodeEntry(file, j);
    return;
  }
  Entry *needless = &file->needless[file->needlessCount++];
  needless->sequence = replaced;
  memcpy(needless->items, items, itemSize);
}

static u64 lastNumber(File *file) {
  if (file->entryCount) return file->entries[file->entryCount - 1].number;
  must(sqlite3_step(use(file, lastLog)) == SQLITE_ROW, "there is no log");
  u64 number = sqlite3_column_int64(use(file, lastLog), 0);
  sqlite3_reset(use(file, lastLog));
  return number;
}

// What lists one record goes into the tail, anything else into the table.
PART void putLog(File *file, const u8 *items, int count) {
  if (count > 1) return flushTail(file), addEntry(file, 0, now.sequence, items, count);
  if (replaced) dropEntry(file, items);
  if (file->tailSize + itemSize + headBytes > tailBytes || file->needlessCount == mostEntries) flushTail(file);
  Entry *entry = &file->entries[file->entryCount];
  entry->number = lastNumber(file) + 1;
  entry->sequence = now.sequence;
  memcpy(entry->items, items, itemSize);
  encodeEntry(file, file->entryCount++);
}

PART void putStanding(File *file) {
  u8 sums[24], tail[headBytes + tailBytes];
  putBig(putBig(putBig(sums, file->sum.first, 8), file->sum.second, 8), entryHash(2), 8);
  sqlite3_bind_blob(use(file, putZone), 1, sums, 24, SQLITE_STATIC);
  u8 *end = putVarint(put(tail + 8, "\1\1", 2), now.sequence);
  *end++ = 0;
  end = put(end, file->tail, file->tailSize);
  putBig(tail, sipBytes(tail + 8, end - tail - 8, 1), 8);
  sqlite3_bind_blob(use(file, putZone), 2, tail, end - tail, SQLITE_STATIC);
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
