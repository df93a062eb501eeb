#if Relay
  import NIOCore
  import Synchronization

  /// What connections hold on which no request is under way: a header that has not come in whole, or nothing between
  /// two requests. Beyond so many bytes of all of them together, those are closed that have waited longest: a client
  /// that means a request sends its header within a second, and who begins thousands finds the first of them gone.
  final class UnfinishedHeads: Sendable {
    private struct Head {
      let channel: any Channel
      let bytes: Int
      /// Since when, as a number that rises.
      let start: Int
    }

    private struct State {
      var heads: [ObjectIdentifier: Head] = [:]
      var bytes = 0
      var next = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(_ limit: Int) { self.limit = limit }

    /// The bytes that are held, and the number of connections that hold some.
    var usage: (bytes: Int, connections: Int) { state.withLock { ($0.bytes, $0.heads.count) } }

    /// So many bytes are held on a connection now.
    func hold(_ bytes: Int, on channel: any Channel) {
      let closed = state.withLock { state -> [any Channel] in
        let id = ObjectIdentifier(channel)
        let before = state.heads[id]
        state.heads[id] = Head(channel: channel, bytes: bytes, start: before?.start ?? state.next)
        state.next += 1
        state.bytes += bytes - (before?.bytes ?? 0)
        return state.bytes > limit ? Self.takeOldest(&state, to: limit - limit / 8) : []
      }
      for channel in closed { channel.close(promise: nil) }
    }

    /// Some at a time, since finding them looks at all.
    private static func takeOldest(_ state: inout State, to goal: Int) -> [any Channel] {
      var closed: [any Channel] = []
      for (id, head) in state.heads.sorted(by: { $0.value.start < $1.value.start }) where head.bytes > 0 {
        guard state.bytes > goal else { break }
        state.heads[id] = nil
        state.bytes -= head.bytes
        closed.append(head.channel)
      }
      return closed
    }

    /// A connection has a request, or has ended.
    func letGo(_ channel: any Channel) {
      state.withLock { state in
        guard let head = state.heads.removeValue(forKey: ObjectIdentifier(channel)) else { return }
        state.bytes -= head.bytes
      }
    }
  }
#endif
