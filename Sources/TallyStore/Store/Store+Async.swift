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
  /// Brings a deleted record back, without blocking the task's thread. See the synchronous `restore(_:)`.
  @discardableResult
  public func restore(_ name: AnyRecordName) async throws -> Dot? {
    try await BlockingWork.run { [self] in try restore(name) }
  }

  /// Brings a deleted record back, without blocking the task's thread. See the synchronous `restore(_:)`.
  @discardableResult
  public func restore<Record>(_ name: RecordName<Record>) async throws -> Dot? { try await restore(name.name) }

  /// Writes the value that lost back, without blocking the task's thread. See the synchronous `restore(_:)`.
  @discardableResult
  public func restore(_ conflict: Conflict) async throws -> Dot? {
    try await BlockingWork.run { [self] in try restore(conflict) }
  }

  /// Decides a conflict, without blocking the task's thread. See the synchronous `resolve(_:with:)`.
  @discardableResult
  public func resolve(_ conflict: Conflict, with value: Value) async throws -> Dot? {
    try await BlockingWork.run { [self] in try resolve(conflict, with: value) }
  }

  /// Takes an entry out of the journal, without blocking the task's thread. See the synchronous `dismiss(_:)`.
  public func dismiss(_ conflict: Conflict) async throws {
    try await BlockingWork.run { [self] in try dismiss(conflict) }
  }

  /// Reads the conflict journal, without blocking the task's thread. See the synchronous `conflicts(limit:)`.
  public func conflicts(limit: Int = 100) async throws -> [Conflict] {
    try await BlockingWork.run { [self] in try conflicts(limit: limit) }
  }

  /// Tells who wrote a record and when, without blocking the task's thread. See the synchronous `history(of:)`.
  public func history(of name: AnyRecordName) async throws -> RecordHistory? {
    try await BlockingWork.run { [self] in try history(of: name) }
  }

  /// Counts what is there, without blocking the task's thread. See the synchronous `status()`.
  public func status() async throws -> StoreStatus { try await BlockingWork.run { [self] in try status() } }

  /// Checks the file against itself, without blocking the task's thread. See the synchronous `verify(onProgress:)`.
  /// - Parameter onProgress: called on another thread, with the number of records and links that have been looked at.
  /// - Returns: the contradictions that were found, if any.
  /// - Throws: what the synchronous version throws; `CancellationError` if the task was cancelled before the work
  ///   began.
  public func verify(onProgress: (@Sendable (Int) -> Void)? = nil) async throws -> VerifyReport {
    try await BlockingWork.run { [self] in try verify(onProgress: onProgress) }
  }

  /// Brings a seed set into the store, without blocking the task's thread. See the synchronous `seed(_:)`.
  @discardableResult
  public func seed(_ set: SeedSet) async throws -> SeedReport {
    try await BlockingWork.run { [self] in try seed(set) }
  }
}
