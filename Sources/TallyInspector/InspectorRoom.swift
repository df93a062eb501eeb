#if Inspector
  import Foundation
  import Logging
  import Synchronization
  import TallyCRDT
  import TallyInspection
  import TallyStore
  import TallySync

  /// What an inspector shows, and who looks: the stores, the log, and the pages that want to hear of changes.
  package final class InspectorRoom: Sendable {
    /// The stores, in the order in which the pages list them.
    package let stores: [InspectedStore]
    package let settings: Inspector.Settings
    package let controls: InspectorControls?
    /// Stores that could not be opened, which the pages list behind the others.
    package let unreadable: [(name: String, reason: String)]
    let limits: InspectorLimits
    let log = InspectorLog()
    let keepers: [LogKeeper]
    /// The work that takes long and is under way: one of a kind at a time.
    package let running = Mutex<Set<String>>([])
    private let watching: Mutex<Watching>

    private struct Watching {
      var listeners: [Int: AsyncStream<String>.Continuation] = [:]
      var next = 0
      /// What follows the stores while a page is open.
      var tasks: [Task<Void, Never>] = []
    }

    /// A room with these stores.
    package init(
      _ stores: [InspectedStore], _ settings: Inspector.Settings, _ controls: InspectorControls? = nil,
      unreadable: [(name: String, reason: String)] = [], limits: InspectorLimits = InspectorLimits()
    ) {
      (self.stores, self.settings, self.controls, self.unreadable) = (stores, settings, controls, unreadable)
      self.limits = limits
      let directory = { @Sendable in ReplicaDirectory(ofReadable: stores.map { ($0.name, $0.store) }) }
      keepers = stores.enumerated().map { [log] in LogKeeper($0.offset, $0.element, log, directory) }
      watching = Mutex(Watching())
    }

    /// The names of replicas, as far as these stores know them.
    package func directory() -> ReplicaDirectory { ReplicaDirectory(ofReadable: stores.map { ($0.name, $0.store) }) }

    // MARK: Who looks

    /// Events for one page, until the stream is given up. The first page makes the room follow its stores, and after
    /// the last one nothing is followed.
    func listen() -> AsyncStream<String> {
      let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(64))
      let id = watching.withLock { watching in
        watching.next += 1
        watching.listeners[watching.next] = continuation
        if watching.tasks.isEmpty { watching.tasks = follow() }
        return watching.next
      }
      continuation.onTermination = { [weak self] _ in self?.leave(id) }
      continuation.yield(Self.event("hello", store: nil))
      return stream
    }

    private func leave(_ id: Int) {
      let tasks = watching.withLock { watching -> [Task<Void, Never>] in
        watching.listeners[id] = nil
        guard watching.listeners.isEmpty else { return [] }
        defer { watching.tasks = [] }
        return watching.tasks
      }
      for task in tasks { task.cancel() }
    }

    /// Ends all streams.
    func end() { for listener in watching.withLock({ Array($0.listeners.values) }) { listener.finish() } }

    /// Tells every page.
    func tell(_ event: String, store: Int?) {
      let text = Self.event(event, store: store)
      for listener in watching.withLock({ Array($0.listeners.values) }) { listener.yield(text) }
    }

    private static func event(_ name: String, store: Int?) -> String {
      "event: \(name)\ndata: {\"store\":\(store.map { "\($0)" } ?? "null")}\n\n"
    }

    // MARK: What is followed

    /// How often a file is looked at for commits of other processes while a page is open.
    private static let interval = Duration.milliseconds(100)

    private func follow() -> [Task<Void, Never>] {
      stores.enumerated().flatMap { number, inspected in
        [
          Task { [weak self] in
            for await _ in inspected.store.changes() { self?.tell("change", store: number) }
          },
          Task { [weak self] in
            await Self.watch(inspected.store) { [weak self] in
              await self?.keepers[number].look()
              self?.tell("change", store: number)
            }
          },
          Task { [weak self] in
            guard let engine = inspected.engine else { return }
            for await _ in await engine.updates() { self?.tell("status", store: number) }
          },
        ]
      }
    }

    /// How long to wait for a file that cannot be read, and between two looks at whether it is still the same.
    private static let longInterval = Duration.seconds(1)

    /// Tells of commits of other processes, and of a file that goes away or cannot be read, until the task is
    /// cancelled.
    private static func watch(_ store: Store, _ tell: @Sendable () async -> Void) async {
      var (isReadable, isInPlace) = (true, true)
      while !Task.isCancelled {
        do {
          guard let watch = try FileWatch(store) else { return }
          var (version, ticks) = (try watch.version(), 0)
          if !isReadable { await tell() }
          isReadable = true
          while true {
            try await Task.sleep(for: interval)
            let now = try watch.version()
            var isNews = now != version
            version = now
            ticks += 1
            if ticks.isMultiple(of: Int(longInterval / interval)) {
              let place = try await BlockingWork.run { try store.isInPlace() }
              if place != isInPlace { isNews = true }
              isInPlace = place
            }
            if isNews { await tell() }
          }
        } catch is CancellationError {
          return
        } catch {
          // The pages read the same file, and show what is wrong with it. It may be readable again.
          if isReadable { await tell() }
          isReadable = false
          do { try await Task.sleep(for: longInterval) } catch { return }
        }
      }
    }
  }
#endif
