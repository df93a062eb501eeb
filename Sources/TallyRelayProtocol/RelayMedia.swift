/// The media types of what a relay sends.
public enum RelayMedia {
  /// A page of changes: `RelayPage`.
  public static let page = "application/vnd.tally.changes"
  /// An entry, and a piece of one.
  public static let entry = "application/octet-stream"
  /// Several entries to put or remove: `RelayWrites`.
  public static let writes = "application/vnd.tally.writes"
  /// What became of them: `RelayResults`.
  public static let results = "application/vnd.tally.results"
  /// The names of entries that are wanted: `RelayWanted`.
  public static let wanted = "application/vnd.tally.wanted"
  /// Their contents: `RelayContents`.
  public static let contents = "application/vnd.tally.contents"
  /// A stream of events: `RelayEvent`.
  public static let events = "text/event-stream"
  /// The media type of an answer that reports a problem (RFC 9457).
  public static let problem = "application/problem+json"
  /// The status of a space.
  public static let status = "application/json"
}
