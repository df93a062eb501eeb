import GRDB

/// A store where GRDB asks for a reader: `ValueObservation.start(in:)`, `Query.fetchAll`, publishers, backups out of
/// it.
///
/// ```swift
/// let count = ValueObservation.tracking { db in try Game.fetchCount(db) }
/// for try await games in count.values(in: store) { print(games) }
/// ```
///
/// No read can write, also where GRDB would let it: `unsafeRead` of a store in memory, and an observation with
/// `requiresWriteAccess`, fail with SQLITE_READONLY when they try, since what they write would not be captured.
extension Store: DatabaseReader {
  /// The file's path; `:memory:` for a store in memory.
  public var path: String { writer.path }

  /// The configuration of this store's GRDB connections.
  public var configuration: Configuration { writer.configuration }

  /// Interrupts everything that the app's connections are doing, which then fails with SQLITE_INTERRUPT. It may be
  /// called at any time from any thread.
  ///
  /// An interrupted transaction leaves nothing behind. Changes that a `writeWithoutTransaction` has committed before
  /// stay, and are captured with the next transaction at the latest.
  public func interrupt() { writer.interrupt() }

  /// Starts a read in one snapshot, on one of GRDB's queues, and returns at once.
  /// - Parameter value: receives the database, or an error instead: `StoreError.closed` after `close()`.
  public func asyncRead(_ value: @escaping @Sendable (Result<Database, any Error>) -> Void) {
    guard let writer = try? usable else { return value(.failure(Self.closed)) }
    writer.asyncRead { [self] in value($0.mapError(explain)) }
  }

  /// Reads without the isolation of one snapshot: two fetches may see different transactions. Returns the body's
  /// result.
  /// - Throws: errors of the body; `StoreError.closed`; `DatabaseError` with SQLITE_READONLY if it tries to write.
  @_disfavoredOverload  // In an asynchronous context the asynchronous version, as in GRDB.
  public func unsafeRead<T>(_ value: (Database) throws -> T) throws -> T {
    do { return try usable.unsafeRead { db in try db.readOnly { try value(db) } } } catch { throw explain(error) }
  }

  /// Reads without the isolation of one snapshot and without blocking the caller's thread, and returns what the body
  /// returns. See the synchronous version.
  public func unsafeRead<T: Sendable>(_ value: @Sendable (Database) throws -> T) async throws -> T {
    do { return try await usable.unsafeRead { db in try db.readOnly { try value(db) } } } catch { throw explain(error) }
  }

  /// Starts a read without the isolation of one snapshot, on one of GRDB's queues, and returns at once.
  /// - Parameter value: receives the database, or an error instead.
  public func asyncUnsafeRead(_ value: @escaping @Sendable (Result<Database, any Error>) -> Void) {
    guard let writer = try? usable else { return value(.failure(Self.closed)) }
    writer.asyncUnsafeRead { [self] result in
      switch result {
      case .failure(let error): value(.failure(explain(error)))
      case .success(let db):
        do {
          try db.readOnly { value(.success(db)) }
        } catch {
          // It has been called already: this is the end of the read that could not be marked.
          options.logger.error("a read could not be ended", metadata: ["error": "\(error)"])
        }
      }
    }
  }

  /// Reads without isolation, even from inside a read or a write of this store. Returns what the body returns.
  /// - Throws: errors of the body; `StoreError.closed`; `DatabaseError` with SQLITE_READONLY if it tries to write.
  public func unsafeReentrantRead<T>(_ value: (Database) throws -> T) throws -> T {
    do {
      return try usable.unsafeReentrantRead { db in try db.readOnly { try value(db) } }
    } catch {
      throw explain(error)
    }
  }

  /// Starts an observation for GRDB; apps call `ValueObservation.start(in:)`.
  public func _add<Reducer: ValueReducer>(
    observation: ValueObservation<Reducer>, scheduling scheduler: some ValueObservationScheduler,
    onChange: @escaping @Sendable (Reducer.Value) -> Void
  ) -> AnyDatabaseCancellable {
    var reading = observation
    // It would write on the writing connection without anybody to capture it.
    reading.requiresWriteAccess = false
    if (try? usable) == nil, let nothing = try? DatabaseQueue() {
      // GRDB would use the connection that is gone. In a database without tables the query fails.
      return nothing._add(observation: reading, scheduling: scheduler, onChange: onChange)
    }
    return writer._add(observation: reading, scheduling: scheduler, onChange: onChange)
  }

  /// Returns a snapshot of the database as it is now, which later writes do not change.
  ///
  /// ```swift
  /// let snapshot = try store.makeSnapshot()
  /// let count = try snapshot.read { db in try Game.fetchCount(db) }
  /// ```
  ///
  /// While the snapshot exists, the write-ahead log keeps what it shows, so the log grows.
  /// - Throws: `StoreError.inMemory` for a store in memory; GRDB's `DatabaseError`.
  public func makeSnapshot() throws -> DatabaseSnapshot {
    guard let file else { throw StoreError(.inMemory, "a store in memory has no snapshots: it has one connection") }
    do {
      if let pool = writer as? DatabasePool { return try pool.makeSnapshot() }
      return try DatabasePool(path: file, configuration: writer.configuration).makeSnapshot()
    } catch {
      throw explain(error)
    }
  }
}
