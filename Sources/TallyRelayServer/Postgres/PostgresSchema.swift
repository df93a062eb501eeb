#if Postgres
  /// The tables of a relay's database, in a schema of their own. `Docs/RelayProtocol.md` says what stands in them.
  enum PostgresSchema {
    /// The number of PostgreSQL's advisory lock under which tables are made: "TLYR".
    static let lock = 0x544C_5952
    /// The channel of `NOTIFY`.
    static let channel = "tally_relay"
    /// The number of migrations: the version of the tables.
    static let version = Int64(migrations.count)

    /// Never changed once released, only added to.
    private static let migrations: [String] = [
      """
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
      """,
      """
      ALTER TABLE tally_relay.space ADD COLUMN deleted BIGINT, ADD COLUMN purging BIGINT;
      CREATE INDEX space_deleted ON tally_relay.space(deleted) WHERE deleted IS NOT NULL;
      """,
      """
      CREATE TABLE tally_relay.removed(
        space BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY(space, name)
      );
      """,
    ]

    /// Makes the tables, or brings those of an older version up to date, in one transaction; of several processes that
    /// begin at once one does it, and the others find it done. If there is nothing to do, no right to make tables is
    /// needed. `mayCreate` says whether there may be no tables as yet.
    /// - Throws: `RelayStoreError` if the schema is something else's, or a newer version's; and `PostgresError`.
    static func migrate(_ session: PostgresSession, mayCreate: Bool) throws {
      if try version(session) == version { return }
      try session.transaction {
        try session.execute("SELECT pg_advisory_xact_lock(\(lock))")
        let found = try version(session)
        guard let found else {
          guard mayCreate else { throw RelayStoreError(.noSuchFile, "there is no relay in the database") }
          try create(session)
          return try migrate(session, from: 0)
        }
        try migrate(session, from: Int(found))
      }
    }

    private static func create(_ session: PostgresSession) throws {
      // Asked before, since IF NOT EXISTS needs the right to make a schema even if it is there.
      if try session.execute("SELECT oid FROM pg_namespace WHERE nspname = 'tally_relay'").isEmpty {
        try session.script("CREATE SCHEMA tally_relay")
      }
      try session.script("CREATE TABLE tally_relay.migration(number BIGINT PRIMARY KEY, at BIGINT NOT NULL)")
    }

    private static func migrate(_ session: PostgresSession, from found: Int) throws {
      for (index, migration) in migrations.enumerated().dropFirst(found) {
        try session.script(migration)
        try session.execute(
          "INSERT INTO tally_relay.migration(number, at) VALUES($1, \(PostgresTime.now))", [.integer(Int64(index + 1))])
      }
    }

    /// Returns the number of migrations that were made; nil if there are no tables.
    private static func version(_ session: PostgresSession) throws -> Int64? {
      let tables = try session.execute(
        """
        SELECT relname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = 'tally_relay' AND relkind = 'r'
        """)
      let names = try tables.map { try $0.text(0) }
      guard names.contains("migration") else {
        guard names.isEmpty else {
          throw RelayStoreError(.notARelay, "the database has a schema tally_relay of something else")
        }
        return nil
      }
      let rows = try session.execute("SELECT COALESCE(MAX(number), 0) FROM tally_relay.migration")
      let found = try rows.first?.integer(0) ?? 0
      guard found <= version else {
        throw RelayStoreError(.newerFormat, "a newer version has made the relay's tables: format \(found)")
      }
      return found
    }
  }

  /// The time in statements: the database's, since the clocks of several machines differ.
  enum PostgresTime {
    /// Seconds since 1970.
    static let now = "floor(extract(epoch FROM clock_timestamp()))::bigint"
    /// The same, unless parameter 1 is another time.
    static let nowOrFirst = "COALESCE($1::bigint, \(now))"
  }
#endif
