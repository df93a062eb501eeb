#if Relay
  import Dispatch
  import GRDB
  import TallyRelayProtocol

  /// Commits groups of writes to a file, on a queue of its own.
  ///
  /// A write that throws a `RelayProblem` has changed nothing before, but that it may have removed what nobody can have
  /// any more; any other error undoes the whole transaction, and everybody in it gets that error. On a full disk the
  /// writes that make nothing larger are tried once more, without the others.
  struct FileCommits: Sendable {
    private typealias Ending = @Sendable () -> Void

    private struct Write: GroupedWrite {
      let byteCount: Int
      let count: Int
      let space: Int64
      /// Whether more stands in the file afterwards.
      let grows: Bool
      /// Runs in the transaction, and gives what tells the caller when that is committed.
      let run: @Sendable (Database) throws -> Ending
      let failing: @Sendable (any Error) -> Void

      func fail(_ error: any Error) { failing(error) }
    }

    private let group: GroupCommit<Write>

    init(_ pool: DatabasePool, _ path: String, _ place: RelayFilePlace, _ reserve: RelayReserve) {
      let queue = DispatchQueue(label: "relay.commits")
      group = GroupCommit { writes, end in
        queue.async {
          end(
            Result {
              try place.check()
              let endings = try Self.commit(writes, pool, path, reserve)
              // A commit to a file that has been removed or replaced would be lost when the process ends.
              try place.check()
              return { for ending in endings { ending() } }
            })
        }
      }
    }

    private static func commit(_ writes: [Write], _ pool: DatabasePool, _ path: String, _ reserve: RelayReserve) throws
      -> [Ending]
    {
      let growing = writes.filter(\.grows)
      guard !growing.isEmpty else { return try reserve.whenFull { try run(writes, pool) } }
      guard reserve.keep() else { return try commit(writes, without: RelayDiskFull(path: path), pool, reserve) }
      do {
        return try run(writes, pool)
      } catch let error as DatabaseError where growing.count < writes.count && reserve.isFull(error) {
        return try commit(writes, without: error, pool, reserve)
      }
    }

    /// Commits the writes that make nothing larger, and lets the others fail with an error.
    private static func commit(
      _ writes: [Write], without error: any Error, _ pool: DatabasePool, _ reserve: RelayReserve
    ) throws -> [Ending] {
      let others = writes.filter { !$0.grows }
      guard !others.isEmpty else { throw error }
      let endings = try reserve.whenFull { try run(others, pool) }
      return endings + writes.filter(\.grows).map { write in { write.fail(error) } }
    }

    private static func run(_ writes: [Write], _ pool: DatabasePool) throws -> [Ending] {
      try pool.write { db in try writes.map { try $0.run(db) } }
    }

    /// Stands for the space of what is no space's own: deletions and what the sweeper removes.
    static let ownersSpace: Int64 = 0

    /// The number of transactions that were committed, and the number of writes that they held.
    var counts: (commits: Int, writes: Int) { group.counts }

    /// Writes about so many bytes, of so many entries, to a space, and returns when that is on the disk.
    func write<T: Sendable>(
      _ bytes: Int, to space: Int64, count: Int = 1, grows: Bool = true,
      _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        group.add(
          Write(byteCount: bytes, count: count, space: space, grows: grows) { db in
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
