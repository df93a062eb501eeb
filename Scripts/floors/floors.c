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
// chance or comes once: the pruning of the log in slices (a slice of 128 rows after 64 that were added), noting in the
// tail which entries of the log are needless (they are kept in memory), taking a delta apart again, looking at `tally_pending` and the catalog where no other connection has committed.
#include "capture.h"

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
  file->bodyKey.number = extraOf(clock);
  find(use(file, body), &file->bodyKey);
  takeStamps(sqlite3_column_blob(use(file, body), 1), first, last);
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
  sqlite3_reset(use(file, body));
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
    sqlite3_stmt *query = use(file, found);
    file->rowKey.text = (const char *)want->id.text, file->rowKey.count = want->id.count;
    find(query, &file->rowKey);
    Row have = rowAt(query);
    Stamp first, last;
    stampsOf(file, sqlite3_column_blob(query, 7), &first, &last);
    int same = first.sequence == firsts[index].sequence && last.sequence == lasts[index].sequence;
    for (int i = 0; i < fields; i++) if (i != 2 && i != 3) same &= isSame(have.text[i], want->text[i]);
    must(same && have.count == want->count && have.price == want->price, "a row differs");
  }
  sqlite3_reset(use(file, found));
  sqlite3_reset(use(file, body));
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

// The header of SQLite's index of the log, which every commit changes: while it stays, the vector that is known is right.
PART const void *logHeader(File *file) {
  sqlite3_file *main;
  volatile void *index;
  must(!sqlite3_file_control(file->db, "main", SQLITE_FCNTL_FILE_POINTER, &main), "there is no file");
  must(!main->pMethods->xShmMap(main, 0, 32768, 0, &index), "there is no index of the log");
  return (const void *)index;
}

// Waits until what was committed is on the disk.
PART void syncLog(File *file) {
  sqlite3_file *log;
  must(!sqlite3_file_control(file->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log), "there is no log");
  must(!log->pMethods->xSync(log, SQLITE_SYNC_FULL), "the log is not synced");
}

// Makes a delta of what the last commit wrote, out of memory.
PART int news(const File *file, u64 since, u8 *out) {
  const Row have = {.count = notes[0].count};
  u8 block[64], value[16], *end = put(block, "\1", 1);
  end = put(putStamp(end, now, 0), "\0\1\4Item\1\5count", 14);
  int size = putValue(value, &have, 2) - value;
  end = put(putVarint(end, size), value, size);
  end = put(put(put(end, "\1", 1), items + 1, 16), "\0\2\0\1\0", 5);
  u8 *start = out;
  out = put(put(out, "TL\2\1\1", 5), replica, 16);
  out = putVarint(putVarint(out, since), now.sequence - since);
  out = putBig(putBig(out, file->sum.first, 8), file->sum.second, 8);
  out = put(putVarint(out, (end - block) << 1), block, end - block);
  *out++ = 0;
  out = putBig(out, sipBytes(start, out - start, 2), 8);
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

PART void change(File *one, const char *other, int count, int isDurable) {
  File two = openFile(other);
  if (isPlain) {
    if (isDurable) sql(one->db, "PRAGMA synchronous = FULL");
    for (int i = 0; i < count; i++) {
      begin(one), appUpdate(one, i), end(one, 0);
      begin(&two), appUpdate(&two, i), end(&two, 0);
    }
    return closeFile(&two);
  }
  readStanding(&two);
  two.last.time = one->last.time;
  u8 bytes[160], header[48] = {0};
  for (int i = 0; i < count; i++) {
    must(!i || !memcmp(logHeader(&two), header, sizeof header), "another has written");
    u64 since = two.last.sequence;
    begin(one), appUpdate(one, i), end(one, putEdits);
    if (isDurable) syncLog(one);
    int size = news(one, since, bytes);
    joinEdit(&two, bytes, size, all[i % allCount].id, 1000000 + i);
    memcpy(header, logHeader(&two), sizeof header);
  }
  closeFile(&two);
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
  if (!isPlain) sqlite3_reset(use(file, body));
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
    if (IS("change") || IS("durable")) makePlain(second, path);
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
  else if (IS("change") || IS("durable")) change(&file, second, records, IS("durable"));
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
