/// The header fields that are the relay's own. Names of fields are the same in either case.
public enum RelayHeader {
  /// With a put: how far the sender has read. In small letters, as all of these, since HTTP/2 demands that.
  public static let after = "tally-after"
  /// With the answer to a put: where to go on, if only this entry has come after `Tally-After`.
  public static let cursor = "tally-cursor"
  /// With the answer to a put: the entry's position.
  public static let position = "tally-position"
  /// With every problem: its code, also where there is no body.
  public static let problem = "tally-problem"
  /// Where a piece of an upload begins; in an answer, how much the relay has.
  public static let uploadOffset = "upload-offset"
  /// How many bytes an upload has in the end.
  public static let uploadLength = "upload-length"
  /// The SHA-256 of a request's body, as RFC 9530 writes it.
  public static let contentDigest = "content-digest"
}
