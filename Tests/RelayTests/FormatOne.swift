#if Relay
  /// The tables of version 1, in a file and in a database, copied from the release: a fixture for migration tests, not
  /// to be changed.
  enum FormatOne {
    /// The tables of a file.
    static let sqlite = """
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
      PRAGMA application_id = 1414289746;
      PRAGMA user_version = 1;
      """

    /// The tables of a database.
    static let postgres = """
      CREATE SCHEMA tally_relay;
      CREATE TABLE tally_relay.migration(number BIGINT PRIMARY KEY, at BIGINT NOT NULL);
      CREATE TABLE tally_relay.space(
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id TEXT COLLATE "C" NOT NULL UNIQUE,
        head BIGINT NOT NULL,
        chain BYTEA NOT NULL,
        entries BIGINT NOT NULL,
        bytes BIGINT NOT NULL,
        quota BIGINT,
        created BIGINT NOT NULL
      ) WITH (fillfactor = 70);
      CREATE TABLE tally_relay.entry(
        space BIGINT NOT NULL,
        position BIGINT NOT NULL,
        kind SMALLINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        chain BYTEA NOT NULL,
        size BIGINT NOT NULL,
        at BIGINT NOT NULL,
        body BYTEA,
        PRIMARY KEY(space, position)
      );
      ALTER TABLE tally_relay.entry ALTER body SET STORAGE EXTERNAL;
      CREATE UNIQUE INDEX entry_name ON tally_relay.entry(space, name) WHERE kind = 1;
      CREATE TABLE tally_relay.chunk(
        space BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        start BIGINT NOT NULL,
        bytes BYTEA NOT NULL,
        PRIMARY KEY(space, name, start)
      );
      ALTER TABLE tally_relay.chunk ALTER bytes SET STORAGE EXTERNAL;
      CREATE TABLE tally_relay.upload(
        space BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        length BIGINT NOT NULL,
        received BIGINT NOT NULL,
        expires BIGINT NOT NULL,
        PRIMARY KEY(space, name)
      );
      CREATE INDEX upload_expires ON tally_relay.upload(expires);
      CREATE TABLE tally_relay.token(
        hash BYTEA PRIMARY KEY,
        space BIGINT NOT NULL,
        role TEXT NOT NULL,
        created BIGINT NOT NULL,
        expires BIGINT,
        revoked BIGINT
      );
      INSERT INTO tally_relay.migration VALUES(1, 1700000000);
      """

    /// Rows in all tables: two spaces, of which the first has an entry, a large one, one that has gone, an upload and
    /// two tokens. `@` stands for what comes before a table's name, `{…}` for bytes in hexadecimal digits.
    static let rows = """
      INSERT INTO @space(id, head, chain, entries, bytes, quota, created)
        VALUES('first', 4, {04040404040404040404040404040404}, 2, 1344, 10000, 1700000001),
        ('second', 0, {05050505050505050505050505050505}, 0, 0, NULL, 1700000002);
      INSERT INTO @entry(space, position, kind, name, chain, size, at, body)
        VALUES(1, 1, 1, 'small', {01010101010101010101010101010101}, 3, 1700000003, {010203}),
        (1, 2, 1, 'large', {02020202020202020202020202020202}, 70000, 1700000004, NULL),
        (1, 3, 3, 'gone', {03030303030303030303030303030303}, 5, 1700000005, NULL),
        (1, 4, 2, 'gone', {04040404040404040404040404040404}, 0, 1700000006, NULL);
      INSERT INTO @chunk(space, name, start, bytes) VALUES(1, 'large', 0, {0909}), (1, 'upload', 0, {0707});
      INSERT INTO @upload(space, name, length, received, expires) VALUES(1, 'upload', 9, 2, 1900000000);
      INSERT INTO @token(hash, space, role, created, expires, revoked)
        VALUES({HASH}, 1, 'admin', 1700000007, NULL, NULL), ({00}, 1, 'reader', 1700000008, 1700000009, 1700000010),
        ({01}, 2, 'writer', 1700000011, NULL, NULL);
      """
  }

  /// What version 2 adds to that, copied from the release.
  enum FormatTwo {
    static let sqlite = """
      ALTER TABLE space ADD COLUMN deleted INTEGER;
      ALTER TABLE space ADD COLUMN purging INTEGER;
      CREATE INDEX space_deleted ON space(deleted) WHERE deleted IS NOT NULL;
      PRAGMA user_version = 2;
      """

    static let postgres = """
      ALTER TABLE tally_relay.space ADD COLUMN deleted BIGINT, ADD COLUMN purging BIGINT;
      CREATE INDEX space_deleted ON tally_relay.space(deleted) WHERE deleted IS NOT NULL;
      INSERT INTO tally_relay.migration VALUES(2, 1700000001);
      """
  }
#endif
