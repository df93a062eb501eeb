#if Relay
  import GRDB
  import Synchronization
  import TallyRelayProtocol

  /// A storage as a relay serves from it: spaces without a quota of their own have the relay's, and it is counted how
  /// long writes take.
  struct ServedStorage: RelayStorage {
    let base: any RelayStorage
    /// The most bytes of a space that has no quota of its own; nil for no limit.
    let quota: Int64?
    /// The most bytes of the file; nil for no limit.
    let fileLimit: Int64?
    let times: WriteTimes
    let clock: @Sendable () -> Duration

    // MARK: Writing

    func write(_ writes: [RelayWrites.Write], by writer: RelayWriter, after cursor: RelayCursor?) async throws
      -> [RelayStore.Outcome]
    {
      var refused = try await refusals(of: writes, in: writer.space)
      let rest = writes.indices.filter { refused[$0] == nil }.map { writes[$0] }
      let grows = rest.contains { if case .put = $0 { true } else { false } }
      var outcomes: ArraySlice<RelayStore.Outcome> = []
      if !rest.isEmpty || writes.isEmpty {
        let done: [RelayStore.Outcome] = try await timed {
          if grows { return try await base.write(rest, by: writer, after: cursor) }
          return try await removing { try await base.write(rest, by: writer, after: cursor) }
        }
        outcomes = done[...]
      }
      return try writes.indices.map { index in
        if let problem = refused.removeValue(forKey: index) { return .refused(problem) }
        guard let outcome = outcomes.popFirst() else { throw RelayProblem(.internal, "a write was not answered") }
        return outcome
      }
    }

    func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece {
      let row = try await limitedSpace(writer.space)
      if let row {
        let growth = try await growth(name, Int64(length), row)
        if growth > 0 { try RelayStore.check(row, growsBy: growth) }
      }
      return try await timed {
        try await base.put(piece: piece, at: offset, of: length, name, by: writer, after: cursor)
      }
    }

    /// What a file may grow beyond its limit so that something can be removed: that is noted before there is room.
    private static let removalBytes: Int64 = 1 << 20

    /// Removes something, also if the file may not grow.
    private func removing<T>(_ body: () async throws -> T) async throws -> T {
      do {
        return try await body()
      } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
        guard let fileLimit else { throw error }
        try await base.limitFile(to: fileLimit + Self.removalBytes)
        do {
          let value = try await body()
          try await base.limitFile(to: fileLimit)
          return value
        } catch {
          try await base.limitFile(to: fileLimit)
          throw error
        }
      }
    }

    private func timed<T>(_ body: () async throws -> T) async throws -> T {
      let start = clock()
      let value = try await body()
      times.note(clock() - start)
      return value
    }

    // MARK: The relay's quota

    /// A space to which the relay's quota applies, with that; nil if it has one of its own, or there is none.
    private func limitedSpace(_ number: Int64) async throws -> SpaceRow? {
      guard let quota else { return nil }
      let row = try await base.space(number)
      return row.quota == nil ? row.limited(to: quota) : nil
    }

    /// By how much a space grows with an entry of so many bytes. One that is there is no other.
    private func growth(_ name: String, _ bytes: Int64, _ space: SpaceRow) async throws -> Int64 {
      do {
        let upload = try await base.upload(name, in: space.number)
        guard upload.received < upload.length else { return 0 }
        return bytes + RelayStore.overhead - Int64(upload.received)
      } catch let problem as RelayProblem where problem.code == .noSuchUpload {
        return bytes + RelayStore.overhead
      }
    }

    /// Those of several writes for which a space has no room, by their places. Writes that are under way at the same
    /// time are not seen: together they may exceed the relay's quota by what may wait for the disk.
    private func refusals(of writes: [RelayWrites.Write], in space: Int64) async throws -> [Int: RelayProblem] {
      guard var row = try await limitedSpace(space) else { return [:] }
      let most = writes.reduce(row.bytes) { $0 + Int64($1.byteCount) + RelayStore.overhead }
      guard let quota = row.quota, most > quota else { return [:] }
      var refused: [Int: RelayProblem] = [:]
      for (index, write) in writes.enumerated() {
        switch write {
        case .put(let name, let content):
          let growth = try await growth(name, Int64(content.count), row)
          do throws(RelayProblem) {
            if growth > 0 { try RelayStore.check(row, growsBy: growth) }
            row.bytes += growth
          } catch { refused[index] = error }
        case .removal(let name):
          if let size = try await size(of: name, in: space) { row.bytes += RelayStore.overhead - size }
        }
      }
      return refused
    }

    private func size(of name: String, in space: Int64) async throws -> Int64? {
      do {
        return Int64(try await base.entry(name, in: space).size)
      } catch let problem as RelayProblem where problem.code == .noSuchEntry {
        return nil
      }
    }

    func space(_ number: Int64) async throws -> SpaceRow {
      let row = try await base.space(number)
      return quota.map(row.limited) ?? row
    }

    // MARK: As it is

    var now: @Sendable () -> Int64 { base.now }
    var random: RelayStore.Random { base.random }
    var warnings: [String] { base.warnings }
    func releaseMemory() { base.releaseMemory() }
    var commitCounts: (commits: Int, writes: Int) { get async { await base.commitCounts } }
    func time() async throws -> Int64 { try await base.time() }

    func makeToken(space: String?, role: RelayRole, quota: Int64?, expires: Int64?) async throws
      -> RelayStore.NewToken
    { try await base.makeToken(space: space, role: role, quota: quota, expires: expires) }

    func tokens() async throws -> [RelayStore.TokenInfo] { try await base.tokens() }
    func revoke(_ id: String) async throws { try await base.revoke(id) }
    func bearer(hash: [UInt8]) async throws -> RelayStore.Bearer? { try await base.bearer(hash: hash) }
    func check() async throws { try await base.check() }

    func page(of space: Int64, after cursor: RelayCursor?, limit: Int, bytes: Int) async throws -> RelayPage {
      try await base.page(of: space, after: cursor, limit: limit, bytes: bytes)
    }

    func hasNews(in space: Int64, after cursor: RelayCursor?) async throws -> Bool {
      try await base.hasNews(in: space, after: cursor)
    }

    func entry(_ name: String, in space: Int64) async throws -> RelayStore.EntryRow {
      try await base.entry(name, in: space)
    }

    func bytes(of name: String, in space: Int64, at position: Int64, from offset: Int) async throws -> [UInt8] {
      try await base.bytes(of: name, in: space, at: position, from: offset)
    }

    func contents(of names: [String], in space: Int64, bytes: Int) async throws -> [RelayStore.Content] {
      try await base.contents(of: names, in: space, bytes: bytes)
    }

    func upload(_ name: String, in space: Int64) async throws -> RelayStore.Upload {
      try await base.upload(name, in: space)
    }

    func deleteSpace(_ id: String) async throws { try await removing { try await base.deleteSpace(id) } }
    func restoreSpace(_ id: String) async throws { try await base.restoreSpace(id) }
    func missing(among spaces: [Int64]) async throws -> [Int64] { try await base.missing(among: spaces) }
    func removeSlice(deletedFor seconds: Int64) async throws -> Bool {
      try await removing { try await base.removeSlice(deletedFor: seconds) }
    }
    func spaces() async throws -> [RelayStore.SpaceInfo] { try await base.spaces() }
    func figures() async throws -> StorageFigures { try await base.figures() }
    func limitFile(to bytes: Int64) async throws { try await base.limitFile(to: bytes) }

    func follow(watched: @escaping @Sendable () -> [Int64], announce: @escaping @Sendable (Int64) -> Void) {
      base.follow(watched: watched, announce: announce)
    }

    func close() throws { try base.close() }
  }

  extension SpaceRow {
    /// The same space with a quota, unless it has one of its own.
    fileprivate func limited(to quota: Int64) -> SpaceRow {
      SpaceRow(
        number: number, id: id, head: head, chain: chain, entries: entries, bytes: bytes, quota: self.quota ?? quota,
        deleted: deleted)
    }
  }

  /// How long writes took, from when the storage was asked until they were on the disk.
  final class WriteTimes: Sendable {
    private struct State {
      var counts = Array(repeating: 0, count: WriteTimes.bounds.count + 1)
      var seconds = 0.0
    }

    /// In seconds.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
    private let state = Mutex(State())

    func note(_ duration: Duration) {
      let seconds = duration / .seconds(1)
      state.withLock { state in
        state.counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        state.seconds += seconds
      }
    }

    /// The histogram, as Prometheus reads it.
    func lines() -> [String] {
      let (state, name) = (state.withLock { $0 }, "tally_relay_write_seconds")
      var lines = [
        "# HELP \(name) How long writes took, from the storage being asked to their being on the disk.",
        "# TYPE \(name) histogram",
      ]
      var sum = 0
      for (index, count) in state.counts.enumerated() {
        sum += count
        let bound = index < Self.bounds.count ? "\(Self.bounds[index])" : "+Inf"
        lines.append("\(name)_bucket{le=\"\(bound)\"} \(sum)")
      }
      return lines + ["\(name)_sum \(state.seconds)", "\(name)_count \(sum)"]
    }
  }
#endif
