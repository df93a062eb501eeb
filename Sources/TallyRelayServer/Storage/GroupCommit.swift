#if Relay
  import Synchronization
  import TallyRelayProtocol

  /// A write that waits for a transaction.
  protocol GroupedWrite: Sendable {
    /// About how much is written.
    var byteCount: Int { get }
    /// How many entries are put or removed.
    var count: Int { get }
    /// The space that is written to: spaces take turns.
    var space: Int64 { get }
    /// Tells whoever waits that nothing was written, or that it is not known whether anything was.
    func fail(_ error: any Error)
  }

  /// Commits together what waits: a commit waits for the disk, and one wait serves for all. Each storage says how a
  /// group is committed; there is never more than one under way. Spaces take turns in it, and the writes of one space
  /// keep their order: what one brings holds others up by a group, however much of it waits.
  ///
  /// Nobody hears of a success before the commit is on the disk.
  final class GroupCommit<Write: GroupedWrite>: Sendable {
    /// A function that notifies everybody in a group that the transaction has ended well.
    typealias Telling = @Sendable () -> Void
    /// Commits a group, without blocking the thread that asks for it, and says how that ended.
    typealias Commit =
      @Sendable (_ group: [Write], _ end: @escaping @Sendable (Result<Telling, any Error>) -> Void)
      -> Void

    private struct State {
      var waiting = FairLine<Int64, Write>()
      var waitingBytes = 0
      /// Those of each space.
      var bytes: [Int64: Int] = [:]
      var isCommitting = false
      var commits = 0
      var writes = 0
    }

    private let commit: Commit
    private let state = Mutex(State())

    init(_ commit: @escaping Commit) { self.commit = commit }

    /// The number of transactions that were committed, and the number of writes that they held: for tests and metrics.
    var counts: (commits: Int, writes: Int) { state.withLock { ($0.commits, $0.writes) } }

    /// Adds a write to the next group.
    func add(_ write: Write) {
      let (isTaken, isFirst) = state.withLock { state in
        let own = state.bytes[write.space] ?? 0
        // A space may have half of what others have left, so that there is room for one more.
        let share = (GroupLimits.waitingBytes - (state.waitingBytes - own)) / 2
        guard state.waitingBytes + write.byteCount <= GroupLimits.waitingBytes,
          own == 0 || own + write.byteCount <= share
        else { return (false, false) }
        state.waiting.append(write, of: write.space)
        state.waitingBytes += write.byteCount
        state.bytes[write.space] = own + write.byteCount
        defer { state.isCommitting = true }
        return (true, !state.isCommitting)
      }
      guard isTaken else {
        return write.fail(RelayProblem(.busy, "the relay has too much to write", retryAfter: 1))
      }
      if isFirst { commitNext() }
    }

    private func commitNext() {
      guard let group = takeGroup() else { return }
      commit(group) { [self] result in
        switch result {
        case .success(let tell):
          state.withLock { state in
            state.commits += 1
            state.writes += group.reduce(0) { $0 + $1.count }
          }
          tell()
        case .failure(let error): for write in group { write.fail(error) }
        }
        commitNext()
      }
    }

    private func takeGroup() -> [Write]? {
      state.withLock { state in
        var (group, entries, bytes): ([Write], Int, Int) = ([], 0, 0)
        while let next = state.waiting.first,
          group.isEmpty
            || entries + next.count <= GroupLimits.largestGroup && bytes + next.byteCount <= GroupLimits.groupBytes
        {
          guard let write = state.waiting.removeFirst() else { break }
          group.append(write)
          entries += write.count
          bytes += write.byteCount
          let rest = (state.bytes[write.space] ?? 0) - write.byteCount
          state.bytes[write.space] = rest > 0 ? rest : nil
        }
        state.isCommitting = !group.isEmpty
        state.waitingBytes -= bytes
        return group.isEmpty ? nil : group
      }
    }
  }

  /// The limits of what is committed together.
  enum GroupLimits {
    /// The most entries that one transaction puts or removes.
    static let largestGroup = 256
    /// The most bytes of one transaction, but for a single larger write.
    static let groupBytes = RelayLimits.bodyBytes
    /// The most bytes that wait. Beyond that writers are told to come back.
    static let waitingBytes = 64 << 20
  }
#endif
