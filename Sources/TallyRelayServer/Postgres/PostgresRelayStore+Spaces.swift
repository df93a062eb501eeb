#if Postgres
  extension PostgresRelayStore {
    /// All spaces, the oldest first. Looks at the name of each entry that is there.
    public func spaces() async throws -> [RelayStore.SpaceInfo] {
      let time = givenTime
      return try await reading.run { session in
        let rows = try session.execute(
          """
          SELECT id, entries, bytes, quota, created, deleted,
            (SELECT at FROM tally_relay.entry WHERE entry.space = number AND position = head),
            (SELECT COUNT(DISTINCT split_part(name, '-', 3)) FROM tally_relay.entry
              WHERE entry.space = number AND kind = 1 AND name LIKE 'tally1-%-%-%'
                AND trim(split_part(name, '-', 3), '0') <> ''),
            (SELECT COUNT(*) FROM tally_relay.token WHERE token.space = number AND revoked IS NULL
              AND (expires IS NULL OR expires > \(PostgresTime.nowOrFirst)))
          FROM tally_relay.space ORDER BY created, number
          """, [time])
        return try rows.map { row in
          RelayStore.SpaceInfo(
            id: try row.text(0), entries: Int(try row.integer(1)), bytes: try row.integer(2),
            quota: try row.optionalInteger(3), created: try row.integer(4), lastWrite: try row.optionalInteger(6),
            devices: Int(try row.integer(7)), tokens: Int(try row.integer(8)), deleted: try row.optionalInteger(5))
        }
      }
    }

    /// Sums over all spaces, and what the tables take with their indexes.
    package func figures() async throws -> StorageFigures {
      try await reading.run { session in
        let rows = try session.execute(
          """
          SELECT COUNT(*) FILTER (WHERE deleted IS NULL), COUNT(deleted), COALESCE(SUM(entries), 0)::bigint,
            COALESCE(SUM(bytes), 0)::bigint,
            (SELECT COALESCE(SUM(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
              JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'tally_relay' AND relkind = 'r')
          FROM tally_relay.space
          """)
        guard let row = rows.first else { throw PostgresError(state: nil, message: "no sums", mayRepeat: false) }
        return StorageFigures(
          spaces: Int(try row.integer(0)), deletedSpaces: Int(try row.integer(1)), entries: try row.integer(2),
          bytes: try row.integer(3), databaseBytes: try row.integer(4))
      }
    }
  }
#endif
