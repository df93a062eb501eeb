import Foundation

/// An event of `text/event-stream` that a relay sends to those who follow a space. It is a hint: the log is what `GET
/// changes` answers.
public struct RelayEvent: Sendable, Hashable {
  /// The kinds of events that a stream brings.
  public enum Kind: String, Sendable, CaseIterable {
    /// The changes that have come after the cursor of the previous event, as a page.
    case page
    /// There is more than an event holds: ask.
    case news
    /// The cursor from which the client wanted to go on is not known: ask for everything.
    case listing
  }

  /// The kind of this event.
  public let kind: Kind
  /// The position of the log after the event.
  public let cursor: RelayCursor
  /// The page; nil for other kinds.
  public let page: RelayPage?

  /// Creates the event for a page: the page itself if it is small enough, or else only that something has come.
  public init(_ page: RelayPage) {
    cursor = page.cursor
    let isWhole = !page.isListing && !page.hasMore && page.bytes().count <= RelayLimits.eventBytes
    (kind, self.page) = isWhole ? (.page, page) : (.news, nil)
  }

  /// An event that tells of something and brings no page.
  public init(_ kind: Kind, at cursor: RelayCursor) { self.init(kind, cursor, nil) }

  private init(_ kind: Kind, _ cursor: RelayCursor, _ page: RelayPage?) {
    (self.kind, self.cursor, self.page) = (kind, cursor, page)
  }

  /// An event as a client has read it; nil if it is none, or of a kind that is not known.
  public init?(kind: String, id: String, data: String) {
    guard let kind = Kind(rawValue: kind), let cursor = RelayCursor(id) else { return nil }
    guard kind == .page else {
      self.init(kind, at: cursor)
      return
    }
    guard let bytes = Data(base64Encoded: data), let page = try? RelayPage(Array(bytes)), page.cursor == cursor,
      !page.isListing, !page.hasMore
    else { return nil }
    self.init(kind, cursor, page)
  }

  /// The lines of the event, with the empty one at its end.
  public var lines: String {
    let data = page.map { Data($0.bytes()).base64EncodedString() } ?? "-"
    return "id: \(cursor)\nevent: \(kind.rawValue)\ndata: \(data)\n\n"
  }
}
