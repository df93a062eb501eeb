#if Postgres
  import TallyRelayProtocol

  extension PostgresGroup {
    /// The result of a transaction.
    struct Result: Sendable {
      /// What became of each request.
      var outcomes: [PostgresRequest.Outcome]
      var heads: [Int64: Int64]

      /// The writes of a request that did nothing since its space has no room.
      func full(_ index: Int) -> [Int] {
        guard case .success(let results) = outcomes[index] else { return [] }
        return results.indices.filter { number in
          guard case .failure(let problem) = results[number] else { return false }
          return problem.code == .quotaExceeded
        }
      }
    }

    /// The number of times that two transactions may conflict before that is an error.
    private static let attempts = 8

    /// Does what several requests ask for in one transaction. A write with a `RelayProblem` does nothing; any other
    /// error undoes all.
    static func commit(_ requests: [PostgresRequest], _ session: PostgresSession, _ time: Int64?) throws -> Result {
      var result = try commit(requests, dropping: [], session, time)
      let full = result.outcomes.indices.filter { !result.full($0).isEmpty }
      guard !full.isEmpty else { return result }
      // A space that is full may hold expired uploads. They are found before the transaction: dropping one twice does
      // nothing.
      let others = try expired(session, time, in: Set(full.map { requests[$0].writer.space }))
      guard !others.isEmpty else { return result }
      let rest = full.map { index in
        PostgresRequest(
          writer: requests[index].writer, writes: result.full(index).map { requests[index].writes[$0] })
      }
      let again = try commit(rest, dropping: others, session, time)
      for (index, outcome) in zip(full, again.outcomes) {
        result.outcomes[index] = merge(result.outcomes[index], result.full(index), outcome)
      }
      result.heads.merge(again.heads) { max($0, $1) }
      return result
    }

    /// Puts what became of some writes, when they were made again, in the place of what became of them before.
    private static func merge(
      _ outcome: PostgresRequest.Outcome, _ indices: [Int], _ again: PostgresRequest.Outcome
    ) -> PostgresRequest.Outcome {
      guard case .success(var results) = outcome else { return outcome }
      switch again {
      case .success(let others): for (index, other) in zip(indices, others) { results[index] = other }
      case .failure(let problem): for index in indices { results[index] = .failure(problem) }
      }
      return .success(results)
    }

    private static func commit(
      _ requests: [PostgresRequest], dropping expired: [EntryKey], _ session: PostgresSession, _ time: Int64?
    ) throws -> Result {
      for _ in 1..<attempts {
        do {
          return try tryCommit(requests, expired, session, time)
        } catch let error as PostgresError where error.isConflict {}
      }
      return try tryCommit(requests, expired, session, time)
    }

    private static func tryCommit(
      _ requests: [PostgresRequest], _ expired: [EntryKey], _ session: PostgresSession, _ time: Int64?
    ) throws -> Result {
      let keys = requests.flatMap { $0.writes.map(\.key) }
      let tokens = Set(requests.compactMap(\.writer.token))
      return try session.transaction(reads: reads(of: Set(keys + expired), tokens, time)) { rows in
        var group = try load(rows, session)
        // What is written to again is dropped by that itself.
        group.dropExpired(Set(expired).subtracting(keys))
        let outcomes = requests.map { group.run($0) }
        return (Result(outcomes: outcomes, heads: group.heads), group.saving)
      }
    }

    /// Uploads that were left alone in some spaces that are full.
    private static func expired(
      _ session: PostgresSession, _ time: Int64?, in spaces: Set<Int64>
    ) throws -> [EntryKey] {
      try session.execute(
        """
        SELECT space, name FROM tally_relay.upload
        WHERE expires <= (SELECT \(PostgresTime.nowOrFirst)) AND space = ANY($2) LIMIT \(RelayStore.sliceRows)
        """, [.integer(time), .integers(spaces.sorted())]
      ).map { EntryKey(space: try $0.integer(0), name: try $0.text(1)) }
    }

    /// What locks the spaces, always in the order of their numbers, so that processes do not wait for each other in a
    /// circle, and then reads what the writes are about. Whatever belongs to a space is changed only under its lock.
    private static func reads(
      of keys: Set<EntryKey>, _ tokens: Set<[UInt8]>, _ time: Int64?
    ) -> [PostgresSession.Statement] {
      let keys = keys.sorted { ($0.space, $0.name) < ($1.space, $1.name) }
      let numbers = Set(keys.map(\.space)).sorted()
      return [
        PostgresSession.Statement(
          sql: "SELECT \(SpaceRow.columns) FROM tally_relay.space WHERE number = ANY($1) ORDER BY number FOR UPDATE",
          values: [.integers(numbers)]),
        // A statement after the lock sees everything that was committed before it. One row even without any keys.
        PostgresSession.Statement(
          sql: """
            SELECT \(PostgresTime.nowOrFirst), key.space, key.name, position, size, received, length, expires,
              (removed.name IS NOT NULL)::int, CASE
                WHEN size > \(RelayStore.inlineBytes) OR received IS NOT NULL OR removed.name IS NOT NULL
                THEN (
                  SELECT COUNT(*) FROM (
                    SELECT 1 FROM tally_relay.chunk WHERE chunk.space = key.space AND chunk.name = key.name
                    LIMIT \(Chunks.mostDropped + 1)
                  ) AS counted
                ) ELSE 0 END
            FROM unnest($2::bigint[], $3::text[]) AS key(space, name)
            LEFT JOIN tally_relay.entry ON entry.space = key.space AND entry.name = key.name AND kind = 1
            LEFT JOIN tally_relay.upload ON upload.space = key.space AND upload.name = key.name
            LEFT JOIN tally_relay.removed ON removed.space = key.space AND removed.name = key.name
            """, values: [.integer(time), .integers(keys.map(\.space)), .texts(keys.map(\.name))]),
        // Whoever revokes one has the space's lock, too.
        PostgresSession.Statement(
          sql: "SELECT hash, space, role, expires, revoked FROM tally_relay.token WHERE hash = ANY($1)",
          values: [.byteStrings(tokens.map { $0 })]),
      ]
    }

    /// Makes a group of the rows that `reads` gives.
    private static func load(_ results: [[PostgresRow]], _ session: PostgresSession) throws -> PostgresGroup {
      let spaces = try results[0].map { try SpaceRow($0) }
      let rows = results[1]
      var (entries, uploads): ([EntryKey: Entry], [EntryKey: Upload]) = ([:], [:])
      var chunks: [EntryKey: Chunks] = [:]
      for row in rows {
        let key = EntryKey(space: try row.integer(1), name: try row.text(2))
        if let position = try row.optionalInteger(3) {
          entries[key] = Entry(position: position, size: RelayStore.counted(try row.integer(4)))
        }
        if let received = try row.optionalInteger(5) {
          uploads[key] = Upload(
            received: RelayStore.counted(received), length: try row.integer(6), expires: try row.integer(7))
        }
        let there = Chunks(count: Int(try row.integer(9)), isLeft: try row.integer(8) != 0)
        if there.count > 0 || there.isLeft { chunks[key] = there }
      }
      for (key, upload) in uploads where upload.length <= Int64(RelayStore.inlineBytes) {
        uploads[key]?.staged = try session.execute(
          "SELECT bytes FROM tally_relay.chunk WHERE space = $1 AND name = $2 ORDER BY start",
          [.integer(key.space), .text(key.name)]
        ).flatMap { try $0.bytes(0) }
      }
      let tokens = try results[2].map { row in
        let found = RelayWriter.Found(
          space: try row.integer(1), role: RelayRole(rawValue: try row.text(2)) ?? .reader,
          expires: try row.optionalInteger(3), isRevoked: try row.optionalInteger(4) != nil)
        return (try row.bytes(0), found)
      }
      return PostgresGroup(
        time: try rows.first?.integer(0) ?? 0,
        spaces: Dictionary(uniqueKeysWithValues: spaces.map { ($0.number, $0) }), entries: entries, uploads: uploads,
        chunks: chunks, tokens: Dictionary(uniqueKeysWithValues: tokens))
    }

    // MARK: Saving

    /// What saves the group.
    private var saving: [PostgresSession.Statement] {
      // Stubs come before new rows: an entry of the same name may be among them.
      savingStubs + savingRows + chunkChanges.map(Self.saving) + savingUploads + savingSpaces
    }

    private var savingStubs: [PostgresSession.Statement] {
      guard !stubs.isEmpty else { return [] }
      return [
        PostgresSession.Statement(
          sql: """
            UPDATE tally_relay.entry SET kind = \(EntryKind.stub), body = NULL
            FROM unnest($1::bigint[], $2::bigint[]) AS gone(space, position)
            WHERE entry.space = gone.space AND entry.position = gone.position
            """, values: [.integers(stubs.map(\.space)), .integers(stubs.map(\.position))])
      ]
    }

    private var savingRows: [PostgresSession.Statement] {
      guard !newRows.isEmpty else { return [] }
      return [
        PostgresSession.Statement(
          sql: """
            INSERT INTO tally_relay.entry(space, position, kind, name, chain, size, at, body)
            SELECT space, position, kind, name, chain, size, $1, body
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bigint[], $8::bytea[])
              AS new(space, position, kind, name, chain, size, body)
            """,
          values: [
            .integer(time), .integers(newRows.map(\.space)), .integers(newRows.map(\.row.position)),
            .integers(newRows.map { Int64($0.row.kind) }), .texts(newRows.map(\.row.name)),
            .byteStrings(newRows.map(\.row.chain)), .integers(newRows.map { Int64($0.row.size) }),
            .byteStrings(newRows.map(\.row.body)),
          ])
      ]
    }

    private static func saving(_ change: ChunkChange) -> PostgresSession.Statement {
      switch change {
      case .drop(let key):
        PostgresSession.Statement(
          sql: "DELETE FROM tally_relay.chunk WHERE space = $1 AND name = $2",
          values: [.integer(key.space), .text(key.name)])
      case .leave(let key):
        PostgresSession.Statement(
          sql: "INSERT INTO tally_relay.removed(space, name) VALUES($1, $2) ON CONFLICT DO NOTHING",
          values: [.integer(key.space), .text(key.name)])
      case .forget(let key):
        PostgresSession.Statement(
          sql: "DELETE FROM tally_relay.removed WHERE space = $1 AND name = $2",
          values: [.integer(key.space), .text(key.name)])
      case .insert(let key, let start, let bytes):
        PostgresSession.Statement(
          sql: "INSERT INTO tally_relay.chunk(space, name, start, bytes) VALUES($1, $2, $3, $4)",
          values: [.integer(key.space), .text(key.name), .integer(Int64(start)), .bytes(bytes)])
      }
    }

    private var savingUploads: [PostgresSession.Statement] {
      changedUploads.sorted { ($0.space, $0.name) < ($1.space, $1.name) }.map { key in
        guard let upload = uploads[key] else {
          return PostgresSession.Statement(
            sql: "DELETE FROM tally_relay.upload WHERE space = $1 AND name = $2",
            values: [.integer(key.space), .text(key.name)])
        }
        return PostgresSession.Statement(
          sql: """
            INSERT INTO tally_relay.upload(space, name, length, received, expires) VALUES($1, $2, $3, $4, $5)
            ON CONFLICT(space, name) DO UPDATE
            SET length = excluded.length, received = excluded.received, expires = excluded.expires
            """,
          values: [
            .integer(key.space), .text(key.name), .integer(upload.length), .integer(upload.received),
            .integer(upload.expires),
          ])
      }
    }

    private var savingSpaces: [PostgresSession.Statement] {
      let changed = changedSpaces.sorted().compactMap { spaces[$0] }
      guard !changed.isEmpty else { return [] }
      return [
        PostgresSession.Statement(
          sql: """
            UPDATE tally_relay.space
            SET head = new.head, chain = new.chain, entries = new.entries, bytes = new.bytes
            FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
              AS new(number, head, chain, entries, bytes)
            WHERE space.number = new.number
            """,
          values: [
            .integers(changed.map(\.number)), .integers(changed.map(\.head)), .byteStrings(changed.map(\.chain)),
            .integers(changed.map { Int64($0.entries) }), .integers(changed.map(\.bytes)),
          ])
      ]
    }
  }
#endif
