/// The media types of what a relay sends.
public enum RelayMedia {
  /// A page of changes: `RelayPage`.
  public static let page = "application/vnd.tally.changes"
  /// An entry, and a piece of one.
  public static let entry = "application/octet-stream"
  /// A stream of events: `RelayEvent`.
  public static let events = "text/event-stream"
  /// The media type of an answer that reports a problem (RFC 9457).
  public static let problem = "application/problem+json"
  /// The status of a space.
  public static let status = "application/json"
}
