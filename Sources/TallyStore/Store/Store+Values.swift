import GRDB
import Observation

extension Store {
  /// Observes a query. The sequence provides its result now, and again after each commit of this process (a write of
  /// the app or a merge) that changed what it reads.
  ///
  /// ```swift
  /// for try await games in store.values({ try Game.order(Column("name")).fetchAll($0) }) { print(games.count) }
  /// ```
  ///
  /// A merge is one transaction, so a list never shows half of one. If changes come faster than they are read, only the
  /// newest value is provided. The iteration ends with its task. Writes of another process to the file appear after
  /// this process's next write or `captureChanges()`, which an engine calls once a second. A read-only store
  /// (``StoreOptions/isReadOnly``) provides only the current value: read again when you need it.
  /// - Parameter fetch: reads the value. The tables that it reads are determined as it runs: it may be called again on
  ///   any thread, and must depend on nothing but the database.
  /// - Returns: a sequence that ends with the query's error, or with `StoreError.closed` once the store is closed.
  public func values<Value: Sendable>(_ fetch: @escaping @Sendable (Database) throws -> Value)
    -> StoreValues<Value>
  {
    StoreValues(.tracking(whileOpen(fetch)), in: self)
  }

  /// Observes a query whose values can be compared. The sequence provides its result now and after each commit that
  /// changes it.
  ///
  /// ```swift
  /// for try await count in store.values({ db in try Game.fetchCount(db) }) { print(count) }
  /// ```
  ///
  /// A value that equals the previous one is not provided again. Otherwise it is like the form for other values.
  /// - Parameter fetch: reads the value, again after each commit that may have changed it.
  /// - Returns: a sequence that ends with the query's error, or with `StoreError.closed` once the store is closed.
  public func values<Value: Sendable & Equatable>(_ fetch: @escaping @Sendable (Database) throws -> Value)
    -> StoreValues<Value>
  {
    StoreValues(ValueObservation.tracking(whileOpen(fetch)).removeDuplicates(), in: self)
  }

  /// The query, for as long as the store is open; then `StoreError.closed`.
  private func whileOpen<Value>(
    _ fetch: @escaping @Sendable (Database) throws -> Value
  ) -> @Sendable (Database) throws -> Value {
    { [weak self] db in
      if let self { _ = try usable }
      return try fetch(db)
    }
  }
}

/// An observed query for a view, which follows the store on the main actor until it is released.
///
/// ```swift
/// @MainActor final class GameList {
///   let games: Observed<[Game]>
///
///   init(_ store: Store) {
///     games = Observed([], in: store) { try Game.order(Column("name")).fetchAll($0) }
///   }
///
///   var title: String { games.isLoading ? "…" : "\(games.value.count) games" }
/// }
/// ```
///
/// SwiftUI observes it like any `@Observable` object. If the query fails, `error` contains the error, the last value
/// stays, and no more values follow.
@MainActor @Observable public final class Observed<Value: Sendable> {
  /// The newest value; while `isLoading`, the initial one.
  public private(set) var value: Value
  /// The error with which the query has failed; nil as long as it works.
  public private(set) var error: (any Error)?
  /// Whether the query has not returned a value yet.
  public private(set) var isLoading = true
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Creates an object that follows a query until it is released: `value` is updated now, and after each commit of the
  /// app or of a sync that touches what the query reads.
  ///
  /// - Parameters:
  ///   - value: the value until the query has returned one.
  ///   - store: the store to follow, which is retained meanwhile.
  ///   - fetch: the query, which runs on a thread of the database. If it throws, the error is in `error`, and no more
  ///     values follow.
  public init(_ value: Value, in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) {
    self.value = value
    follow(store.values(fetch))
  }

  /// Creates an object that follows a query whose values can be compared: an equal value does not redraw the view.
  ///
  /// ```swift
  /// @MainActor func badge(_ store: Store) -> Observed<Int> {
  ///   Observed(0, in: store) { db in try Game.fetchCount(db) }
  /// }
  /// ```
  ///
  /// The parameters are the same as in the form for any value.
  public init(_ value: Value, in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value)
  where Value: Equatable {
    self.value = value
    follow(store.values(fetch))
  }

  /// Follows another query instead of the current one, for instance for another search text or another order.
  ///
  /// ```swift
  /// @MainActor func search(_ text: String, _ games: Observed<[Game]>, _ store: Store) {
  ///   games.follow(in: store) { db in try Game.filter(Column("name").like("%\(text)%")).fetchAll(db) }
  /// }
  /// ```
  ///
  /// Until the new query has returned a value, `value` stays unchanged and `isLoading` is true; the old query provides
  /// no more values. If the old query had failed, its `error` is cleared.
  /// - Parameters:
  ///   - store: the store to follow, which may be another one. It is retained meanwhile.
  ///   - fetch: the query, as for the initializer.
  public func follow(in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) {
    follow(store.values(fetch))
  }

  /// Follows another query, whose values can be compared, instead of the current one.
  ///
  /// ```swift
  /// @MainActor func count(_ name: String, _ badge: Observed<Int>, _ store: Store) {
  ///   badge.follow(in: store) { db in try Game.filter(Column("name") == name).fetchCount(db) }
  /// }
  /// ```
  ///
  /// Otherwise it is like the form for any value.
  public func follow(in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value)
  where Value: Equatable {
    follow(store.values(fetch))
  }

  private func follow(_ values: StoreValues<Value>) {
    task?.cancel()
    (isLoading, error) = (true, nil)
    task = Task { [weak self] in
      do {
        for try await value in values {
          // A value of a query that is not followed any more may be under way.
          guard let self, !Task.isCancelled else { return }
          (self.value, isLoading) = (value, false)
        }
      } catch {
        guard let self, !Task.isCancelled else { return }
        (self.error, isLoading) = (error, false)
      }
    }
  }

  isolated deinit { task?.cancel() }
}
