#if Relay
  import NIOCore
  import Synchronization

  /// The connections of a listener, and what those hold on which no request is under way: a header that has not come in
  /// whole, a handshake, or nothing between two requests. Where that is too much of all of them together, those are
  /// closed that have waited longest: a client that means a request sends its header within a second, and one that
  /// begins thousands finds the first of them gone.
  final class Connections: Sendable {
    private struct Idle {
      let channel: any Channel
      /// The bytes of a header or a record that have come.
      var bytes: Int
      /// Since when, as a number that rises.
      let start: Int
      let since: NIODeadline
      /// Whether it has had a request.
      let isKnown: Bool
    }

    private struct State {
      /// The connections that are open, but for those that are being closed here.
      var count = 0
      var closing: Set<ObjectIdentifier> = []
      var idle: [ObjectIdentifier: Idle] = [:]
      var bytes = 0
      var next = 0
      /// When it is looked again which connections over TLS may go.
      var nextLook = NIODeadline.uptimeNanoseconds(0)

      mutating func begin(_ channel: any Channel, _ bytes: Int, isKnown: Bool) {
        idle[ObjectIdentifier(channel)] = Idle(
          channel: channel, bytes: bytes, start: next, since: .now(), isKnown: isKnown)
        next += 1
        self.bytes += bytes
      }

      mutating func end(_ id: ObjectIdentifier) {
        if let ended = idle.removeValue(forKey: id) { bytes -= ended.bytes }
      }
    }

    /// The memory of a connection over TLS before its first request and between two requests, in bytes.
    static let sessionBytes = 64 << 10
    /// How long one has at least to send its request over TLS: when thousands of devices come back at once, their
    /// handshakes wait for each other.
    private static let patience = TimeAmount.seconds(2)
    /// How often it is looked which of them have waited for that long.
    private static let pause = TimeAmount.milliseconds(250)

    let isOverTLS: Bool
    private let limit: Int
    private let byteLimit: Int
    private let sessionLimit: Int
    private let state = Mutex(State())

    init(_ limits: RelaySettings.Limits, overTLS: Bool) {
      isOverTLS = overTLS
      (limit, byteLimit) = (limits.connections, limits.unfinishedBytes)
      sessionLimit = overTLS ? max(1, limits.idleSessionBytes / Self.sessionBytes) : .max
    }

    /// A connection was made.
    func open(_ channel: any Channel) {
      change { state in
        state.count += 1
        state.begin(channel, 0, isKnown: false)
      }
    }

    /// So many bytes are held on a connection now, and no request is under way.
    func hold(_ bytes: Int, on channel: any Channel) {
      change { state in
        guard !state.closing.contains(ObjectIdentifier(channel)) else { return }
        guard let before = state.idle[ObjectIdentifier(channel)]?.bytes else {
          return state.begin(channel, bytes, isKnown: true)
        }
        state.idle[ObjectIdentifier(channel)]?.bytes = bytes
        state.bytes += bytes - before
      }
    }

    /// A connection has a request.
    func letGo(_ channel: any Channel) { state.withLock { $0.end(ObjectIdentifier(channel)) } }

    /// A connection has ended.
    func close(_ channel: any Channel) {
      state.withLock { state in
        let id = ObjectIdentifier(channel)
        if state.closing.remove(id) == nil { state.count -= 1 }
        state.end(id)
      }
    }

    /// The metrics of the connections.
    func lines() -> [String] {
      let count = state.withLock { $0.count }
      return [
        "# HELP tally_relay_connections Connections that are open.", "# TYPE tally_relay_connections gauge",
        "tally_relay_connections \(count)",
        "# HELP tally_relay_connections_limit The most connections that may be open.",
        "# TYPE tally_relay_connections_limit gauge", "tally_relay_connections_limit \(limit)",
      ]
    }

    private func change(_ body: (inout State) -> Void) {
      let closed = state.withLock { state -> [any Channel] in
        body(&state)
        return superfluous(&state)
      }
      for channel in closed { channel.close(promise: nil) }
    }

    /// Takes those out that are too many, some at a time, since finding them looks at all.
    private func superfluous(_ state: inout State) -> [any Channel] {
      var closed: [any Channel] = []
      if state.bytes > byteLimit {
        Self.take(&state, &closed, where: { $0.bytes > 0 }, until: { $0.bytes <= byteLimit - byteLimit / 8 })
      }
      if state.idle.count > sessionLimit {
        let now = NIODeadline.now()
        if now >= state.nextLook {
          state.nextLook = now + Self.pause
          let goal = sessionLimit - sessionLimit / 8
          Self.take(&state, &closed, where: { $0.since + Self.patience <= now }, until: { $0.idle.count <= goal })
        }
      }
      let room = max(1, limit / 10)
      if state.count > limit - room {
        let goal = max(1, limit - 2 * room)
        // Some that wait have a place even if requests are under way on all others.
        let least = max(1, room / 2)
        Self.take(&state, &closed, where: { _ in true }, until: { $0.count <= goal || $0.idle.count <= least })
      }
      return closed
    }

    /// Takes out those that never had a request and have had time for one, then the others, in each case the ones first
    /// that have waited longest.
    private static func take(
      _ state: inout State, _ closed: inout [any Channel], where mayGo: (Idle) -> Bool, until isEnough: (State) -> Bool
    ) {
      let silent = NIODeadline.now() - patience
      func rank(_ idle: Idle) -> (Int, Int) { (!idle.isKnown && idle.since <= silent ? 0 : 1, idle.start) }
      for idle in state.idle.values.filter(mayGo).sorted(by: { rank($0) < rank($1) }) {
        guard !isEnough(state) else { return }
        let id = ObjectIdentifier(idle.channel)
        state.end(id)
        state.closing.insert(id)
        state.count -= 1
        closed.append(idle.channel)
      }
    }
  }
#endif
