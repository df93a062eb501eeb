import Foundation
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire

/// The outcome of a sync of two stores.
public struct SyncReport: Sendable, Equatable {
  /// The result of applying the second store's changes to the first.
  public var first = ApplyResult()
  /// The result of applying the first store's changes to the second.
  public var second = ApplyResult()
  /// The number of bytes of the deltas in both directions.
  public var byteCount = 0
  /// Whether the vectors were equal but the contents were not, so that full states were exchanged as a repair.
  public var repaired = false
  /// Whether both ended with equal vectors and fingerprints.
  public var isConverged = false
  /// The number of transactions that only one of the two stores has because they were written while the sync ran; the
  /// next sync transfers them. The sync has succeeded all the same: each store has everything that the other had when
  /// it began.
  public var newerChanges: UInt64 = 0
}

extension Store {
  /// Syncs with another open store of this process: both end with the same content.
  ///
  /// ```swift
  /// let report = try phone.sync(with: tablet)
  /// print(report.isConverged, report.byteCount)
  /// ```
  ///
  /// They exchange vectors and fingerprints, then a delta each way. Both deltas are read before either is applied, so
  /// each side learns of the conflicts in which it took part. Each delta is applied whole or not at all. If the second
  /// one fails, the first stays, and the next sync does the rest. Large deltas go through a temporary file, so memory
  /// use is bounded.
  ///
  /// If the vectors are then equal but the contents are not, the stores exchange everything that they have. This
  /// happens when two copies of one store wrote under the same replica id because a file was copied or restored from a
  /// backup. The writes of both are then joined like concurrent writes, and each store takes a new replica id as soon
  /// as it notices. Writes to different fields, relationships or records are not lost, with one limit: a delete by a
  /// replica that had seen one of two writes with the same number counts as having seen the other. The record is then
  /// deleted with both writes in it, and can be restored.
  ///
  /// A store whose content does not match its sum is damaged: it sends nothing and replaces its content with the whole
  /// content of the other store. Anything that it alone had stays.
  /// - Parameters:
  ///   - other: the other store, which must have another file.
  ///   - onProgress: called from time to time with the fraction of the deltas that has been applied, 0 to 1; nil while
  ///     they are read.
  /// - Returns: the results on both sides; this store is the `first`.
  /// - Throws: `SyncError.sameStore` if both have the same file, even under different names; errors of reading and
  ///   applying deltas; `StoreError.damaged` if both stores are damaged.
  @discardableResult
  public func sync(with other: Store, onProgress: ((Double?) -> Void)? = nil) throws -> SyncReport {
    guard !isSame(as: other) else {
      throw SyncError(.sameStore, "\(file.map { "\($0) is" } ?? "these are") one store by two names")
    }
    for store in [self, other] { store.assets.finishRemovals() }
    var exchange = Exchange(self, other, onProgress)
    try exchange.run()
    try other.assets.give(to: assets)
    try assets.give(to: other.assets)
    return exchange.report
  }

  /// Syncs with another open store of this process, without blocking the task's thread. See the synchronous
  /// `sync(with:onProgress:)`.
  ///
  /// If the task is cancelled before the sync has begun, the call throws `CancellationError`; a sync that has begun
  /// runs to its end.
  /// - Parameters:
  ///   - other: the other store, which must have another file.
  ///   - onProgress: called on another thread with the fraction of the deltas that has been applied, 0 to 1; nil while
  ///     they are read.
  /// - Returns: the results on both sides; this store is the `first`.
  /// - Throws: the errors of the synchronous version; `CancellationError`.
  @discardableResult
  public func sync(with other: Store, onProgress: (@Sendable (Double?) -> Void)? = nil) async throws -> SyncReport {
    try await BlockingWork.run { [self] in try sync(with: other, onProgress: onProgress) }
  }
}

/// One sync of two stores.
private struct Exchange {
  private let first: Store
  private let second: Store
  private(set) var report = SyncReport()
  /// The number of times that it may begin again, because a store has found its damage: each can once.
  private var rest = 2
  private let onProgress: ((Double?) -> Void)?

  init(_ first: Store, _ second: Store, _ onProgress: ((Double?) -> Void)?) {
    (self.first, self.second, self.onProgress) = (first, second, onProgress)
  }

