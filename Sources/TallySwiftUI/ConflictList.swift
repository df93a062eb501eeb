#if canImport(SwiftUI)
  import GRDB
  import SwiftUI
  import TallyCRDT
  import TallySchema
  import TallyStore

  // Typechecked against stubs of SwiftUI, and never run: Tally is built and tested on Linux.

  /// The conflicts that a store has noticed, for a person to look at: what lost, to what, with a swipe to take it back
  /// or to leave it.
  ///
  /// <!-- not compiled here: it needs SwiftUI -->
  /// ```swift
  /// ConflictList(store) { conflict in "\(conflict.column ?? conflict.field) of \(conflict.name)" }
  /// ```
  ///
  /// It changes with the store. Taking a value back is a write as any other, and syncs.
  public struct ConflictList: View {
    private let store: Store
    private let title: (Conflict) -> String
    @State private var count: Observed<Int>
    @State private var problem: String?

    /// Shows the conflicts of a store, the newest first, a hundred at most.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - title: what a person reads of a conflict; the record's name and the column, unless it is given.
    public init(_ store: Store, title: @escaping (Conflict) -> String = { "\($0.name) \($0.column ?? $0.field)" }) {
      (self.store, self.title) = (store, title)
      _count = State(initialValue: Observed(0, in: store) { db in try ConflictRow.fetchCount(db) })
    }

    /// The list.
    public var body: some View {
      // Read again whenever their number changes.
      let (number, read) = (count.value, Result { try store.conflicts() })
      List {
        ForEach((try? read.get()) ?? []) { conflict in
          VStack(alignment: .leading) {
            Text(title(conflict))
            Text("\(conflict.loserValue) → \(conflict.winnerValue)" as String).font(.footnote)
              .foregroundStyle(.secondary)
          }
          #if !os(tvOS)
            .swipeActions {
              Button("Use the Other") { perform { _ = try store.restore(conflict) } }
              Button("Dismiss", role: .destructive) { perform { try store.dismiss(conflict) } }
            }
          #endif
        }
        if let problem = problem ?? failure(of: read) { Text(problem).foregroundStyle(.red) }
      }
      #if os(iOS) || os(macOS) || os(visionOS)
        .badge(number)
      #endif
    }

    private func failure(of read: Result<[Conflict], any Error>) -> String? {
      if case .failure(let error) = read { "\(error)" } else { nil }
    }

    private func perform(_ action: () throws -> Void) {
      do {
        try action()
        problem = nil
      } catch {
        problem = "\(error)"
      }
    }
  }
#endif
