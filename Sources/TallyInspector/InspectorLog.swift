#if Inspector
  import Foundation
  import Synchronization
  import TallyInspection

  /// The last events of stores and engines, in memory.
  final class InspectorLog: Sendable {
    /// One event.
    struct Entry: Sendable, Encodable {
      /// A number that grows.
      var number: Int
      /// When, in ISO 8601.
      var at: String
      /// The store's place.
      var store: Int
      /// `store` or `engine`.
      var source: String
      /// What happened, in words.
      var text: String
      /// Whether it is something to look at.
      var isWarning: Bool
    }

    /// The most entries that are kept.
    static let limit = 1_000
    private let state = Mutex<(next: Int, entries: [Entry])>((1, []))

    /// The entries after a number, the oldest first.
    func entries(after number: Int) -> [Entry] { state.withLock { $0.entries.filter { $0.number > number } } }

    func add(_ text: String, store: Int, source: String, isWarning: Bool = false) {
      let at = StampReport.text(Clocks.now)
      state.withLock { state in
        state.entries.append(
          Entry(number: state.next, at: at, store: store, source: source, text: text, isWarning: isWarning))
        state.next += 1
        if state.entries.count > Self.limit { state.entries.removeFirst(state.entries.count - Self.limit) }
      }
    }
  }
#endif
