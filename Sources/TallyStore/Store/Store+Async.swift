import TallyCRDT

/// The same for tasks: none of these blocks the thread that a task runs on, such as the main actor's.
///
/// ```swift
/// for conflict in try await store.conflicts() { try await store.dismiss(conflict) }
/// ```
///
/// Each does what the version without `await` does and throws what it throws. A task that is cancelled before the work
/// has begun throws `CancellationError`, and nothing has changed; work that has begun comes to its end.
extension Store {
  /// Brings a deleted record back, complete, without blocking the task's thread. See the synchronous `restore(_:)`.
  ///
  /// ```swift
  /// try await store.restore(chess.name)
  /// ```
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `CancellationError` if the task was cancelled before the work
  ///   began. Nothing has changed then.
  @discardableResult
  public func restore(_ name: AnyRecordName) async throws -> Dot? {
    try await BlockingWork.run { [self] in try restore(name) }
  }

  /// Brings a deleted record back, complete, without blocking the task's thread. See the synchronous `restore(_:)`.
  ///
  /// ```swift
  /// try await store.restore(chess)
  /// ```
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `CancellationError` if the task was cancelled before the work
  ///   began.
  @discardableResult
  public func restore<Record>(_ name: RecordName<Record>) async throws -> Dot? { try await restore(name.name) }

  /// Makes what lost a conflict count after all, without blocking the task's thread. See the synchronous `restore(_:)`
  /// of a conflict.
  /// - Returns: the dot of the new edit; nil if nothing had to be written.
  /// - Throws: what the synchronous version throws, and `CancellationError` if the task was cancelled before the work
  ///   began. Nothing has changed then.
  @discardableResult
  public func restore(_ conflict: Conflict) async throws -> Dot? {
    try await BlockingWork.run { [self] in try restore(conflict) }
  }

  /// Decides a conflict with another value, without blocking the task's thread. See the synchronous
  /// `resolve(_:with:)`.
  /// - Returns: the dot of the new edit; nil if the field has the value already.
  /// - Throws: what the synchronous version throws, and `CancellationError` if the task was cancelled before the work
  ///   began. Nothing has changed then.
  @discardableResult
  public func resolve(_ conflict: Conflict, with value: Value) async throws -> Dot? {
    try await BlockingWork.run { [self] in try resolve(conflict, with: value) }
  }

  /// Takes an entry out of this device's journal, without blocking the task's thread, and leaves what won.
  ///
  /// Nothing happens if the entry is not there. See the synchronous `dismiss(_:)`.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`; `CancellationError` if the task was cancelled before.
  public func dismiss(_ conflict: Conflict) async throws {
    try await BlockingWork.run { [self] in try dismiss(conflict) }
  }

  /// Reads the conflict journal, newest first, without blocking the task's thread. See the synchronous
  /// `conflicts(limit:)`, which says what is listed.
  /// - Parameter limit: the most entries to read.
  /// - Returns: the entries.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`; `CancellationError` if the task was cancelled before.
  public func conflicts(limit: Int = 100) async throws -> [Conflict] {
    try await BlockingWork.run { [self] in try conflicts(limit: limit) }
  }

  /// Reads who wrote a record and when, without blocking the task's thread. See the synchronous `history(of:)`.
  /// - Returns: the history, also of a deleted record; nil if nothing is known of the name.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`; `CancellationError` if the task was cancelled before.
  public func history(of name: AnyRecordName) async throws -> RecordHistory? {
    try await BlockingWork.run { [self] in try history(of: name) }
  }

  /// Counts records, conflicts and what is set aside, without blocking the task's thread. See the synchronous
  /// `status()`.
  ///
  /// Cost: reads every table's index, so some milliseconds for 100,000 records.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`; `CancellationError` if the task was cancelled before.
  public func status() async throws -> StoreStatus { try await BlockingWork.run { [self] in try status() } }

  /// Checks the file against itself, without blocking the task's thread. See the synchronous `verify(onProgress:)`.
  /// - Parameter onProgress: called on another thread, with the number of records and links that have been looked at.
  /// - Returns: the contradictions that were found, if any.
  /// - Throws: what the synchronous version throws; `CancellationError` if the task was cancelled before the work
  ///   began.
  public func verify(onProgress: (@Sendable (Int) -> Void)? = nil) async throws -> VerifyReport {
    try await BlockingWork.run { [self] in try verify(onProgress: onProgress) }
  }

  /// Brings a seed set into the store, without blocking the task's thread: at every launch. See the synchronous
  /// `seed(_:)`.
  /// - Returns: what was new.
  /// - Throws: what the synchronous version throws, and `CancellationError` if the task was cancelled before the work
  ///   began. Nothing has changed then.
  @discardableResult
  public func seed(_ set: SeedSet) async throws -> SeedReport {
    try await BlockingWork.run { [self] in try seed(set) }
  }
}
