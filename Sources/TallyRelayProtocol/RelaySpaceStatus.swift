/// The status of a space, which a relay reports as JSON.
public struct RelaySpaceStatus: Sendable, Hashable, Codable {
  /// The id of the space that this is about.
  public var space: String
  /// The cursor of the newest entry or removal.
  public var head: String
  /// The number of entries that the space holds.
  public var entries: Int
  /// The number of bytes that count against the quota: contents, and 256 for each entry, removal and place of a
  /// removed entry.
  public var bytes: Int
  /// The maximum number of bytes that may count; nil for no limit.
  public var quota: Int?
  /// The role of the token that made the request: `reader`, `writer` or `admin`.
  public var role: String

  /// Creates a status from each of its figures.
  public init(space: String, head: String, entries: Int, bytes: Int, quota: Int?, role: String) {
    (self.space, self.head, self.entries) = (space, head, entries)
    (self.bytes, self.quota, self.role) = (bytes, quota, role)
  }
}
