import Synchronization

/// How the two sides of a session have ended, as they do.
final class RawEndings: Sendable {
  private let ended = Mutex<[(any Error)?]>([])
  var all: [(any Error)?] { ended.withLock { $0 } }
  func add(_ error: (any Error)?) { ended.withLock { $0.append(error) } }
}

/// What a history of raw SQL finds wrong.
struct RawFinding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A store has noticed damage, and its session ended with that.
struct RawDamaged: Error {}
