import TallyRelayProtocol
import TallySync

extension MailboxPage {
  /// A relay's page, as a pass reads it.
  package init(_ page: RelayPage) {
    let items = page.frames.map { frame in
      switch frame.change {
      case .entry(let byteCount, let content):
        MailboxItem(name: frame.name, byteCount: byteCount, content: content)
      case .removal: MailboxItem(name: frame.name, state: .removed)
      }
    }
    self.init(
      items: page.isListing ? items.filter { $0.state == .available } : items,
      cursor: MailboxCursor(position: page.cursor.position, entry: page.cursor.chainText),
      isListing: page.isListing, hasMore: page.hasMore)
  }
}

extension RelayCursor {
  /// A pass's cursor, as a relay knows it; nil if there is none. One of something else is one that no relay knows.
  package init?(_ cursor: MailboxCursor?) {
    guard let cursor else { return nil }
    if let known = RelayCursor("\(cursor)") {
      self = known
    } else {
      self.init(position: .max, chain: Array(repeating: 0, count: Self.chainBytes))
    }
  }
}
