import TallyCRDT
import TallyStore

extension SyncSession {
  /// The purpose of a session.
  public enum Mode: Sendable, Equatable {
    /// One exchange: the session ends when both sides have the same state.
    case once
    /// One exchange, after which both sides stay connected if the peer wants that too, and changes are sent as they are
    /// committed.
    case live
    /// Only the states of both sides are compared, and neither changes. The peer sees an ordinary session that ends.
    case compare
  }

  /// How far both sides know each other, with what the next step needs.
  ///
  /// ```
  /// opening → greeting → acquainted → syncing → live
  ///              ↓            ↑  ↘        ↓      ↓
  ///         suspecting → recognizing    finished
  /// ```
  enum Stage: Sendable {
    /// The state of the store is awaited; nothing was said.
    case opening
    /// This side has said hello, from where its store stood; the peer's hello is awaited.
    case greeting(StoreSummary)
    /// The peer may be an echo, or this very store: this side leaves a mark in its file, and awaits the peer's.
    case suspecting(StoreSummary, SyncHello)
    /// The peer's mark is looked for in the file.
    case recognizing(StoreSummary, SyncHello)
    /// Both have said hello and stand at different places: the peer's vector is awaited.
    case acquainted(StoreSummary, SyncHello)
    /// Vectors are known; deltas are on their way in one direction or both.
    case syncing(SyncHello)
    /// Both were equal; changes go over as they are committed.
    case live(SyncHello)
    /// There is nothing more to do.
    case finished

    /// The peer's hello, from when it has come until the session ends.
    var hello: SyncHello? {
      switch self {
      case .opening, .greeting, .finished: nil
      case .suspecting(_, let hello), .recognizing(_, let hello), .acquainted(_, let hello): hello
      case .syncing(let hello), .live(let hello): hello
      }
    }

    /// Whether vectors are known, so that deltas may go over.
    var isExchanging: Bool { phase == .syncing || phase == .live }

    /// Whether a message of the peer's can be dealt with; others wait.
    var takesMessages: Bool {
      switch self {
      case .opening, .recognizing, .finished: false
      case .greeting, .suspecting, .acquainted, .syncing, .live: true
      }
    }

    /// The same for status and progress bars.
    var phase: Progress.Phase {
      switch self {
      case .opening, .greeting, .suspecting, .recognizing, .acquainted: .connecting
      case .syncing: .syncing
      case .live: .live
      case .finished: .finished
      }
    }
  }

  /// The exchange of everything after contents were different at equal vectors.
  enum Repair: Sendable {
    /// There is no reason for one.
    case none
    /// It has been decided, and this side has not begun to send.
    case owed
    /// This side sends, or has sent, everything.
    case underWay
  }
}
