/// A page of a space's log: what `GET changes` answers. `Docs/RelayProtocol.md` has the bytes.
public struct RelayPage: Sendable, Hashable {
  /// An entry or a removal.
  public struct Frame: Sendable, Hashable {
    /// A change to the log.
    public enum Change: Sendable, Hashable {
      /// An entry of so many bytes, and its bytes if they are sent along.
      case entry(byteCount: Int, content: [UInt8]?)
      /// The news that an entry of that name has gone.
      case removal
    }

    /// The position in the log.
    public let position: UInt64
    /// The name under which the entry was put.
    public let name: String
    /// The change at that position.
    public let change: Change

    /// Creates a frame from its position, name and change.
    public init(position: UInt64, name: String, change: Change) {
      (self.position, self.name, self.change) = (position, name, change)
    }
  }

  /// The reason why a page's bytes are malformed.
  public enum Malformed: String, Error, Sendable {
    /// It does not begin with the magic bytes and a version that is known.
    case magic
    /// It has flags or kinds of frames that are not known.
    case unknown
    /// It ends too soon, or goes on after its end.
    case length
    /// A number is written with more bytes than it needs, or is beyond its limit.
    case number
    /// A name is none.
    case name
    /// Positions do not rise.
    case order
    /// The checksum at the end is that of other bytes.
    case check
  }

  /// Whether this is the beginning of everything that is there, and not what came after the cursor that was given.
  public var isListing: Bool
  /// Whether there is more after the cursor already.
  public var hasMore: Bool
  /// The cursor at which to continue.
  public var cursor: RelayCursor
  /// Entries and removals, oldest first; a name once.
  public var frames: [Frame]

  /// Creates a page from its frames and the cursor after them.
  public init(isListing: Bool, hasMore: Bool, cursor: RelayCursor, frames: [Frame]) {
    (self.isListing, self.hasMore, self.cursor, self.frames) = (isListing, hasMore, cursor, frames)
  }
}
