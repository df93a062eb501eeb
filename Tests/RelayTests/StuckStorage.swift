#if Relay
  import Synchronization
  import TallyRelayProtocol
  import TallyRelayServer

  /// A storage whose look-ups of tokens do not return, from some time on, until their task is cancelled; or whose
  /// writes, or pages of events, wait until they may begin.
  final class StuckStorage: RelayStorage {
    private struct State {
      var isStuck = false
      var holdsWrites = false
      var holdsEvents = false
      var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
      var next = 0
    }

    private let base: any RelayStorage
    private let state = Mutex(State())
    /// A word for each look-up that begins to wait, and one for each that was cancelled; and for each page of events
    /// that was read, with its position.
    let events: AsyncStream<String>
    private let feed: AsyncStream<String>.Continuation

    init(_ base: any RelayStorage) {
      self.base = base
      (events, feed) = AsyncStream.makeStream(of: String.self)
    }

    /// Whether look-ups wait. When they are no longer to, those that wait go on.
    var isStuck: Bool {
      get { state.withLock { $0.isStuck } }
      set { set(\.isStuck, newValue) }
    }

    /// Whether writes wait, also those that nobody waits for any more. A test makes only one of the two wait.
    var holdsWrites: Bool {
      get { state.withLock { $0.holdsWrites } }
      set { set(\.holdsWrites, newValue) }
    }

    /// Whether pages of events wait before they are read.
    var holdsEvents: Bool {
      get { state.withLock { $0.holdsEvents } }
      set { set(\.holdsEvents, newValue) }
    }

    private func set(_ kind: WritableKeyPath<State, Bool> & Sendable, _ isOn: Bool) {
      let waiting = state.withLock { state in
        state[keyPath: kind] = isOn
        defer { if !isOn { state.waiting = [:] } }
        return isOn ? [] : Array(state.waiting.values)
      }
      for continuation in waiting { continuation.resume() }
    }

    /// Says a word among those of look-ups.
    func give(_ word: String) { feed.yield(word) }

    func bearer(hash: [UInt8]) async throws -> RelayStore.Bearer? {
      await waitWhileStuck()
      try Task.checkCancellation()
      return try await base.bearer(hash: hash)
    }

    private func waitWhileStuck(_ kind: KeyPath<State, Bool> & Sendable = \.isStuck) async {
      let id = state.withLock { state in
        defer { state.next += 1 }
        return state.next
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let waits = state.withLock { state in
            guard state[keyPath: kind], !Task.isCancelled else { return false }
            state.waiting[id] = continuation
            return true
          }
          if waits { feed.yield("waits") } else { continuation.resume() }
        }
      } onCancel: {
        feed.yield("cancelled")
        state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
      }
    }

    // MARK: As it is

    var now: @Sendable () -> Int64 { base.now }
    var random: RelayStore.Random { base.random }
    var commitCounts: (commits: Int, writes: Int) { get async { await base.commitCounts } }
    func time() async throws -> Int64 { try await base.time() }

    func makeToken(space: String?, role: RelayRole, quota: Int64?, expires: Int64?) async throws
      -> RelayStore.NewToken
    { try await base.makeToken(space: space, role: role, quota: quota, expires: expires) }

    func tokens() async throws -> [RelayStore.TokenInfo] { try await base.tokens() }
    func revoke(_ id: String) async throws { try await base.revoke(id) }
    func check() async throws { try await base.check() }
    func space(_ number: Int64) async throws -> SpaceRow { try await base.space(number) }

    func page(of space: Int64, after cursor: RelayCursor?, limit: Int, bytes: Int) async throws -> RelayPage {
      guard limit == RelayLimits.eventEntries else {
        return try await base.page(of: space, after: cursor, limit: limit, bytes: bytes)
      }
      await waitWhileStuck(\.holdsEvents)
      let page = try await base.page(of: space, after: cursor, limit: limit, bytes: bytes)
      feed.yield("read \(page.cursor.position)")
      return page
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

    func upload(_ name: String, in space: Int64) async throws -> RelayStore.Upload {
      try await base.upload(name, in: space)
    }

    func contents(of names: [String], in space: Int64, bytes: Int) async throws -> [RelayStore.Content] {
      try await base.contents(of: names, in: space, bytes: bytes)
    }

    func write(_ writes: [RelayWrites.Write], by writer: RelayWriter, after cursor: RelayCursor?) async throws
      -> [RelayStore.Outcome]
    {
      await waitWhileStuck(\.holdsWrites)
      return try await base.write(writes, by: writer, after: cursor)
    }

    func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece {
      await waitWhileStuck(\.holdsWrites)
      return try await base.put(piece: piece, at: offset, of: length, name, by: writer, after: cursor)
    }

    func deleteSpace(_ id: String) async throws { try await base.deleteSpace(id) }
    func restoreSpace(_ id: String) async throws { try await base.restoreSpace(id) }
    func missing(among spaces: [Int64]) async throws -> [Int64] { try await base.missing(among: spaces) }

    func removeSlice(deletedFor seconds: Int64?) async throws -> Bool {
      try await base.removeSlice(deletedFor: seconds)
    }

    func spaces() async throws -> [RelayStore.SpaceInfo] { try await base.spaces() }
    func limitFile(to bytes: Int64) async throws { try await base.limitFile(to: bytes) }
    var warnings: [String] { base.warnings }
    func releaseMemory() { base.releaseMemory() }
    func figures() async throws -> StorageFigures { try await base.figures() }

    func follow(watched: @escaping @Sendable () -> [Int64], announce: @escaping @Sendable (Int64) -> Void) {
      base.follow(watched: watched, announce: announce)
    }

    func close() throws { try base.close() }
  }
#endif
