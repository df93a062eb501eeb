#if Inspector
  import Foundation
  import Synchronization
  import TallyCRDT
  import TallyInspection
  import TallyStore
  import TallySync

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

  /// Keeps the log of one store and its engine.
  struct LogKeeper {
    let number: Int
    let inspected: InspectedStore
    let room: InspectorRoom

    /// The least time between two looks at a store that is written to without a pause.
    private static let pause = Duration.milliseconds(100)

    /// Follows the store's commits until the task is cancelled.
    func followStore() async {
      var last: StateVector?
      for await _ in inspected.store.changes() {
        do {
          let summary = try await BlockingWork.run { [store = inspected.store] in try store.summary() }
          let names = try room.directory()
          for dot in summary.vector.beyond(last ?? summary.vector).entries {
            let first = (last?[dot.replica] ?? 0) + 1
            let range = first == dot.sequence ? "#\(first)" : "#\(first)–#\(dot.sequence)"
            let verb = dot.replica == summary.replica ? "committed" : "received"
            room.log.add("\(verb) \(names.name(of: dot.replica)) \(range)", store: number, source: "store")
          }
          last = summary.vector
          try await Task.sleep(for: Self.pause)
        } catch is CancellationError {
          return
        } catch {
          room.log.add("\(error)", store: number, source: "store", isWarning: true)
        }
      }
    }

    /// Follows the engine's status until the task is cancelled.
    func followEngine() async {
      guard let engine = inspected.engine else { return }
      var last: [String: (phase: PeerStatus.Phase, error: String?)] = [:]
      for await status in await engine.updates() {
        for peer in status.peers {
          let before = last[peer.id]
          last[peer.id] = (peer.phase, peer.lastError)
          if let error = peer.lastError, error != before?.error {
            room.log.add("\(peer.id): \(error)", store: number, source: "engine", isWarning: true)
          } else if peer.phase != before?.phase {
            room.log.add("\(peer.id): \(peer.phase.rawValue)", store: number, source: "engine")
          }
        }
      }
    }
  }
#endif
