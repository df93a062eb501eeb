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
      let writer = writer.limited(to: quota)
      let grows = writes.contains { if case .put = $0 { true } else { false } }
      return try await timed {
        if grows { return try await base.write(writes, by: writer, after: cursor) }
        return try await removing { try await base.write(writes, by: writer, after: cursor) }
      }
    }

    func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece {
      try await timed {
        try await base.put(
          piece: piece, at: offset, of: length, name, by: writer.limited(to: quota), after: cursor)
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

    func space(_ number: Int64) async throws -> SpaceRow {
      try await base.space(number).limited(to: quota)
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
    func removeSlice(deletedFor seconds: Int64?) async throws -> Bool {
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
