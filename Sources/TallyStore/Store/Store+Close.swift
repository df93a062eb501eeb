import GRDB

/// The end of a store.
extension Store {
  /// Closes the file: all of its connections, so that the store cannot be used afterwards.
  ///
  /// ```swift
  /// await engine.pause()
  /// try store.close()
  /// ```
  ///
  /// It waits for reads and writes under way, so never call it inside one. Later ones throw `StoreError.closed`, as do
  /// sequences of ``values(_:)``; those of ``events()`` end. Everything is in the file itself then, and the write-ahead
  /// log beside it is gone or empty, unless another process or another `Store` has the file open: the last one to close
  /// sees to it. A store that is released is closed as well. Closing a closed store does nothing.
  /// - Throws: `DatabaseError` with SQLITE_BUSY if it is in use, as by a sync or ``verify(onProgress:)``; it stays
  ///   open.
  public func close() throws {
    try closing.withLock { _ in
      // What begins from now on is refused, and what GRDB refuses is explained: both before the connection goes.
      guard !isClosed.exchange(true, ordering: .relaxed) else { return }
      do {
        try snapshots?.close()
        try closeWriter()
      } catch {
        snapshots?.reopen()
        isClosed.store(false, ordering: .relaxed)
        throw error
      }
      eventFollowers.finish()
      valueFollowers.finish(throwing: Self.closed)
    }
  }

  private func closeWriter() throws {
    if let pool = writer as? DatabasePool {
      // A connection that only reads cannot write the log back, and as the last one to go it would leave it behind.
      pool.invalidateReadOnlyConnections()
      try pool.writeWithoutTransaction { db in
        box.session = nil
        try StoreFile.checkpoint(db)
      }
    } else {
      writer.writeWithoutTransaction { _ in box.session = nil }
    }
    try writer.close()
  }

  /// Closes the store once the body has done what needs a file to which nobody writes, of this process or another.
  ///
  /// Writes wait for the body, and throw `StoreError.closed` after it. The body may read by another `Store` of the
  /// file. If it throws, the store is open as before. Reads that are under way come to their end, and keep their
  /// connections for as long as the store is not released.
  /// - Throws: what the body throws; `StoreError.closed`; `DatabaseError` with SQLITE_BUSY if another process writes
  ///   for too long.
  package func close(after body: () throws -> Void) throws {
    try closing.withLock { _ in
      let writer = try usable
      do {
        try writer.writeWithoutTransaction { db in
          try db.inTransaction(.immediate) {
            try body()
            // Nothing that waits for its turn gets further than this.
            isClosed.store(true, ordering: .relaxed)
            db.add(transactionObserver: ClosedGuard(), extent: .databaseLifetime)
            box.session = nil
            return .rollback
          }
        }
        try snapshots?.close()
        try closeWriter()
      } catch {
        guard isClosed.load(ordering: .relaxed) else { throw explain(error) }
        options.logger.warning("a closed store is still in use", metadata: ["error": "\(error)"])
      }
      eventFollowers.finish()
      valueFollowers.finish(throwing: Self.closed)
    }
  }
}
