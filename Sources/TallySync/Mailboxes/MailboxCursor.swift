/// The point up to which a mailbox's log was read: a position and the entry at it.
///
/// The entry makes a cursor safe to keep. If a log has gone back, because it was restored from a backup or because a
/// standby without the last entries took over, it has no entry or another entry at the position. The mailbox notices
/// this and lists everything, and a store that has the missing entries puts them again. A position alone would skip the
/// entries that take their place.
///
/// ```swift
/// let cursor = MailboxCursor(position: 42, entry: "9f04c2d1")
/// precondition(MailboxCursor("\(cursor)") == cursor)
/// ```
public struct MailboxCursor: Sendable, Hashable, LosslessStringConvertible {
  /// The number of entries of the log that were read; 0 at its beginning. A place that uses tokens of its own does not
  /// count here.
  public let position: UInt64
  /// The identifier that distinguishes the entry at that position from all others, such as the beginning of its hash,
  /// its name, or a server's token.
  public let entry: String

  /// Creates a cursor from a position and the identifier of the entry at it.
  public init(position: UInt64, entry: String) { (self.position, self.entry) = (position, entry) }

  /// Reads a cursor from its description; nil if the text is not a cursor.
  public init?(_ description: String) {
    guard let dot = description.firstIndex(of: "."), let position = UInt64(description[..<dot]),
      description[..<dot] == "\(position)"
    else { return nil }
    self.init(position: position, entry: String(description[description.index(after: dot)...]))
  }

  /// The position, a dot, and the entry, as text.
  public var description: String { "\(position).\(entry)" }
}
