/// The limits that both sides keep to. A relay may be stricter with sizes and rates, and reports that with a problem.
public enum RelayLimits {
  /// The most bytes of an entry's name.
  public static let nameBytes = 255
  /// The most bytes of a space's id.
  public static let spaceBytes = 64
  /// The most frames of a page.
  public static let pageEntries = 1_000
  /// The most bytes of a page. A page has at least one frame if there is one, so bodies sent along are much smaller.
  public static let pageBytes = 4 << 20
  /// The largest entry that is sent along with a page.
  public static let inlineBytes = 64 << 10
  /// The most bytes of a request's body; larger entries are uploaded in pieces of at most that.
  public static let bodyBytes = 4 << 20
  /// The fewest bytes of a piece of an upload, but for the last: what a relay needs for a piece besides its bytes does
  /// not count for the quota.
  public static let pieceBytes = 4 << 10
  /// The most entries that one request puts, removes or asks for.
  public static let batchEntries = 256
  /// The most bytes of an entry.
  public static let entryBytes = 1 << 30
  /// The most bytes that a client asks for at once when it downloads.
  public static let rangeBytes = 1 << 20
  /// The most seconds that a request may ask to wait for news.
  public static let longestWait = 60
  /// The most bytes of a request's header fields, names and values.
  public static let headerBytes = 16 << 10
  /// The most header fields of a request.
  public static let headerFields = 64
  /// The most bytes of a page that comes with an event.
  public static let eventBytes = 16 << 10
  /// The most frames of a page that comes with an event.
  public static let eventEntries = 16
  /// The most bytes of a line of a stream of events that a client reads.
  public static let eventLineBytes = 32 << 10
  /// The most bytes of a problem's JSON that a client reads.
  public static let problemBytes = 16 << 10
}
