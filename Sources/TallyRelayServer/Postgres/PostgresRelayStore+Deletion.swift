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

    /// Removes a bounded number of rows of a space that was deleted at least so many seconds ago. It holds the lock of
    /// that space alone, which nobody else wants; an instance that finds it taken leaves the space to whoever has it.
    /// - Returns: whether there was such a space.
    package func removeSlice(deletedFor seconds: Int64) async throws -> Bool {
      let time = givenTime
      return try await reading.run { session in
        try session.transaction {
          let due = try session.execute(
            """
            SELECT number FROM tally_relay.space
            WHERE deleted IS NOT NULL AND (purging IS NOT NULL OR deleted <= \(PostgresTime.nowOrFirst) - $2)
            ORDER BY deleted, number LIMIT 1 FOR UPDATE SKIP LOCKED
            """, [time, .integer(seconds)])
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

    private static func removeRows(_ session: PostgresSession, _ space: Int64) throws {
      var rest = Int64(RelayStore.sliceRows)
      // Tokens late: until then whoever has one is told that there is no such space.
      for (table, key) in [("entry", "position"), ("chunk", "name, start"), ("upload", "name"), ("token", "hash")] {
        guard rest > 0 else { return }
        let removed = try session.execute(
          """
          WITH removed AS (
            DELETE FROM tally_relay.\(table) WHERE space = $1 AND (\(key)) IN (
              SELECT \(key) FROM tally_relay.\(table) WHERE space = $1 ORDER BY \(key) LIMIT $2
            ) RETURNING 1
          ) SELECT COUNT(*) FROM removed
          """, [.integer(space), .integer(rest)])
        rest -= try removed.first?.integer(0) ?? 0
      }
      if rest > 0 { try session.execute("DELETE FROM tally_relay.space WHERE number = $1", [.integer(space)]) }
    }
  }
#endif
