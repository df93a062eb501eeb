import Foundation
import TallyRelayProtocol

/// The address of a space: `https://HOST/s/ID`, as printed by `tally relay token`. It contains no secret.
public struct RelaySpaceAddress: Sendable, Hashable, CustomStringConvertible {
  /// The relay's address, without a trailing slash.
  public let relay: String
  /// The id of the space on its relay.
  public let space: String

  /// Reads an address from its text; nil if the text does not consist of `http://` or `https://`, a host, perhaps a
  /// path, `/s/` and a space's id.
  public init?(_ text: String) {
    guard let range = text.range(of: "/s/", options: .backwards) else { return nil }
    self.init(relay: String(text[..<range.lowerBound]), space: String(text[range.upperBound...]))
  }

  /// Creates the address of a space; nil if the relay's address is not `http://` or `https://` with a host and perhaps
  /// a path, or has a user, a query or a fragment, or if the id is malformed. A trailing slash of the relay's address
  /// is ignored.
  public init?(relay: String, space: String) {
    let trimmed = relay.hasSuffix("/") ? String(relay.dropLast()) : relay
    guard RelayNames.isSpace(space), let parts = URLComponents(string: trimmed),
      parts.scheme == "https" || parts.scheme == "http", parts.host?.isEmpty == false,
      (0...65_535).contains(parts.port ?? 443), parts.user == nil, parts.password == nil, parts.query == nil,
      parts.fragment == nil
    else { return nil }
    (self.relay, self.space) = (trimmed, space)
  }

  /// The address as text, for people.
  public var description: String { "\(relay)/s/\(space)" }

  /// Whether an eavesdropper can read the token, because it is sent over plain HTTP to another machine.
  public var isExposed: Bool {
    guard let parts = URLComponents(string: relay), parts.scheme == "http" else { return false }
    return !["127.0.0.1", "[::1]", "::1", "localhost"].contains(parts.host ?? "")
  }
}
