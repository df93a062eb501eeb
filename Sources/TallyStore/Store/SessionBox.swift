import Synchronization

/// The session, used only on the writing connection's queue.
final class SessionBox: @unchecked Sendable {
  var session: WritingSession?
  /// For the first session: the prepared statements of opening, and the schema as it was found then.
  var opening: (connection: Connection, shape: KnownShape?)?
  let needsReload = Atomic<Bool>(false)
  /// SQLite's number of the schema that a session has looked at last; -1 before.
  let followedSchema = Atomic<Int>(-1)
}
