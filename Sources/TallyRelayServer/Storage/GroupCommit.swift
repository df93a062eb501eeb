#if Relay
  import GRDB
  import TallyRelayProtocol

  /// Commits together what waits: a commit waits for the disk, and one wait serves for all.
  ///
  /// A write that throws a `RelayProblem` has changed nothing before; any other error undoes the whole transaction, and
  /// everybody in it gets that error. Nobody hears of a success before the commit is on the disk.
  actor GroupCommit {
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

    private let pool: DatabasePool
    private let place: RelayFilePlace
    private var waiting: [Write] = []
    private var waitingBytes = 0
    private var isCommitting = false
    /// How many transactions were committed, and how many writes they held: for tests and metrics.
    private(set) var commits = 0
    private(set) var writes = 0

    init(_ pool: DatabasePool, _ place: RelayFilePlace) { (self.pool, self.place) = (pool, place) }

    /// Writes, and returns when that is on the disk.
    /// - Parameter bytes: about how much is written.
    func write<T: Sendable>(_ bytes: Int, _ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
      guard waitingBytes + bytes <= Self.waitingBytes else {
        throw RelayProblem(.busy, "the relay has too much to write", retryAfter: 1)
      }
      return try await withCheckedThrowingContinuation { continuation in
        waiting.append(
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
        waitingBytes += bytes
        guard !isCommitting else { return }
        isCommitting = true
        Task { await commitAll() }
      }
    }

    private func commitAll() async {
      while !waiting.isEmpty { await commit(takeGroup()) }
      isCommitting = false
    }

    private func takeGroup() -> [Write] {
      var (count, bytes) = (0, 0)
      for write in waiting.prefix(Self.largestGroup) {
        guard count == 0 || bytes + write.bytes <= Self.groupBytes else { break }
        count += 1
        bytes += write.bytes
      }
      defer { waiting.removeFirst(count) }
      waitingBytes -= bytes
      return Array(waiting.prefix(count))
    }

    private func commit(_ group: [Write]) async {
      do {
        let endings = try await pool.write { db in try group.map { try $0.run(db) } }
        // A commit to a file that has been removed or replaced would be lost when the process ends.
        try place.check()
        commits += 1
        writes += group.count
        for ending in endings { ending(.success(())) }
      } catch {
        for write in group { write.fail(error) }
      }
    }
  }
#endif
