#if Inspector
  import Synchronization
  import TallyCRDT
  import TallyInspection
  import TallyStore
  import TallySync

  /// Keeps the log of one store and its engine.
  final class LogKeeper: Sendable {
    private let number: Int
    private let inspected: InspectedStore
    private let log: InspectorLog
    private let directory: @Sendable () -> ReplicaDirectory
    private let last = Mutex<StateVector?>(nil)

    /// The least time between two looks at a store that is written to without a pause.
    private static let pause = Duration.milliseconds(100)

    init(
      _ number: Int, _ inspected: InspectedStore, _ log: InspectorLog,
      _ directory: @escaping @Sendable () -> ReplicaDirectory
    ) {
      (self.number, self.inspected, self.log, self.directory) = (number, inspected, log, directory)
    }

    /// Follows the store's commits until the task is cancelled.
    func followStore() async {
      let changes = inspected.store.changes()
      await look()
      for await _ in changes {
        await look()
        do { try await Task.sleep(for: Self.pause) } catch { return }
      }
    }

    /// Notes what the store has now and did not have at the last look.
    func look() async {
      do {
        let summary = try await BlockingWork.run { [store = inspected.store] in try store.summary() }
        let before = last.withLock { last in
          defer { last = summary.vector }
          return last ?? summary.vector
        }
        let news = summary.vector.beyond(before).entries
        guard !news.isEmpty else { return }
        let names = try await BlockingWork.run { [directory] in directory() }
        for dot in news {
          let first = before[dot.replica] + 1
          let range = first == dot.sequence ? "#\(first)" : "#\(first)–#\(dot.sequence)"
          let verb = dot.replica == summary.replica ? "committed" : "received"
          log.add("\(verb) \(names.name(of: dot.replica)) \(range)", store: number, source: "store")
        }
      } catch is CancellationError {
        return
      } catch {
        log.add("\(error)", store: number, source: "store", isWarning: true)
      }
    }

    /// Follows the engine's status until the task is cancelled. What comes and goes with each round is left out.
    func followEngine() async {
      guard let engine = inspected.engine else { return }
      var last: [String: PeerStatus] = [:]
      for await status in await engine.updates() {
        for peer in status.peers where ![.connecting, .syncing].contains(peer.phase) {
          let before = last[peer.id]
          last[peer.id] = peer
          if let error = peer.lastError, error != before?.lastError {
            log.add("\(peer.id): \(error)", store: number, source: "engine", isWarning: true)
          } else if peer.phase != before?.phase {
            log.add("\(peer.id): \(peer.phase.rawValue)", store: number, source: "engine")
          }
          let (sent, received) = (
            peer.bytesSent - min(peer.bytesSent, before?.bytesSent ?? 0),
            peer.bytesReceived - min(peer.bytesReceived, before?.bytesReceived ?? 0)
          )
          if sent + received > 0 {
            log.add("\(peer.id): sent \(sent) bytes, received \(received)", store: number, source: "engine")
          }
        }
      }
    }
  }
#endif
