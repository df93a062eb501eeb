#if canImport(SwiftUI)
  import GRDB
  import SwiftUI
  import TallyStore

  // Typechecked against stubs of SwiftUI, and never run: Tally is built and tested on Linux.

  /// A query of a view: its result now, and again after each commit that changes it, a write of the app or a merge.
  ///
  /// <!-- not compiled here: it needs SwiftUI -->
  /// ```swift
  /// struct GameList: View {
  ///   @Fetched var games: [Game]
  ///   @State private var text = ""
  ///   let store: Store
  ///
  ///   init(_ store: Store) {
  ///     self.store = store
  ///     _games = Fetched([], in: store) { db in try Game.fetchAll(db) }
  ///   }
  ///
  ///   var body: some View {
  ///     List(games) { Text($0.name) }
  ///       .searchable(text: $text)
  ///       .onChange(of: text) {
  ///         $games.follow(in: store) { [text] db in try Game.filter(Column("name").like("%\(text)%")).fetchAll(db) }
  ///       }
  ///   }
  /// }
  /// ```
  ///
  /// The query goes on as long as the view has an identity, however often SwiftUI makes the view's value again.
  /// `$games` is the ``TallyStore/Observed`` behind it, with `isLoading`, `error` and `follow(in:_:)`.
  @MainActor @propertyWrapper public struct Fetched<Value: Sendable>: DynamicProperty {
    @State private var observed: Observed<Value>

    /// Follows a query.
    ///
    /// - Parameters:
    ///   - value: what the property is until the query has answered.
    ///   - store: the store to follow.
    ///   - fetch: the query, which runs on a thread of the database.
    public init(_ value: Value, in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) {
      _observed = State(initialValue: Observed(value, in: store, fetch))
    }

    /// Follows a query whose values can be compared: a value that equals the one before does not redraw the view.
    ///
    /// The parameters are those of the form for any value.
    public init(_ value: Value, in store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value)
    where Value: Equatable {
      _observed = State(initialValue: Observed(value, in: store, fetch))
    }

    /// The newest value.
    public var wrappedValue: Value { observed.value }

    /// The query, with its state.
    public var projectedValue: Observed<Value> { observed }
  }
#endif
