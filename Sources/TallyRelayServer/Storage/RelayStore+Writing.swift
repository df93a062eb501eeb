#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// The largest body that stands in its entry's row.
    static let inlineBytes = RelayLimits.inlineBytes
    /// The maximum number of bytes in a row of a larger body.
    static let chunkBytes = 256 << 10
    /// The amount that each position of a log counts against the quota, beside its content.
    static let overhead: Int64 = 256

    /// The outcome of a put.
    package struct Put: Sendable, Hashable {
      /// Whether it was there already.
      package let isKnown: Bool
      package let position: Int64
      /// The cursor from which the sender can continue, if nothing but this entry has come after the cursor that it
      /// had.
      package let cursor: RelayCursor?
    }

    /// Puts and removes entries, one after the other in one transaction. What is large is removed later, a slice at a
    /// time.
    package func write(_ writes: [RelayWrites.Write], by writer: RelayWriter, after cursor: RelayCursor?) async throws
      -> [Outcome]
    {
      let bytes = writes.reduce(0) { $0 + $1.byteCount }
      let grows = writes.contains { if case .put = $0 { true } else { false } }
      return try await commits.write(bytes, to: writer.space, count: writes.count, grows: grows) { [now] db in
        let time = now()
        var log = try SpaceWrites(db, writer, writes.first?.name ?? "", time)
        var cursor = cursor
        let outcomes = try writes.map { write -> Outcome in
          do {
            switch write {
            case .put(let name, let content):
              let put = try log.put(name, content, after: cursor)
              if !put.isKnown { cursor = put.cursor }
              return .put(put)
            case .removal(let name):
              cursor = nil
              return .removed(try log.remove(name))
            }
          } catch let problem as RelayProblem {
            return .refused(problem)
          }
        }
        try log.save()
        return outcomes
      }
    }

    // MARK: Steps

    static func check(_ space: SpaceRow, growsBy bytes: Int64) throws(RelayProblem) {
      guard let quota = space.quota, space.bytes + bytes > quota else { return }
      throw RelayProblem(.quotaExceeded, "the space has \(space.bytes) of \(quota) bytes")
    }

    /// Appends an entry. The space has `growth` bytes more then, beside the place in the log.
    static func append(
      _ db: Database, _ space: SpaceRow, _ name: String, _ size: Int, _ body: [UInt8]?, _ growth: Int64,
      _ cursor: RelayCursor?, _ time: Int64
    ) throws -> Put {
      // What dropping an upload has given back is in the row.
      let chain = RelayChain.next(space.chain, entry: name)
      try insert(db, space, EntryKind.entry, name, chain, size, body, time)
      try update(db, space, chain, entries: 1, bytes: growth + overhead)
      let position = space.head + 1
      let isNext = cursor != nil && cursor == space.cursor
      return Put(
        isKnown: false, position: position,
        cursor: isNext ? RelayCursor(position: UInt64(position), chain: chain) : nil)
    }

    static func insert(
      _ db: Database, _ space: SpaceRow, _ kind: Int, _ name: String, _ chain: [UInt8], _ size: Int, _ body: [UInt8]?,
      _ time: Int64
    ) throws {
      let statement = try db.cachedStatement(
        sql: "INSERT INTO entry(space, position, kind, name, chain, size, at, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")
      try statement.execute(
        arguments: [
          space.number, space.head + 1, kind, name, Data(chain), size, time, body.map { Data($0) },
        ])
    }

    static func update(_ db: Database, _ space: SpaceRow, _ chain: [UInt8], entries: Int, bytes: Int64) throws {
      let statement = try db.cachedStatement(
        sql: """
          UPDATE space SET head = head + 1, chain = ?, entries = entries + ?, bytes = bytes + ? WHERE number = ?
          """)
      try statement.execute(arguments: [Data(chain), entries, bytes, space.number])
    }

    static func insertChunks(_ db: Database, _ name: String, _ space: Int64, _ body: [UInt8], from offset: Int) throws {
      let statement = try db.cachedStatement(
        sql: "INSERT INTO chunk(space, name, start, bytes) VALUES(?, ?, ?, ?)")
      for start in stride(from: 0, to: body.count, by: chunkBytes) {
        let bytes = Data(body[start..<min(start + chunkBytes, body.count)])
        try statement.execute(arguments: [space, name, offset + start, bytes])
      }
    }
  }
#endif
