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

  /// Brings a deleted record back, complete, without blocking the task's thread. See the synchronous `restore(_:)`.
  ///
  /// ```swift
  /// try await store.restore(chess.name)
  /// ```
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `CancellationError` if the task was cancelled before the work
  ///   began. Nothing has changed then.
  @discardableResult
  public func restore(_ name: AnyRecordName) async throws -> Dot? { try await awaiting { try $0.restore(name) } }

  /// Brings a deleted record back, complete, without blocking the task's thread. See `restore(_:)` of any name.
  @discardableResult
  public func restore<Record>(_ name: RecordName<Record>) async throws -> Dot? { try await restore(name.name) }

  /// Makes what lost a conflict count after all, without blocking the task's thread. See the synchronous `restore(_:)`
  /// of a conflict.
  /// - Returns: the dot of the new edit; nil if nothing had to be written.
  /// - Throws: as that does; `CancellationError` if the task was cancelled before the work began. Nothing has changed
  ///   then.
  @discardableResult
  public func restore(_ conflict: Conflict) async throws -> Dot? { try await awaiting { try $0.restore(conflict) } }

  /// Decides a conflict with another value, without blocking the task's thread. See the synchronous
  /// `resolve(_:with:)`.
  /// - Returns: the dot of the new edit; nil if the field has the value already.
  /// - Throws: as that does; `CancellationError` if the task was cancelled before the work began. Nothing has changed
  ///   then.
  @discardableResult
  public func resolve(_ conflict: Conflict, with value: Value) async throws -> Dot? {
    try await awaiting { try $0.resolve(conflict, with: value) }
  }

  /// Takes an entry out of this device's journal, without blocking the task's thread, and leaves what won. See the
  /// synchronous `dismiss(_:)`.
  public func dismiss(_ conflict: Conflict) async throws { try await awaiting { try $0.dismiss(conflict) } }

  /// Reads the conflict journal, newest first, without blocking the task's thread. See the synchronous
  /// `conflicts(limit:)`, which says what is listed.
  public func conflicts(limit: Int = 100) async throws -> [Conflict] {
    try await awaiting { try $0.conflicts(limit: limit) }
  }

  /// Reads who wrote a record and when, without blocking the task's thread. See the synchronous `history(of:)`.
  /// - Returns: the history, also of a deleted record; nil if nothing is known of the name.
  public func history(of name: AnyRecordName) async throws -> RecordHistory? {
    try await awaiting { try $0.history(of: name) }
  }

  /// Counts records, conflicts and what is set aside, without blocking the task's thread. See the synchronous
  /// `status()`.
  public func status() async throws -> StoreStatus { try await awaiting { try $0.status() } }

  /// Checks the file against itself, without blocking the task's thread. See the synchronous `verify(onProgress:)`.
  /// - Parameter onProgress: called on another thread, with the number of records and links that have been looked at.
  /// - Returns: the contradictions that were found, if any.
  /// - Throws: as that does; `CancellationError` if the task was cancelled before the work began.
  public func verify(onProgress: (@Sendable (Int) -> Void)? = nil) async throws -> VerifyReport {
    try await awaiting { try $0.verify(onProgress: onProgress) }
  }

  /// Brings a seed set into the store, without blocking the task's thread: at every launch. See the synchronous
  /// `seed(_:)`.
  /// - Returns: what was new.
  /// - Throws: as that does; `CancellationError` if the task was cancelled before the work began. Nothing has changed
  ///   then.
  @discardableResult
  public func seed(_ set: SeedSet) async throws -> SeedReport { try await awaiting { try $0.seed(set) } }
}
