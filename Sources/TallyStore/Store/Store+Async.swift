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
  private func awaiting<T: Sendable>(_ body: @escaping @Sendable (Store) throws -> T) async throws -> T {
    try await BlockingWork.run { [self] in try body(self) }
  }

  /// Restores a deleted record completely, without blocking the task's thread. See the synchronous `restore(_:)`.
  ///
  /// ```swift
  /// try await store.restore(chess.name)
  /// ```
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `CancellationError` if the task was cancelled before the work
  ///   began. Then nothing has changed.
  @discardableResult
  public func restore(_ name: AnyRecordName) async throws -> Dot? { try await awaiting { try $0.restore(name) } }

  /// Restores a deleted record, without blocking the task's thread, and returns the dot. See `restore(_:)` for any
  /// name.
  @discardableResult
  public func restore<Record>(_ name: RecordName<Record>) async throws -> Dot? { try await restore(name.name) }

  /// Applies the losing change of a conflict after all, without blocking the task's thread. See the synchronous
  /// `restore(_:)` for a conflict.
  /// - Returns: the dot of the new edit; nil if nothing had to be written.
  /// - Throws: errors of the synchronous version; `CancellationError` if cancelled before the work began. Then nothing
  ///   has changed.
  @discardableResult
  public func restore(_ conflict: Conflict) async throws -> Dot? { try await awaiting { try $0.restore(conflict) } }

  /// Resolves a conflict with another value, not blocking the task's thread. See the synchronous `resolve(_:with:)`.
  /// - Returns: the dot of the new edit; nil if the field has the value already.
  /// - Throws: errors of the synchronous version; `CancellationError` if cancelled before the work began. Then nothing
  ///   has changed.
  @discardableResult
  public func resolve(_ conflict: Conflict, with value: Value) async throws -> Dot? {
    try await awaiting { try $0.resolve(conflict, with: value) }
  }

  /// Removes an entry from this device's journal, without blocking the task's thread, and keeps the value that won. See
  /// the synchronous `dismiss(_:)`.
  public func dismiss(_ conflict: Conflict) async throws { try await awaiting { try $0.dismiss(conflict) } }

  /// Returns the entries of the conflict journal, newest first, without blocking the task's thread. The synchronous
  /// `conflicts(limit:)` describes which conflicts are listed.
  public func conflicts(limit: Int = 100) async throws -> [Conflict] {
    try await awaiting { try $0.conflicts(limit: limit) }
  }

  /// Returns who wrote a record and when, without blocking the task's thread. See the synchronous `history(of:)`.
  /// - Returns: the history, even of a deleted record; nil if nothing is known of the name.
  public func history(of name: AnyRecordName) async throws -> RecordHistory? {
    try await awaiting { try $0.history(of: name) }
  }

  /// Returns the store's status, with the numbers of records and conflicts and the rows that are set aside, without
  /// blocking the task's thread. See the synchronous `status()`.
  public func status() async throws -> StoreStatus { try await awaiting { try $0.status() } }

  /// Checks the file against itself, without blocking the task's thread. See the synchronous `verify(onProgress:)`.
  /// - Parameter onProgress: called on another thread with the number of records and links that have been checked.
  /// - Returns: the contradictions that were found, if any.
  /// - Throws: errors of the synchronous version; `CancellationError` if cancelled before the work began.
  public func verify(onProgress: (@Sendable (Int) -> Void)? = nil) async throws -> VerifyReport {
    try await awaiting { try $0.verify(onProgress: onProgress) }
  }

  /// Applies a seed set to the store, without blocking the task's thread. Call it at every launch. See the synchronous
  /// `seed(_:)`.
  /// - Returns: whether the version was new, and which records gave way to seeds.
  /// - Throws: errors of the synchronous version; `CancellationError` if cancelled before the work began. Then nothing
  ///   has changed.
  @discardableResult
  public func seed(_ set: SeedSet) async throws -> SeedReport { try await awaiting { try $0.seed(set) } }
}
