/// The point up to which a mailbox's log was read: a position, and the entry at it.
///
/// The entry is what makes a cursor safe to keep. A log that has gone back, because it was restored from a backup or
/// because a standby without the last entries took over, has nothing at the position, or something else. So the mailbox
/// notices and lists everything, and a store that has what is missing puts it again. A position alone would skip what
/// takes the place of the missing entries.
///
/// ```swift
/// let cursor = MailboxCursor(position: 42, entry: "9f04c2d1")
/// precondition(MailboxCursor("\(cursor)") == cursor)
/// ```
public struct MailboxCursor: Sendable, Hashable, LosslessStringConvertible {
  /// The number of entries of the log that were read; 0 at its beginning. A place with tokens of its own counts
  /// nothing here.
  public let position: UInt64
  /// The identifier that distinguishes the entry at that position from all others: the beginning of its hash, its
  /// name, a server's token.
  public let entry: String

  /// Creates a cursor from a position and the entry that is at it.
  public init(position: UInt64, entry: String) { (self.position, self.entry) = (position, entry) }

  /// Reads a cursor from its description; nil if the text is not one.
  public init?(_ description: String) {
    guard let dot = description.firstIndex(of: "."), let position = UInt64(description[..<dot]),
      description[..<dot] == "\(position)"
    else { return nil }
    self.init(position: position, entry: String(description[description.index(after: dot)...]))
  }

  /// The position, a dot, and the entry.
  public var description: String { "\(position).\(entry)" }
}
