import TallyCRDT
import TallyWire

/// The state of a file after a transaction of this store, for as long as nobody else commits to it.
struct LatestCommit: Sendable {
  let summary: StoreSummary
  /// Where the file was then; nil if that is not known, as without a write-ahead log.
  let position: LogPosition?
  let catalog: SharedCatalog
  /// The changes of the transaction, if they are few.
  let buffer: DeltaBuffer?
}

/// A catalog that several commits have in common: to copy one costs as much as a small statement.
final class SharedCatalog: Sendable {
  let catalog: Catalog
  init(_ catalog: Catalog) { self.catalog = catalog }
}

extension Store {
  /// Where the file is now; nil if nobody can tell without reading.
  var position: LogPosition? {
    #if PlantedFaults
      // Most faults are in what reads the file.
      guard options.planted.isEmpty else { return nil }
    #endif
    return snapshots?.position()
  }

  /// Takes notice of a transaction that has just been committed.
  func noteLatest<T>(_ commit: Commit<T>) {
    // Before it nobody could commit but the transaction itself, so that one commit further nobody else has.
    let position = commit.isChanged ? self.position.flatMap { now in commit.before.map { (now, $0) } } : nil
    let isKnown = position.map { $0.0.isNext(after: $0.1) } ?? false
    latest.withLock {
      $0 = LatestCommit(
        summary: commit.summary, position: isKnown ? position?.0 : nil, catalog: commit.catalog, buffer: commit.buffer)
    }
  }

  /// What the app has edited lately, for who reads a snapshot that holds this; nil if it is not known.
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
    let header = DeltaHeader(base: base, target: latest.summary.vector, fingerprint: latest.summary.fingerprint)
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
