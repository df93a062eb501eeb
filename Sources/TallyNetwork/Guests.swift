#if Network
  import Synchronization
  import TallySync

  /// The peers of a listener: strangers, who have some seconds to introduce themselves, and those who have done so and
  /// are served.
  final class Guests: Sendable {
    private struct State {
      var isClosed = false
      var next = 0
      var tasks: [Int: Task<Void, Never>] = [:]
      var strangers: WaitingRoom
      /// The strangers' streams, to turn them out.
      var streams: [Int: ChannelStream] = [:]
      /// Those who are served.
      var known: Set<Int> = []
    }

    private let state: Mutex<State>
    private let secret: SharedSecret?
    /// The hash of the own certificate; nil without TLS.
    private let binding: [UInt8]?
    private let limits: NetworkLimits
    private let onFailure: TCPListener.FailureHandler
    private let serve: TCPListener.Service

    init(
      secret: SharedSecret?, binding: [UInt8]?, limits: NetworkLimits,
      onFailure: @escaping TCPListener.FailureHandler, serve: @escaping TCPListener.Service
    ) {
      state = Mutex(State(strangers: WaitingRoom(capacity: limits.strangers)))
      self.secret = secret
      self.binding = binding
      self.limits = limits
      self.onFailure = onFailure
      self.serve = serve
    }

    var count: Int { state.withLock { $0.tasks.count } }

    private static var crowded: SyncError { SyncError(.limitExceeded, "too many connections") }

    /// Hosts a peer in a task of its own.
    /// - Throws: `SyncError` if there are too many.
    func admit(_ opening: Opening) throws {
      let origin = WaitingRoom.origin(of: opening.channel.remoteAddress)
      let needsIntroduction = secret != nil || binding != nil
      let turnedOut = try state.withLock { state -> ChannelStream? in
        guard !state.isClosed, state.known.count < limits.connections else { throw Self.crowded }
        let id = state.next
        state.next += 1
        state.tasks[id] = Task {
          await self.host(opening, id)
          self.forget(id)
        }
        // Where peers need not introduce themselves, none is a stranger.
        guard needsIntroduction else {
          state.known.insert(id)
          return nil
        }
        state.streams[id] = opening.stream
        return state.strangers.enter(id, from: origin).flatMap { state.streams.removeValue(forKey: $0) }
      }
      turnedOut?.fail(SyncError(.limitExceeded, "the peer did not introduce itself before many others came"))
      turnedOut?.abort()
    }

    private func host(_ opening: Opening, _ id: Int) async {
      let address = opening.channel.remoteAddress.map { "\($0)" } ?? "unknown"
      do {
        let (secret, binding) = (secret, binding ?? [])
        let connection = try await opening.finish(limits.introduction) { framed in
          guard let secret else { return }
          try await Introduction(connection: framed, secret: secret, binding: binding).asServer()
        }
        do {
          try welcome(id)
          try await serve(connection)
        } catch {
          report(error, of: address)
        }
        await connection.close()
      } catch {
        report(error, of: address)
      }
    }

    /// Tells of a failure. That a peer was sent home when the listener was closed is none.
    private func report(_ error: any Error, of address: String) {
      if error is CancellationError, state.withLock({ $0.isClosed }) { return }
      onFailure(address, error)
    }

    /// A stranger has introduced itself.
    /// - Throws: `SyncError` if others who have done so take up all the room.
    private func welcome(_ id: Int) throws {
      try state.withLock { state in
        guard !state.known.contains(id) else { return }
        state.streams[id] = nil
        // It may have been turned out in this moment.
        guard state.strangers.leave(id), state.known.count < limits.connections else { throw Self.crowded }
        state.known.insert(id)
      }
    }

    private func forget(_ id: Int) {
      state.withLock { state in
        (state.tasks[id], state.streams[id]) = (nil, nil)
        state.known.remove(id)
        _ = state.strangers.leave(id)
      }
    }

    func sendHome() async {
      let tasks = state.withLock { state in
        state.isClosed = true
        return Array(state.tasks.values)
      }
      for task in tasks { task.cancel() }
      for task in tasks { await task.value }
    }
  }
#endif
