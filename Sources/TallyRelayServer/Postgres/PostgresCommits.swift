#if Postgres
  import TallyRelayProtocol

  /// Commits together what waits, as `GroupCommit` does for a file, on a connection and a thread of its own.
  actor PostgresCommits {
    private struct Waiting: Sendable {
      let write: PostgresWrite
      let end: @Sendable (Result<PostgresWrite.Outcome, any Error>) -> Void
    }

    nonisolated let threads: PostgresThreads
    private let time: (@Sendable () -> Int64)?
    private var waiting: [Waiting] = []
    private var waitingBytes = 0
    private var isCommitting = false
    /// How many transactions were committed, and how many writes they held.
    private(set) var commits = 0
    private(set) var writes = 0

    /// - Parameter time: a test's clock; nil for the database's.
    init(_ address: PostgresAddress, _ time: (@Sendable () -> Int64)?) {
      self.time = time
      threads = PostgresThreads(address, count: 1) { session in
        // Acknowledged means committed, also where the database's owner prefers speed for others.
        try session.execute(
          "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
      }
    }

    /// Writes, and returns when that is committed.
    /// - Parameter onCommit: is told how far which logs have come, once for each transaction.
    func write(
      _ write: PostgresWrite, onCommit: @escaping @Sendable ([Int64: Int64]) -> Void
    ) async throws -> PostgresWrite.Outcome {
      guard waitingBytes + write.byteCount <= GroupCommit.waitingBytes else {
        throw RelayProblem(.busy, "the relay has too much to write", retryAfter: 1)
      }
      return try await withCheckedThrowingContinuation { continuation in
        waiting.append(Waiting(write: write) { continuation.resume(with: $0) })
        waitingBytes += write.byteCount
        guard !isCommitting else { return }
        isCommitting = true
        Task { await commitAll(onCommit) }
      }
    }

    private func commitAll(_ onCommit: @Sendable ([Int64: Int64]) -> Void) async {
      while !waiting.isEmpty { await commit(takeGroup(), onCommit) }
      isCommitting = false
    }

    private func takeGroup() -> [Waiting] {
      var (count, bytes) = (0, 0)
      for waiting in waiting.prefix(GroupCommit.largestGroup) {
        guard count == 0 || bytes + waiting.write.byteCount <= GroupCommit.groupBytes else { break }
        count += 1
        bytes += waiting.write.byteCount
      }
      defer { waiting.removeFirst(count) }
      waitingBytes -= bytes
      return Array(waiting.prefix(count))
    }

    private func commit(_ group: [Waiting], _ onCommit: @Sendable ([Int64: Int64]) -> Void) async {
      let (writes, time) = (group.map(\.write), time)
      do {
        let result = try await threads.run { try PostgresGroup.commit(writes, $0, time?()) }
        commits += 1
        self.writes += group.count
        if !result.heads.isEmpty { onCommit(result.heads) }
        for (waiting, outcome) in zip(group, result.outcomes) { waiting.end(outcome.mapError { $0 }) }
      } catch {
        for waiting in group { waiting.end(.failure(error)) }
      }
    }
  }
#endif
