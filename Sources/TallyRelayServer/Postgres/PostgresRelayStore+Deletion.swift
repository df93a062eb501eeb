#if Postgres
  import TallyRelayProtocol

  extension PostgresRelayStore {
    /// Deletes a space. Every process that serves answers from the next request on as if it had never been, and one of
    /// them removes its content when `RelaySettings.keep` is over.
    /// - Throws: `RelayStoreError` if there is no such space, or it is deleted already.
    public func deleteSpace(_ id: String) async throws {
      let time = givenTime
      let heads = try await changeSpace(
        """
        UPDATE tally_relay.space SET deleted = \(PostgresTime.nowOrFirst) WHERE id = $2 AND deleted IS NULL
        RETURNING number, head
        """, [time, .text(id)])
      // Who waits on another instance looks again.
      tell(heads)
    }

    /// Takes a deletion back: entries, uploads and tokens are as they were. A space that is not deleted stays as it is.
    /// - Throws: `RelayStoreError` if there is no such space, or its content is being removed already.
    public func restoreSpace(_ id: String) async throws {
      _ = try await changeSpace(
        "UPDATE tally_relay.space SET deleted = NULL WHERE id = $1 AND purging IS NULL RETURNING number, head",
        [.text(id)])
    }

    /// Runs a statement that changes one space, where acknowledged means durable.
    /// - Returns: the space with its head.
    private func changeSpace(_ sql: String, _ values: [PostgresValue]) async throws -> [Int64: Int64] {
      let heads = try await commits.threads.run { session in
        try session.transaction {
          try session.execute(sql, values).reduce(into: [Int64: Int64]()) { heads, row in
            heads[try row.integer(0)] = try row.integer(1)
          }
        }
      }
      guard !heads.isEmpty else { throw RelayStore.noSuchSpace }
      return heads
    }

    /// Those of the spaces that are deleted or not there.
    package func missing(among spaces: [Int64]) async throws -> [Int64] {
      try await reading.run { session in
        let rows = try session.execute(
          """
          SELECT number FROM unnest($1::bigint[]) AS watched(number) WHERE NOT EXISTS (
            SELECT 1 FROM tally_relay.space WHERE space.number = watched.number AND deleted IS NULL
          )
          """, [.integers(spaces)])
        return try rows.map { try $0.integer(0) }
      }
    }

    /// Removes a bounded number of rows of a large content that was removed, of uploads that have expired, or of a
    /// space that was deleted at least so many seconds ago; with nil, only of what is being removed already. It holds
    /// the lock of that content or that space alone, which hardly anything else wants; an instance that finds it taken
    /// leaves it to the one that has it.
    /// - Returns: whether there was one.
    package func removeSlice(deletedFor seconds: Int64?) async throws -> Bool {
      let time = givenTime
      return try await reading.run { session in
        try session.transaction {
          if try Self.removeLeftContent(session) { return true }
          if seconds != nil, try Self.dropExpired(session, time) { return true }
          let due = try session.execute(
            """
            SELECT number FROM tally_relay.space
            WHERE deleted IS NOT NULL AND (purging IS NOT NULL OR deleted <= \(PostgresTime.nowOrFirst) - $2)
            ORDER BY deleted, number LIMIT 1 FOR UPDATE SKIP LOCKED
            """, [time, .integer(seconds ?? Self.never)])
          guard let space = try due.first?.integer(0) else { return false }
          try session.execute(
            """
            UPDATE tally_relay.space SET purging = \(PostgresTime.nowOrFirst) WHERE number = $2 AND purging IS NULL
            """, [time, .integer(space)])
          try Self.removeRows(session, space)
          return true
        }
      }
    }

    /// More seconds than have passed since any deletion.
    private static let never: Int64 = 1 << 40

    /// Drops expired uploads of one space; their bytes are removed next. Like every write it has the space's row before
    /// all others.
    /// - Returns: whether there was one, in a space that nothing else writes to just now.
    private static func dropExpired(_ session: PostgresSession, _ time: PostgresValue) throws -> Bool {
      // The time is found once, so that an index leads to the rows.
      let isOver = "expires <= (SELECT \(PostgresTime.nowOrFirst))"
      let found = try session.execute(
        """
        SELECT number FROM tally_relay.space
        WHERE number IN (SELECT space FROM tally_relay.upload WHERE \(isOver) LIMIT \(RelayStore.sliceRows))
        LIMIT 1 FOR UPDATE SKIP LOCKED
        """, [time])
      guard let space = try found.first?.integer(0) else { return false }
      try session.execute(
        """
        WITH dropped AS (
          DELETE FROM tally_relay.upload WHERE space = $2 AND name IN (
            SELECT name FROM tally_relay.upload WHERE space = $2 AND \(isOver) LIMIT \(RelayStore.sliceRows)
          ) RETURNING name, LEAST(GREATEST(received, 0), \(RelayLimits.entryBytes)) AS counted
        ), kept AS (
          INSERT INTO tally_relay.removed(space, name) SELECT $2, name FROM dropped ON CONFLICT DO NOTHING
        )
        UPDATE tally_relay.space SET bytes = bytes - (SELECT COALESCE(SUM(counted), 0)::bigint FROM dropped)
        WHERE number = $2
        """, [time, .integer(space)])
      return true
    }

    /// Removes a slice of what was left to the sweeper.
    /// - Returns: whether there was anything that nobody else removes just now.
    private static func removeLeftContent(_ session: PostgresSession) throws -> Bool {
      let left = try session.execute("SELECT space, name FROM tally_relay.removed LIMIT 1 FOR UPDATE SKIP LOCKED")
      guard let row = left.first else { return false }
      let (space, name) = (try row.integer(0), try row.text(1))
      var slice = RemovalSlice(upTo: RemovalSlice.sweptBytes)
      try slice.remove(session, from: .content, of: space, named: name)
      if !slice.isFull {
        try session.execute(
          "DELETE FROM tally_relay.removed WHERE space = $1 AND name = $2", [.integer(space), .text(name)])
      }
      return true
    }

    private static func removeRows(_ session: PostgresSession, _ space: Int64) throws {
      var slice = RemovalSlice(upTo: RemovalSlice.sweptBytes)
      for table in RemovalSlice.Table.all { try slice.remove(session, from: table, of: space) }
      if !slice.isFull { try session.execute("DELETE FROM tally_relay.space WHERE number = $1", [.integer(space)]) }
    }
  }

  extension RemovalSlice {
    /// Removes rows of a space, or of one name in it, from a database, as far as there is room in the slice.
    fileprivate mutating func remove(
      _ session: PostgresSession, from table: Table, of space: Int64, named name: String? = nil
    ) throws {
      guard !isFull else { return }
      let source = "FROM tally_relay.\(table.name) WHERE space = $1" + (name == nil ? "" : " AND name = $4")
      let removed = try session.execute(
        """
        WITH removed AS (
          DELETE \(source) AND (\(table.key)) <= (
            SELECT \(table.key) FROM (
              SELECT \(table.key), SUM(size) OVER (ORDER BY \(table.key)) - size AS before FROM (
                SELECT \(table.key), \(table.postgresSize)::bigint AS size \(source) ORDER BY \(table.key) LIMIT $2
              ) AS batch
            ) AS summed WHERE before < $3 ORDER BY (\(table.key)) DESC LIMIT 1
          ) RETURNING \(table.postgresSize)::bigint AS size
        ) SELECT COUNT(*), COALESCE(SUM(size), 0)::bigint FROM removed
        """,
        [.integer(space), .integer(Int64(rest)), .integer(Int64(limit - bytes))]
          + (name.map { [.text($0)] } ?? []))
      guard let row = removed.first else { return }
      add(rows: Int(try row.integer(0)), bytes: Int(try row.integer(1)))
    }
  }
#endif
