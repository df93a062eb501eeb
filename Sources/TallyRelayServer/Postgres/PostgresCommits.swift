#if Postgres
  /// Commits groups of writes to a database, on a connection and a thread of its own.
  struct PostgresCommits: Sendable {
    private struct Write: GroupedWrite {
      let request: PostgresRequest
      let end: @Sendable (Result<PostgresRequest.Outcome, any Error>) -> Void

      var byteCount: Int { request.writes.reduce(0) { $0 + $1.byteCount } }
      var count: Int { request.writes.count }
      var space: Int64 { request.writer.space }
      func fail(_ error: any Error) { end(.failure(error)) }
    }

    let threads: PostgresThreads
    private let group: GroupCommit<Write>

    /// Begins to commit, by a test's clock, or by the database's if there is none. `onCommit` is called with the logs
    /// that have advanced and their positions, once for each transaction.
    init(
      _ address: PostgresAddress, _ time: (@Sendable () -> Int64)?,
      onCommit: @escaping @Sendable ([Int64: Int64]) -> Void
    ) {
      let threads = PostgresThreads(address, count: 1) { session in
        // Acknowledged means committed, also where the database's owner prefers speed for others.
        try session.execute(
          "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
        try session.keepPlans()
      }
      self.threads = threads
      group = GroupCommit { writes, end in
        threads.run { session in
          try PostgresGroup.commit(writes.map(\.request), session, time?())
        } onEnd: { result in
          end(
            result.map { result in
              {
                if !result.heads.isEmpty { onCommit(result.heads) }
                for (write, outcome) in zip(writes, result.outcomes) { write.end(.success(outcome)) }
              }
            })
        }
      }
    }

    /// The number of transactions that were committed, and the number of writes that they held.
    var counts: (commits: Int, writes: Int) { group.counts }

    /// Writes, and returns when that is committed.
    /// - Throws: `RelayProblem` if the writer's token does not permit it.
    func write(_ writes: [PostgresWrite], by writer: RelayWriter) async throws -> [PostgresWrite.Result] {
      let request = PostgresRequest(writer: writer, writes: writes)
      let outcome: PostgresRequest.Outcome = try await withCheckedThrowingContinuation { continuation in
        group.add(Write(request: request) { continuation.resume(with: $0) })
      }
      return try outcome.get()
    }
  }
#endif
