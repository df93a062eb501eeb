#if Postgres
  import TallyRelayProtocol

  extension PostgresRelayStore {
    /// Whether the database can be read.
    package func check() async throws {
      try await reading.run { _ = try $0.execute("SELECT number FROM tally_relay.space LIMIT 1") }
    }

    /// A space's numbers.
    package func space(_ number: Int64) async throws -> SpaceRow {
      try await reading.run { try Self.space($0, number) }
    }

    private static func space(_ session: PostgresSession, _ number: Int64) throws -> SpaceRow {
      let rows = try session.execute(
        "SELECT \(SpaceRow.columns) FROM tally_relay.space WHERE number = $1", [.integer(number)])
      return try SpaceRow.live(try rows.first.map { try SpaceRow($0) })
    }

    /// A page of a space's log, which goes on after a cursor; nil for the beginning.
    package func page(of space: Int64, after cursor: RelayCursor?, limit: Int, bytes: Int) async throws -> RelayPage {
      try await reading.run { session in
        // What goes while the page is gathered would be missing in a listing, and its removal too.
        try session.transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY") {
          let space = try Self.space(session, space)
          let known = try cursor.flatMap { try Self.knows(session, space, $0) ? $0 : nil }
          let start = Int64(known?.position ?? 0)
          var builder = PageBuilder(space: space, start: start, isListing: known == nil, limit: limit, bytes: bytes)
          if limit > 0 { try Self.gather(session, space, start, limit, &builder) }
          return try builder.page(known ?? RelayStore.start(of: space))
        }
      }
    }

    /// Takes rows until the page is full. The first batch is as large as the page; where entries have gone, more
    /// follow.
    private static func gather(
      _ session: PostgresSession, _ space: SpaceRow, _ start: Int64, _ limit: Int, _ builder: inout PageBuilder
    ) throws {
      var (last, batch) = (start, Int64(limit))
      while last < space.head {
        let rows = try session.execute(
          """
          SELECT position, kind, name, chain, size, body FROM (
            SELECT *, SUM(COALESCE(octet_length(body), 0)) OVER (ORDER BY position) - COALESCE(octet_length(body), 0)
              AS before
            FROM (
              SELECT * FROM tally_relay.entry WHERE space = $1 AND position > $2 ORDER BY position LIMIT $3
            ) AS batch
          ) AS summed WHERE before <= $4 ORDER BY position
          """, [.integer(space.number), .integer(last), .integer(batch), .integer(Int64(builder.byteLimit))])
        guard !rows.isEmpty else { return }
        for row in rows {
          let row = try LogRow(row)
          guard try builder.add(row) else { return }
          last = row.position
        }
        batch = 10 * Int64(RelayLimits.pageEntries)
      }
    }

    /// Whether the log has that chain at that position.
    private static func knows(_ session: PostgresSession, _ space: SpaceRow, _ cursor: RelayCursor) throws -> Bool {
      guard let head = space.cursor?.position, cursor.position <= head else { return false }
      if cursor.position == head { return cursor.chain == space.chain }
      if cursor.position == 0 { return cursor == RelayStore.start(of: space) }
      let rows = try session.execute(
        "SELECT chain FROM tally_relay.entry WHERE space = $1 AND position = $2",
        [.integer(space.number), .integer(Int64(cursor.position))])
      return try rows.first?.bytes(0) == cursor.chain
    }

    /// Whether there may be something after a cursor.
    package func hasNews(in space: Int64, after cursor: RelayCursor?) async throws -> Bool {
      let space = try await self.space(space)
      guard let cursor else { return space.head > 0 }
      return space.cursor != cursor
    }

    /// An entry that is there.
    /// - Throws: `RelayProblem` if there is none.
    package func entry(_ name: String, in space: Int64) async throws -> RelayStore.EntryRow {
      let entry = try await reading.run { try Self.entry($0, name, in: space) }
      guard let entry else { throw RelayProblem(.noSuchEntry, "there is no such entry") }
      return entry
    }

    private static func entry(_ session: PostgresSession, _ name: String, in space: Int64) throws
      -> RelayStore.EntryRow?
    {
      let rows = try session.execute(
        "SELECT position, size, body FROM tally_relay.entry WHERE space = $1 AND name = $2 AND kind = 1",
        [.integer(space), .text(name)])
      return try rows.first.map { row in
        try RelayStore.EntryRow(
          position: try row.integer(0), size: Int(try row.integer(1)), body: row.optionalBytes(2))
      }
    }

    /// What there is under some names, in their order: small contents, as long as they fit.
    package func contents(of names: [String], in space: Int64, bytes: Int) async throws -> [RelayStore.Content] {
      try await reading.run { session in
        _ = try Self.space(session, space)
        let sizes = try session.execute(
          """
          SELECT name, size, octet_length(body)::bigint FROM tally_relay.entry
          WHERE space = $1 AND name = ANY($2) AND kind = 1
          """, [.integer(space), .texts(names)])
        var (found, fitting): ([String: (size: Int, inline: Int?)], Set<String>) = ([:], [])
        for row in sizes {
          found[try row.text(0)] = (Int(try row.integer(1)), try row.optionalInteger(2).map { Int($0) })
        }
        var room = RelayStore.ContentRoom(bytes)
        for name in names where !fitting.contains(name) {
          if let inline = found[name]?.inline, room.takes(inline) { fitting.insert(name) }
        }
        let rows = try session.execute(
          "SELECT name, body FROM tally_relay.entry WHERE space = $1 AND name = ANY($2) AND kind = 1 AND size <= $3",
          [.integer(space), .texts(fitting.sorted()), .integer(Int64(RelayStore.inlineBytes))])
        let bodies = try rows.reduce(into: [String: [UInt8]]()) { $0[try $1.text(0)] = $1.optionalBytes(1) }
        var given: Set<String> = []
        return names.map { name -> RelayStore.Content in
          guard let there = found[name] else { return .missing }
          // A name that is asked for twice is given once.
          guard fitting.contains(name), given.insert(name).inserted else {
            return .elsewhere(there.inline ?? there.size)
          }
          // What has gone in between is not there any more.
          return bodies[name].map { .whole($0) } ?? .missing
        }
      }
    }

    /// The bytes of an entry from an offset on to the end of the row in which they stand.
    /// - Throws: `RelayProblem` if the entry at that position, or its space, has gone meanwhile; also if the name was
    ///   put again.
    package func bytes(of name: String, in space: Int64, at position: Int64, from offset: Int) async throws -> [UInt8] {
      try await reading.run { session in
        let rows = try session.execute(
          """
          SELECT start, bytes FROM tally_relay.chunk
          WHERE space = $1 AND name = $2 AND start <= $3
            AND EXISTS (SELECT 1 FROM tally_relay.space WHERE number = $1 AND deleted IS NULL)
            AND EXISTS (SELECT 1 FROM tally_relay.entry WHERE space = $1 AND position = $4 AND kind = 1)
          ORDER BY start DESC LIMIT 1
          """, [.integer(space), .text(name), .integer(Int64(offset)), .integer(position)])
        guard let row = rows.first else { throw RelayProblem(.noSuchEntry, "the entry has gone") }
        let (start, bytes) = (Int(try row.integer(0)), try row.bytes(1))
        guard offset - start < bytes.count else { throw RelayProblem(.storageFailed, "a part of the entry is missing") }
        return Array(bytes[(offset - start)...])
      }
    }

    /// Returns the progress of an upload of a name; all of it if the entry is there.
    package func upload(_ name: String, in space: Int64) async throws -> RelayStore.Upload {
      let time = givenTime
      return try await reading.run { session in
        // In this order: what becomes an entry in between is found as one.
        let rows = try session.execute(
          """
          SELECT received, length FROM tally_relay.upload
          WHERE space = $2 AND name = $3 AND expires > \(PostgresTime.nowOrFirst)
          """, [time, .integer(space), .text(name)])
        if let row = rows.first {
          return RelayStore.Upload(received: Int(try row.integer(0)), length: Int(try row.integer(1)))
        }
        guard let known = try Self.entry(session, name, in: space) else {
          throw RelayProblem(.noSuchUpload, "there is no such upload")
        }
        return RelayStore.Upload(received: known.size, length: known.size)
      }
    }
  }

  extension SpaceRow {
    /// The columns that the initializer takes, in this order.
    static let columns = "number, id, head, chain, entries, bytes, quota, deleted"

    init(_ row: PostgresRow) throws {
      self.init(
        number: try row.integer(0), id: try row.text(1), head: try row.integer(2), chain: try row.bytes(3),
        entries: Int(try row.integer(4)), bytes: try row.integer(5), quota: try row.optionalInteger(6),
        deleted: try row.optionalInteger(7))
    }
  }

  extension LogRow {
    fileprivate init(_ row: PostgresRow) throws {
      self.init(
        position: try row.integer(0), kind: Int(try row.integer(1)), name: try row.text(2), chain: try row.bytes(3),
        size: Int(try row.integer(4)), body: row.optionalBytes(5))
    }
  }
#endif
