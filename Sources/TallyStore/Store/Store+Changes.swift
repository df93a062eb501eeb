import Synchronization
import TallyCRDT
import TallyWire

/// The listeners that are notified when a store has changed.
final class ChangeListeners: Sendable {
  private struct State {
    var next = 0
    var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
  }
  private let state = Mutex(State())

  func follow() -> ChangeFollower {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      defer { state.next += 1 }
      state.continuations[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.continuations[id] = nil } }
    return ChangeFollower(id: id, changes: stream)
  }

  /// Tells everybody, but perhaps one who knows already.
  func notify(but follower: ChangeFollower?) {
    for (id, continuation) in state.withLock({ $0.continuations }) where id != follower?.id { continuation.yield() }
  }
}

/// One who hears of changes.
package struct ChangeFollower: Sendable {
  let id: Int
  /// See `Store.changes()`.
  package let changes: AsyncStream<Void>
}

extension Store {
  /// Returns a sequence of signals, one after each commit that changed replicated state by a local write or a delta.
  ///
  /// ```swift
  /// for await _ in store.changes() { print(try store.vector) }
  /// ```
  ///
  /// Several commits in a row may cause a single signal, and earlier commits cause none. Writes of other processes,
  /// with plain SQL or with a store of their own, are signalled by ``captureChanges()`` or the next write. A signal
  /// does not tell what has changed: to follow a query, use ``values(_:)``; for the names of records, use ``events()``.
  /// - Returns: a separate sequence for each call. It ends with the task that iterates over it.
  public func changes() -> AsyncStream<Void> { follow().changes }

  /// The same, for one who also applies and need not hear of that.
  package func follow() -> ChangeFollower { listeners.follow() }

  /// Captures writes that other connections and processes have made to the file. Their plain SQL writes get stamps of
  /// this replica and replicate. Transactions that a store of another process has committed are reported to everything
  /// that follows `changes()`, `events()` or an observed query of this store.
  ///
  /// ```swift
  /// // In an app whose widget writes too: after it has come to the front.
  /// try store.captureChanges()
  /// ```
  ///
  /// Every write does the same, and an engine does it once a second. If there is nothing to capture, it costs one small
  /// read. A read-only store ignores it.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func captureChanges() throws {
    guard !options.isReadOnly else { return }
    guard unchanged == nil else { return }
    let (vector, fingerprint) = try capturedSnapshot { (try $0.vector(), try $0.fingerprint()) }
    let last = latest.withLock { $0?.summary }
    if vector != last?.vector || fingerprint != last?.fingerprint { try replicate { _ in } }
  }
}

// MARK: - Small deltas

extension Store {
  /// Ends reading when it is clear that the change is not small.
  private struct Enough: Error {}

  /// The blocks of everything that `base` does not cover, for a change that is small; with the header of the same
  /// snapshot. Two blocks at most, so that a change of any size costs little memory: with two, there may be more.
  package func blocks(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock]) {
    if let blocks = try blocksInMemory(since: base) { return blocks }
    return try capturedSnapshot { reader in
      let header = DeltaHeader(
        base: base, target: try reader.vector(), fingerprint: try reader.fingerprint(),
        version: reader.catalog.marks.wireVersion)
      var blocks: [DeltaBlock] = []
      do {
        try DeltaSource(reader: reader, base: base)
          .forEachBlock(of: header.target) { draft in
            blocks.append(draft.block)
            if blocks.count == 2 { throw Enough() }
          }
      } catch is Enough {}
      try makeDurable(try reader.ownDot(in: header.target), reader.connection)
      return (header, blocks)
    }
  }

  /// The same if the last transaction, which is in memory, is all that `base` does not cover; otherwise nil. Cost: at
  /// most a sync to the disk.
  package func blocksInMemory(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock])? {
    guard let (header, latest, buffer) = buffered(since: base) else { return nil }
    var blocks: [DeltaBlock] = []
    try buffer.forEachBlock(header, latest.outcome.catalog) { blocks.append($0.block) }
    try makeDurable(latest.summary)
    recent.noteTold(header.target)
    return (header, blocks)
  }

  /// Joins blocks that are here already; all of them, or nothing. `follower` need not be told.
  @discardableResult
  package func apply(
    _ header: DeltaHeader, _ blocks: [DeltaBlock], isRepair: Bool = false, by follower: ChangeFollower? = nil
  ) throws -> Commit<ApplyResult> {
    var rest = blocks[...]
    return try join(header, isRepair: isRepair, by: follower) { rest.popFirst().map { BlockDraft($0) } }
  }
}
