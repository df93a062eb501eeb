#if Relay
  import GRDB

  /// The tables of a relay's file. `Docs/RelayProtocol.md` says what stands in them.
  enum RelaySchema {
    /// "TLYR" in `PRAGMA application_id`.
    static let applicationID: Int32 = 0x544C_5952
    /// The version in `PRAGMA user_version`: how many migrations were made.
    static let version = migrations.count

    /// Never changed once released, only added to.
    private static let migrations: [String] = [
      """
      CREATE TABLE space(
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL,
        chain BLOB NOT NULL,
        entries INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        quota INTEGER,
        created INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE entry(
        space INTEGER NOT NULL,
        position INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        name TEXT NOT NULL,
        chain BLOB NOT NULL,
        size INTEGER NOT NULL,
        at INTEGER NOT NULL,
        body BLOB,
        UNIQUE(space, position)
      ) STRICT;
      CREATE UNIQUE INDEX entry_name ON entry(space, name) WHERE kind = 1;
      CREATE TABLE chunk(
        space INTEGER NOT NULL,
        name TEXT NOT NULL,
        start INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        UNIQUE(space, name, start)
      ) STRICT;
      CREATE TABLE upload(
        space INTEGER NOT NULL,
        name TEXT NOT NULL,
        length INTEGER NOT NULL,
        received INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        PRIMARY KEY(space, name)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX upload_expires ON upload(expires);
      CREATE TABLE token(
        hash BLOB PRIMARY KEY,
        space INTEGER NOT NULL,
        role TEXT NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER,
        revoked INTEGER
      ) STRICT, WITHOUT ROWID;
      """,
      """
      ALTER TABLE space ADD COLUMN deleted INTEGER;
      ALTER TABLE space ADD COLUMN purging INTEGER;
      CREATE INDEX space_deleted ON space(deleted) WHERE deleted IS NOT NULL;
      """,
      """
      CREATE TABLE removed(
        space INTEGER NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY(space, name)
      ) STRICT, WITHOUT ROWID;
      """,
    ]

    /// Makes the tables, or brings those of an older version up to date, in one transaction.
    /// - Throws: `RelayStoreError` if it is the file of something else, or a newer version's.
    static func migrate(_ db: Database) throws {
      try db.inTransaction(.immediate) {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
        guard application == applicationID || application == 0 && version == 0 && tables == 0 else {
          throw RelayStoreError(.notARelay, "the file is a database of something else")
        }
        guard version <= Self.version else {
          throw RelayStoreError(.newerFormat, "a newer version has written the file: format \(version)")
        }
        guard version < Self.version else { return .commit }
        for migration in migrations[version...] { try db.execute(sql: migration) }
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
        try db.execute(sql: "PRAGMA user_version = \(Self.version)")
        return .commit
      }
    }
  }

  /// The kind of an entry of a log: `entry.kind`.
  enum EntryKind {
    /// An entry that is there.
    static let entry = 1
    /// The news that an entry has gone.
    static let removal = 2
    /// The place of an entry that has gone, without its content.
    static let stub = 3
  }
#endif
