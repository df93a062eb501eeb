import GRDB
import Observation

extension Store {
  /// Observes a query: its result now, and again after each commit of this process that changed what it reads: a write
  /// of the app or a merge.
  ///
  /// ```swift
  /// for try await games in store.values({ try Game.order(Column("name")).fetchAll($0) }) { print(games.count) }
  /// ```
  ///
  /// A merge is one transaction, so a list never shows half of one. Changes that come faster than they are read are
  /// told once, with the newest value. Iterating ends with the task that does it. What another process has written into
  /// the file shows after the next write or `captureChanges()` of this one; an engine calls that once a second. A store
  /// that only reads (``StoreOptions/isReadOnly``) tells the value of now and nothing more: read again when you need
  /// it.
  /// - Parameter fetch: reads the value. What it reads is found out as it runs: it may be called again in any thread,
  ///   and must not depend on anything but the database.
  /// - Returns: a sequence that throws what the query throws, and `StoreError.closed` once the store is closed; it has
  ///   ended then.
  public func values<Value: Sendable>(_ fetch: @escaping @Sendable (Database) throws -> Value)
    -> StoreValues<Value>
  {
    StoreValues(.tracking(whileOpen(fetch)), in: self)
  }

  /// Observes a query whose values can be compared: its result now, and again after each commit that changes it.
  ///
  /// ```swift
  /// for try await count in store.values({ db in try Game.fetchCount(db) }) { print(count) }
  /// ```
  ///
  /// A value that equals the one before is not told again. In everything else it is like the form for other values.
  /// - Parameter fetch: reads the value, again after each commit that may have changed it.
  /// - Returns: a sequence that throws what the query throws, and `StoreError.closed` once the store is closed; it has
  ///   ended then.
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

/// An observed query, for a view: follows the store on the main actor until it is released.
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
/// SwiftUI observes it as any `@Observable` object. If the query fails, `error` says why, the last value stays, and
/// nothing more comes.
@MainActor @Observable public final class Observed<Value: Sendable> {
  /// The newest value; what was given at first, while `isLoading`.
  public private(set) var value: Value
  /// Why the query has failed; nil as long as it works.
  public private(set) var error: (any Error)?
  /// Whether the query has not given anything yet.
  public private(set) var isLoading = true
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Follows a query from now until this object is released: its value now, and again after each commit that touches
  /// what the query reads, whether the app wrote or a sync did.
  ///
  /// - Parameters:
  ///   - value: what `value` is until the query has answered.
  ///   - store: the store to follow. It is kept for as long.
  ///   - fetch: the query, which runs on a thread of the database. If it throws, `error` says why, and nothing more
  ///     comes.
  public init(_ value: Value, in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) {
    self.value = value
    follow(store.values(fetch))
  }

  /// Follows a query whose values can be compared: a value that equals the one before does not redraw the view.
  ///
  /// ```swift
  /// @MainActor func badge(_ store: Store) -> Observed<Int> {
  ///   Observed(0, in: store) { db in try Game.fetchCount(db) }
  /// }
  /// ```
  ///
  /// The parameters are those of the form for any value.
  public init(_ value: Value, in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value)
  where Value: Equatable {
    self.value = value
    follow(store.values(fetch))
  }

  /// Follows another query in the place of this one: for another text in a search field, another order.
  ///
  /// ```swift
  /// @MainActor func search(_ text: String, _ games: Observed<[Game]>, _ store: Store) {
  ///   games.follow(in: store) { db in try Game.filter(Column("name").like("%\(text)%")).fetchAll(db) }
  /// }
  /// ```
  ///
  /// `value` stays what it was, and `isLoading` is true, until the new query has answered; nothing of the old one comes
  /// any more. A query that had failed is forgotten with its `error`.
  /// - Parameters:
  ///   - store: the store to follow, which may be another one. It is kept for as long.
  ///   - fetch: the query, as for the initializer.
  public func follow(in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) {
    follow(store.values(fetch))
  }

  /// Follows another query whose values can be compared.
  ///
  /// ```swift
  /// @MainActor func count(_ name: String, _ badge: Observed<Int>, _ store: Store) {
  ///   badge.follow(in: store) { db in try Game.filter(Column("name") == name).fetchCount(db) }
  /// }
  /// ```
  ///
  /// In everything else it is like the form for any value.
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
