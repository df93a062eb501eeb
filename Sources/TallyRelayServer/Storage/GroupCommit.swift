#if Relay
  import Dispatch
  import GRDB
  import Synchronization
  import TallyRelayProtocol

  /// Commits together what waits: a commit waits for the disk, and one wait serves for all.
  ///
  /// A write that throws a `RelayProblem` has changed nothing before; any other error undoes the whole transaction, and
  /// everybody in it gets that error. Nobody hears of a success before the commit is on the disk.
  final class GroupCommit: Sendable {
    /// The most writes of one transaction.
    static let largestGroup = 256
    /// The most bytes of one transaction, but for a single larger write.
    static let groupBytes = RelayLimits.bodyBytes
    /// The most bytes that wait. Beyond that writers are told to come back.
    static let waitingBytes = 64 << 20

    private typealias Ending = @Sendable (Result<Void, any Error>) -> Void

    private struct Write: Sendable {
      let bytes: Int
      /// Runs in the transaction, and gives what tells the caller when the transaction has ended.
      let run: @Sendable (Database) throws -> Ending
      let fail: @Sendable (any Error) -> Void
    }

    private struct State {
      var waiting: [Write] = []
      var waitingBytes = 0
      var isCommitting = false
      var commits = 0
      var writes = 0
    }

    private let pool: DatabasePool
    private let place: RelayFilePlace
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "relay.commits")

    init(_ pool: DatabasePool, _ place: RelayFilePlace) { (self.pool, self.place) = (pool, place) }

    /// How many transactions were committed, and how many writes they held: for tests and metrics.
    var counts: (commits: Int, writes: Int) { state.withLock { ($0.commits, $0.writes) } }

    /// Writes, and returns when that is on the disk.
    /// - Parameter bytes: about how much is written.
    func write<T: Sendable>(_ bytes: Int, _ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        add(
          Write(bytes: bytes) { db in
            do {
              let value = try body(db)
              return { continuation.resume(with: $0.map { value }) }
            } catch let problem as RelayProblem {
              return { continuation.resume(with: $0.flatMap { .failure(problem) }) }
            }
          } fail: {
            continuation.resume(throwing: $0)
          })
      }
    }

    private func add(_ write: Write) {
      let (isTaken, isFirst) = state.withLock { state in
        guard state.waitingBytes + write.bytes <= Self.waitingBytes else { return (false, false) }
        state.waiting.append(write)
        state.waitingBytes += write.bytes
        defer { state.isCommitting = true }
        return (true, !state.isCommitting)
      }
      guard isTaken else {
        return write.fail(RelayProblem(.busy, "the relay has too much to write", retryAfter: 1))
      }
      if isFirst { queue.async { self.commitAll() } }
    }

    private func commitAll() {
      while let group = takeGroup() { commit(group) }
    }

    private func takeGroup() -> [Write]? {
      state.withLock { state in
        var (count, bytes) = (0, 0)
        for write in state.waiting.prefix(Self.largestGroup) {
          guard count == 0 || bytes + write.bytes <= Self.groupBytes else { break }
          count += 1
          bytes += write.bytes
        }
        state.isCommitting = count > 0
        guard count > 0 else { return nil }
        defer { state.waiting.removeFirst(count) }
        state.waitingBytes -= bytes
        return Array(state.waiting.prefix(count))
      }
    }

    private func commit(_ group: [Write]) {
      do {
        let endings = try pool.write { db in try group.map { try $0.run(db) } }
        // A commit to a file that has been removed or replaced would be lost when the process ends.
        try place.check()
        state.withLock { state in
          state.commits += 1
          state.writes += group.count
        }
        for ending in endings { ending(.success(())) }
      } catch {
        for write in group { write.fail(error) }
      }
    }
  }
#endif
