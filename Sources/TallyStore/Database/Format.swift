import GRDB

/// The layout of the file apart from the app's own tables. `Docs/StorageFormat.md` describes it.
package enum Format {
  /// "TALY" in `PRAGMA application_id`.
  package static let applicationID = 0x5441_4C59
  /// The version in `PRAGMA user_version`.
  package static let version = 7
  /// The first version in which the change log lists each item under the latest transaction of each replica.
  static let logVersion = 6
  /// The oldest version that is read. Version 1 had clocks and bodies without checksums, version 2 did not tell
  /// references from other fields. Version 3 had no `tail`, version 4 no packs of entries in the log, the log of
  /// version 5 lacked what deletes had seen, and version 6 knew no counters; they become version 7 when they are opened
  /// for writing. None of them was released.
  static let oldest = 3
  package static let tables = """
    CREATE TABLE tally_meta(key TEXT NOT NULL PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
    CREATE TABLE tally_zone(
      n INTEGER NOT NULL PRIMARY KEY, id BLOB NOT NULL UNIQUE, fingerprint BLOB NOT NULL,
      hooked INTEGER NOT NULL DEFAULT 0, own BLOB, tail BLOB) STRICT;
    CREATE TABLE tally_replica(n INTEGER NOT NULL PRIMARY KEY, id BLOB NOT NULL UNIQUE, sum INTEGER) STRICT;
    CREATE TABLE tally_vector(
      zone INTEGER NOT NULL, replica INTEGER NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY(zone, replica)) STRICT, WITHOUT ROWID;
    CREATE TABLE tally_kind(
      n INTEGER NOT NULL PRIMARY KEY, source TEXT NOT NULL, relationship TEXT NOT NULL, target TEXT NOT NULL,
      sum INTEGER, UNIQUE(source, relationship, target)) STRICT;
    CREATE TABLE tally_field(
      n INTEGER NOT NULL PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, sum INTEGER,
      UNIQUE(kind, name)) STRICT;
    CREATE TABLE tally_extra(n INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TABLE tally_hidden(
      n INTEGER NOT NULL PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
      UNIQUE(kind, key)) STRICT;
    CREATE TABLE tally_cut(
      kind INTEGER NOT NULL, source ANY NOT NULL, target ANY NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY(kind, source, target)) STRICT, WITHOUT ROWID;
    CREATE INDEX tally_cut_target ON tally_cut(kind, target);
    CREATE TABLE tally_wait(
      target TEXT NOT NULL, kind INTEGER NOT NULL, key TEXT NOT NULL,
      PRIMARY KEY(target, kind, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE tally_context(
      replica INTEGER NOT NULL, sequence INTEGER NOT NULL, time INTEGER NOT NULL, vector BLOB NOT NULL,
      PRIMARY KEY(replica, sequence, time)) STRICT, WITHOUT ROWID;
    CREATE TABLE tally_log(
      n INTEGER NOT NULL PRIMARY KEY, zone INTEGER NOT NULL, replica INTEGER NOT NULL, sequence INTEGER NOT NULL,
      items BLOB NOT NULL) STRICT;
    CREATE INDEX tally_log_dot ON tally_log(zone, replica, sequence);
    CREATE TABLE tally_seeded(
      name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, belongsToUser INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE tally_pending(
      n INTEGER NOT NULL PRIMARY KEY, kind INTEGER NOT NULL, op INTEGER NOT NULL, key TEXT NOT NULL, clock BLOB,
      number INTEGER, changed INTEGER);
    CREATE TABLE tally_conflict(
      n INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, noticed INTEGER NOT NULL, name TEXT NOT NULL, field TEXT NOT NULL,
      loser_replica BLOB NOT NULL, loser_sequence INTEGER NOT NULL, loser_time INTEGER NOT NULL, loser_value ANY,
      winner_replica BLOB NOT NULL, winner_sequence INTEGER NOT NULL, winner_time INTEGER NOT NULL, winner_value ANY,
      UNIQUE(name, field, loser_replica, loser_sequence)) STRICT;
    INSERT INTO tally_zone(n, id, fingerprint) VALUES(0, zeroblob(16), zeroblob(24));
    INSERT INTO tally_meta VALUES('catalog', 0);
    """

  /// Columns and tables that came to the format before its first release, or with version 4. A file without them gets
  /// them when it is opened for writing.
  static let laterColumns = [
    (table: "tally_zone", column: "hooked", definition: "INTEGER NOT NULL DEFAULT 0"),
    (table: "tally_zone", column: "own", definition: "BLOB"),
    (table: "tally_zone", column: "tail", definition: "BLOB"),
    (table: "tally_pending", column: "changed", definition: "INTEGER"),
    (table: "tally_replica", column: "sum", definition: "INTEGER"),
    (table: "tally_kind", column: "sum", definition: "INTEGER"),
    (table: "tally_field", column: "sum", definition: "INTEGER"),
    (table: "tally_conflict", column: "winner_deletes", definition: "INTEGER NOT NULL DEFAULT 0"),
  ]
  /// The one of the store's own tables that comes after those of the entities: see `TableOrder`. It holds the least.
  static let lastTable = "tally_note"
  package static let laterTables = """
    CREATE TABLE IF NOT EXISTS tally_stub(
      kind INTEGER NOT NULL, key ANY NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY(kind, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tally_aside(
      kind INTEGER NOT NULL, key TEXT NOT NULL, mode INTEGER NOT NULL, reason TEXT NOT NULL,
      PRIMARY KEY(kind, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tally_unique(
      kind INTEGER NOT NULL, name TEXT NOT NULL, field TEXT NOT NULL, wanted ANY NOT NULL, shown ANY, holder TEXT,
      PRIMARY KEY(name, field)) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tally_note(
      scope TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
      PRIMARY KEY(scope, key)) STRICT, WITHOUT ROWID;
    """
}
