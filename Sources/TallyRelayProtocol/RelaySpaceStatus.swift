/// What a relay says of a space, as JSON.
public struct RelaySpaceStatus: Sendable, Hashable, Codable {
  /// The space's id.
  public var space: String
  /// The cursor of the newest entry or removal.
  public var head: String
  /// How many entries there are.
  public var entries: Int
  /// How many bytes count against the quota: contents, and 256 for each entry, removal and place of a removed entry.
  public var bytes: Int
  /// How many bytes may count; nil without a limit.
  public var quota: Int?
  /// What the token that has asked may do: `reader`, `writer` or `admin`.
  public var role: String

  /// A status.
  public init(space: String, head: String, entries: Int, bytes: Int, quota: Int?, role: String) {
    (self.space, self.head, self.entries) = (space, head, entries)
    (self.bytes, self.quota, self.role) = (bytes, quota, role)
  }
}
