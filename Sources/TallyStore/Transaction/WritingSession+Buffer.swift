import TallyWire

// What outlives a transaction in memory.
extension WritingSession {
  /// The catalog, for code that keeps it after the SQLite transaction.
  var sharedCatalog: SharedCatalog {
    if let lastCatalog, lastCatalog.catalog.version == reader.catalog.version { return lastCatalog }
    let shared = SharedCatalog(reader.catalog)
    lastCatalog = shared
    return shared
  }

  /// Notes that a record has changed, other than by an edit that `edits` has been told of.
  func noteOtherChange(_ key: @autoclosure () -> RecordKey, _ kind: RecordKind) {
    edits?.forget(key(), kind)
  }

  /// Says that more has changed than is kept in memory.
  func giveUpChanges() {
    buffer?.giveUp()
    edits?.giveUp()
  }

  /// Gives away what the SQLite transaction has changed; nil if it is not all there.
  func takeBuffer() -> DeltaBuffer? {
    defer { buffer = nil }
    return buffer?.isComplete == true ? buffer : nil
  }

  /// Says what the transaction finds in the file.
  func beginEdits() { edits?.begin(facts.hasDoubt ? nil : content, reader.catalog.version) }

  /// Says that what the SQLite transaction has edited is committed.
  func commitEdits() {
    if leavesNewSchema { edits?.giveUp() }
    edits?.commit(content, reader.catalog.version)
  }

  private var content: EditLog.Content {
    EditLog.Content(vector: standing.vector, fingerprint: standing.fingerprint)
  }
}
