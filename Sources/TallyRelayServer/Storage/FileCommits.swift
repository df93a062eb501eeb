#if Relay
  import Dispatch
  import GRDB
  import TallyRelayProtocol

  /// Commits groups of writes to a file, on a queue of its own.
  ///
  /// A write that throws a `RelayProblem` has changed nothing before; any other error undoes the whole transaction, and
  /// everybody in it gets that error.
  struct FileCommits: Sendable {
    private typealias Ending = @Sendable () -> Void

    private struct Write: GroupedWrite {
      let byteCount: Int
      /// Runs in the transaction, and gives what tells the caller when that is committed.
      let run: @Sendable (Database) throws -> Ending
      let failing: @Sendable (any Error) -> Void

      func fail(_ error: any Error) { failing(error) }
    }

    private let group: GroupCommit<Write>

    init(_ pool: DatabasePool, _ place: RelayFilePlace) {
      let queue = DispatchQueue(label: "relay.commits")
      group = GroupCommit { writes, end in
        queue.async {
          end(
            Result {
              try place.check()
              let endings = try pool.write { db in try writes.map { try $0.run(db) } }
              // A commit to a file that has been removed or replaced would be lost when the process ends.
              try place.check()
              return { for ending in endings { ending() } }
            })
        }
      }
    }

    /// The number of transactions that were committed, and the number of writes that they held.
    var counts: (commits: Int, writes: Int) { group.counts }

    /// Writes about so many bytes, and returns when that is on the disk.
    func write<T: Sendable>(_ bytes: Int, _ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        group.add(
          Write(byteCount: bytes) { db in
            do {
              let value = try body(db)
              return { continuation.resume(returning: value) }
            } catch let problem as RelayProblem {
              return { continuation.resume(throwing: problem) }
            }
          } failing: {
            continuation.resume(throwing: $0)
          })
      }
    }
  }
#endif
