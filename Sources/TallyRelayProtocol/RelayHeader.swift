/// The header fields that are the relay's own. Names of fields are the same in either case.
public enum RelayHeader {
  /// With a put: how far the sender has read. In small letters, as all of these, since HTTP/2 demands that.
  public static let after = "tally-after"
  /// With the answer to a put: where to go on, if only this entry has come after `Tally-After`.
  public static let cursor = "tally-cursor"
  /// With the answer to a put: the entry's position.
  public static let position = "tally-position"
  /// With a page and a stream of events: how many entries one request may put, remove or ask for.
  public static let batch = "tally-batch"
  /// With every problem: its code, also where there is no body.
  public static let problem = "tally-problem"
  /// The offset at which a piece of an upload begins; in an answer, the number of bytes that the relay has.
  public static let uploadOffset = "upload-offset"
  /// The total number of bytes of an upload.
  public static let uploadLength = "upload-length"
  /// The SHA-256 of a request's body, as RFC 9530 writes it.
  public static let contentDigest = "content-digest"
}