  mutating func run() throws {
    try healKnownDamage()
    let (a, b) = (try first.summary(), try second.summary())
    if a.vector != b.vector {
      do {
        try exchange(since: (a.vector, b.vector), isRepair: false, refusesMismatch: true)
      } catch let error as StoreError where error.code == .contentsDiffer {
        // Before anything is taken it must be known which one is damaged. If neither is, both may have met another copy
        // of a store.
        guard try first.fitsItsSum() && second.fitsItsSum() else { return try again(error) }
        let (a, b) = (try first.summary(), try second.summary())
        try exchange(since: (a.vector, b.vector), isRepair: false)
      } catch let error as StoreError where error.code == .damaged {
        // Found by reading everything; it is noted now, unless it cannot be.
        return try again(error)
      }
    }
    try exchangeAnswers()
    if try differs() {
      try repair()
      report.repaired = true
      try exchangeAnswers()
    }
    let (c, d) = (try first.summary(), try second.summary())
    report.isConverged = c.vector == d.vector && c.fingerprint == d.fingerprint
    try first.noteShared(d.vector)
    try second.noteShared(c.vector)
    report.newerChanges = c.vector.distance(beyond: d.vector) + d.vector.distance(beyond: c.vector)
    report.first.fingerprintMismatch = c.vector == d.vector && !report.isConverged
    report.second.fingerprintMismatch = report.first.fingerprintMismatch
  }

  /// Exchanges what the stores have written while they applied: values that a later life had not seen are said again,
  /// and triggers of the app's may answer. Triggers that answer each other's answers end nowhere.
  private mutating func exchangeAnswers() throws {
    for _ in 0..<Self.mostAnswers {
      let (a, b) = (try first.summary(), try second.summary())
      guard a.vector != b.vector else { return }
      try exchange(since: (a.vector, b.vector), isRepair: false)
    }
  }

  private static let mostAnswers = 3

  private mutating func again(_ error: any Error) throws {
    guard rest > 0 else { throw error }
    rest -= 1
    try run()
  }

  /// Whether both have seen the same and hold something else, or one would like to be told what it holds.
  private func differs() throws -> Bool {
    let (a, b) = (try first.summary(), try second.summary())
    guard a.vector == b.vector else { return false }
    let doubts = try [first, second].count { try $0.doubt() != nil }
    return a.fingerprint != b.fingerprint || doubts == 1
  }

  /// Lets a store that knows of its damage take everything from the other.
  private mutating func healKnownDamage() throws {
    if try first.checkDamage() {
      report.first += try move(from: second, to: first, since: StateVector(), isRepair: true)
    }
    if try second.checkDamage() {
      report.second += try move(from: first, to: second, since: StateVector(), isRepair: true)
    }
  }

  /// Exchanges everything. A store that finds its own damage meanwhile gives nothing.
  private mutating func repair() throws {
    do {
      try exchange(since: (StateVector(), StateVector()), isRepair: true)
    } catch let error as StoreError where error.code == .damaged {
      try healKnownDamage()
      guard try differs() else { return }
      try exchange(since: (StateVector(), StateVector()), isRepair: true)
    }
  }

  private mutating func exchange(
    since vectors: (StateVector, StateVector), isRepair: Bool, refusesMismatch: Bool = false
  ) throws {
    let toFirst = DeltaSpool()
    let toSecond = DeltaSpool()
    defer {
      toFirst.discard()
      toSecond.discard()
    }
    try second.writeDelta(since: vectors.0, to: told(toFirst))
    try first.writeDelta(since: vectors.1, to: told(toSecond))
    let total = toFirst.byteCount + toSecond.byteCount
    report.byteCount += total
    let forFirst = told(try toFirst.reader(), 0, of: total)
    let forSecond = told(try toSecond.reader(), toFirst.byteCount, of: total)
    report.first += try first.apply(from: forFirst, isRepair: isRepair, refusesMismatch: refusesMismatch)
    report.second += try second.apply(from: forSecond, isRepair: isRepair, refusesMismatch: refusesMismatch)
  }

  /// Takes a delta, and tells of it.
  private func told(_ spool: DeltaSpool) -> ([UInt8]) throws -> Void {
    { [onProgress] bytes in
      onProgress?(nil)
      try spool.append(bytes)
    }
  }

  /// Gives a delta, and tells how much of all is given.
  private func told(_ source: @escaping () throws -> [UInt8]?, _ done: Int, of total: Int) -> () throws -> [UInt8]? {
    var done = done
    return { [onProgress] in
      onProgress?(Double(done) / Double(max(total, 1)))
      let bytes = try source()
      done += bytes?.count ?? 0
      return bytes
    }
  }

  private mutating func move(from giver: Store, to taker: Store, since vector: StateVector, isRepair: Bool) throws
    -> ApplyResult
  {
    let spool = DeltaSpool()
    defer { spool.discard() }
    try giver.writeDelta(since: vector, to: told(spool))
    report.byteCount += spool.byteCount
    return try taker.apply(from: told(try spool.reader(), 0, of: spool.byteCount), isRepair: isRepair)
  }
}

extension Store {
  /// Whether the store knows that it is damaged, and so gives nothing away.
  package var isDamaged: Bool { get throws { try doubt()?.level == .damaged } }
}

extension ApplyResult {
  fileprivate static func += (sum: inout ApplyResult, next: ApplyResult) {
    sum.changes += next.changes
    sum.conflicts += next.conflicts
    sum.isHealed = sum.isHealed || next.isHealed
    sum.inDoubt += next.inDoubt
  }
}
