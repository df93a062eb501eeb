import TallyCRDT
import TallyWire

/// The result of a commit for the store's own use. A class, so that passing it on copies one reference.
final class CommitOutcome: Sendable {
  /// The state of the store with this transaction, and without any later one.
  let summary: StoreSummary
  /// Whether others should hear of it.
  let isChanged: Bool
  /// Whether another store has committed to the same file since the last transaction.
  let hasForeignCommits: Bool
  /// Where the file was when the transaction had it to itself, and had not written; nil if that is not known.
  let before: LogPosition?
  let catalog: SharedCatalog
  /// The changes of the transaction, if they are few and a peer may want them.
  let buffer: DeltaBuffer?

  init(of session: WritingSession, before: LogPosition?) {
    (summary, isChanged, catalog) = (session.summary, session.isChanged, session.sharedCatalog)
    hasForeignCommits = session.hasForeignCommits
    self.before = session.leavesNewSchema ? nil : before
    buffer = session.takeBuffer()
  }
}

/// The state of a file after a transaction of this store, for as long as no other connection commits to it.
struct LatestCommit: Sendable {
  let outcome: CommitOutcome
  /// Where the file was then; nil if that is not known, as without a write-ahead log.
  let position: LogPosition?

  var summary: StoreSummary { outcome.summary }
  var buffer: DeltaBuffer? { outcome.buffer }
}

/// A catalog that several commits have in common: to copy one costs as much as a small statement.
final class SharedCatalog: Sendable {
  let catalog: Catalog
  init(_ catalog: Catalog) { self.catalog = catalog }
}

extension Store {
  /// Where the file is now; nil if that takes reading.
  var position: LogPosition? {
    #if PlantedFaults
      // Most faults are in what reads the file.
      guard options.planted.isEmpty else { return nil }
    #endif
    return snapshots?.position()
  }

  /// Takes notice of a transaction that has just been committed.
  func noteLatest(_ outcome: CommitOutcome) {
    // Before it only the transaction itself could commit, so that one commit further no other has.
    let position = outcome.isChanged ? position : nil
    let isKnown = outcome.before.map { position?.isNext(after: $0) ?? false } ?? false
    latest.withLock { $0 = LatestCommit(outcome: outcome, position: isKnown ? position : nil) }
  }

  /// The app's recent edits, for a reader whose snapshot has this vector and fingerprint; nil if they were recorded for
  /// other content.
  func edits(_ reader: StateReader, _ vector: StateVector, _ fingerprint: Fingerprint) -> EditLog? {
    recent.edits(of: EditLog.Content(vector: vector, fingerprint: fingerprint), reader.catalog.version)
  }

  /// The state after this store's last transaction, if the file is still in it: then there is nothing to capture and
  /// nothing to read.
  var unchanged: LatestCommit? {
    guard let position else { return nil }
    let known = latest.withLock { $0?.position == position ? $0 : nil }
    #if PlantedFaults
      if let known { check(known) }
    #endif
    return known
  }

  /// The header and the blocks of what `base` does not cover, where they are in memory.
  func buffered(since base: StateVector) -> (header: DeltaHeader, latest: LatestCommit, buffer: DeltaBuffer)? {
    guard let latest = unchanged, let buffer = latest.buffer, base.covers(buffer.before) else { return nil }
    let header = DeltaHeader(
      base: base, target: latest.summary.vector, fingerprint: latest.summary.fingerprint,
      version: latest.outcome.catalog.catalog.marks.wireVersion)
    #if PlantedFaults
      check(buffer, latest, header)
    #endif
    return (header, latest, buffer)
  }

  /// Sees to it that what a delta out of memory tells is on the disk.
  func makeDurable(_ summary: StoreSummary) throws {
    let own = summary.replica.map { Dot(replica: $0, sequence: summary.vector[$0]) }
    try makeDurable(own) { try snapshots?.syncLog() }
  }
}
