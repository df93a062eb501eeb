// What outlives a transaction in memory.
extension WritingSession {
  /// The catalog, for whoever keeps it after the SQLite transaction.
  var sharedCatalog: SharedCatalog {
    if let lastCatalog, lastCatalog.catalog.version == reader.catalog.version { return lastCatalog }
    let shared = SharedCatalog(reader.catalog)
    lastCatalog = shared
    return shared
  }

  /// Gives away what the SQLite transaction has changed; nil if it is not all there.
  func takeBuffer() -> DeltaBuffer? {
    defer { buffer = nil }
    return buffer?.isComplete == true ? buffer : nil
  }
}
