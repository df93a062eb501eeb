import GRDB

/// A store where GRDB asks for a writer: `DatabaseMigrator.migrate`, `DatabaseRegionObservation.start(in:)`, functions
/// of the app's over `some DatabaseWriter`.
///
/// ```swift
/// var migrator = DatabaseMigrator()
/// migrator.registerMigration("settings") { db in
///   try db.create(table: "setting") { $0.primaryKey("key", .text) }
/// }
/// try migrator.migrate(store)
/// ```
///
/// Whichever way a row of an entity is written, it is captured:
///
/// - by `store.write`, `store.commit` and `store.asyncWrite` in the same transaction. What cannot be replicated makes
///   it fail.
/// - by `writeWithoutTransaction`, its barrier and asynchronous versions, `unsafeReentrantWrite`, and `write` of code
///   that knows the store as `some DatabaseWriter`: when the access ends, in a transaction of the store's own; after a
///   crash in between, by the next one. The app has committed by then, so what cannot be replicated stays on this
///   device, as when another program writes it: `status().rejectedWrites`; and a delete that `onDelete: .deny` would
///   refuse has happened, with a warning in the log.
///
/// Several transactions of one access are captured as one, so that peers see them together. Such an access costs some
/// tenths of a millisecond more than `write`: the store reads its standing again afterwards.
///
/// Refused, with `StoreError.wouldReplaceStore`: what would put another database in the store's place. `erase()` says
/// so at once. Where code without the store's type gets through (`erase()` of `some DatabaseWriter`, a backup *into* a
/// store, a migrator with `eraseDatabaseOnSchemaChange`), what was there is put back before the access ends. The error
/// is thrown where the access may throw, and is in the log.
extension Store: DatabaseWriter {
  /// Runs statements outside of any transaction, or in transactions of their own, and returns what the body returns.
  ///
  /// The changes are captured when the access ends. A transaction that is left open ends the program, as in GRDB.
  /// - Throws: errors of the body; changes that it has committed before stay and are captured.
  @_disfavoredOverload  // In an asynchronous context the asynchronous version, as in GRDB.
  public func writeWithoutTransaction<T>(_ updates: (Database) throws -> T) rethrows -> T {
    do { return try writer.writeWithoutTransaction { try direct($0, updates).value } } catch { throw explain(error) }
  }

  /// Runs statements outside of any transaction, without blocking the caller's thread, and returns what the body
  /// returns. See the synchronous version.
  /// - Throws: errors of the body; `StoreError.closed`, `.wouldReplaceStore`.
  public func writeWithoutTransaction<T: Sendable>(_ updates: @Sendable (Database) throws -> T) async throws -> T {
    do { return try await usable.writeWithoutTransaction { try strictly($0, updates) } } catch { throw explain(error) }
  }

  /// Runs statements outside of any transaction while nothing reads through this store, and returns the body's result.
  /// - Throws: errors of the body; `StoreError.closed`, `.wouldReplaceStore`.
  @_disfavoredOverload  // In an asynchronous context the asynchronous version, as in GRDB.
  public func barrierWriteWithoutTransaction<T>(_ updates: (Database) throws -> T) throws -> T {
    do { return try usable.barrierWriteWithoutTransaction { try strictly($0, updates) } } catch { throw explain(error) }
  }

  /// Runs statements outside of any transaction while nothing reads through this store, without blocking the caller's
  /// thread, and returns what the body returns. See the synchronous version.
  public func barrierWriteWithoutTransaction<T: Sendable>(
    _ updates: @Sendable (Database) throws -> T
  ) async throws -> T {
    do {
      return try await usable.barrierWriteWithoutTransaction { try strictly($0, updates) }
    } catch {
      throw explain(error)
    }
  }

  /// Schedules statements outside of any transaction while nothing reads through this store, and returns at once.
  /// - Parameter updates: receives the database, or an error instead: `StoreError.closed` after `close()`.
  public func asyncBarrierWriteWithoutTransaction(
    _ updates: @escaping @Sendable (Result<Database, any Error>) -> Void
  ) {
    guard let writer = try? usable else { return updates(.failure(Self.closed)) }
    writer.asyncBarrierWriteWithoutTransaction { [self] result in
      switch result {
      case .success(let db): _ = direct(db) { updates(.success($0)) }
      case .failure(let error): updates(.failure(explain(error)))
      }
    }
  }

  /// Schedules statements to run outside of any transaction, after earlier requests, and returns at once.
  public func asyncWriteWithoutTransaction(_ updates: @escaping @Sendable (Database) -> Void) {
    writer.asyncWriteWithoutTransaction { [self] in _ = direct($0, updates) }
  }

  /// Schedules a write in one transaction, like `write`, and returns at once.
  /// - Parameters:
  ///   - updates: runs in the transaction.
  ///   - completion: runs after the transaction, on the same queue, with the result of the body, or with the error
  ///     because of which nothing has changed.
  public func asyncWrite<T>(
    _ updates: @escaping @Sendable (Database) throws -> T,
    completion: @escaping @Sendable (Database, Result<T, any Error>) -> Void
  ) {
    writer.asyncWriteWithoutTransaction { [self] db in
      let result = Result { try commit(on: db, updates).value }
      // What this writes is a transaction of its own.
      _ = direct(db) { completion($0, result) }
    }
  }

  /// Runs statements, even from inside a write of this store, and returns what the body returns. Inside a write they
  /// are part of it; elsewhere this is `writeWithoutTransaction`.
  /// - Throws: errors of the body.
  public func unsafeReentrantWrite<T>(_ updates: (Database) throws -> T) rethrows -> T {
    do { return try writer.unsafeReentrantWrite { try direct($0, updates).value } } catch { throw explain(error) }
  }

  /// Reads the state after the last transaction while later ones proceed. Call it on the writing queue, not in a
  /// transaction.
  /// - Parameter value: receives the database, or an error instead.
  public func spawnConcurrentRead(_ value: @escaping @Sendable (Result<Database, any Error>) -> Void) {
    writer.spawnConcurrentRead { [self] in value($0.mapError(explain)) }
  }

  /// Refuses to erase the database: a store that is emptied without its own knowledge would consider its records lost
  /// and could not tell its peers. Delete records to delete them everywhere; close the store and remove its file to
  /// start over here.
  /// - Throws: always `StoreError.wouldReplaceStore`. Nothing has changed.
  public func erase() throws { throw Self.eraseRefusal }

  /// Refuses to erase the database, like the synchronous version.
  public func erase() async throws { throw Self.eraseRefusal }

  private static var eraseRefusal: StoreError {
    StoreError(
      .wouldReplaceStore,
      "a store cannot be erased: delete its records, or close it and remove its file to start over on this device")
  }

  /// Copies the write-ahead log into the file, which also happens automatically.
  /// - Returns: the number of frames in the log, and the number of them that are now in the file.
  /// - Throws: `DatabaseError` with SQLITE_BUSY or SQLITE_LOCKED if others are using the file.
  @discardableResult
  public func checkpoint(_ kind: Database.CheckpointMode = .passive) throws -> (
    walFrameCount: Int, checkpointedFrameCount: Int
  ) {
    do { return try usable.writeWithoutTransaction { try $0.checkpoint(kind) } } catch { throw explain(error) }
  }
}
