import Synchronization
import TallyFaults
import TallyRelayProtocol
import TallySync
import TallyTesting

/// The model of a relay's log, in memory: small pages, of which some are too much for an event.
package final class MemoryRelayLog: RelayLog {
  private let log = MemoryLog(name: "relay", pageSize: 5, inlineBytes: 400)
  private let backup = Mutex<MemoryLog.Backup?>(nil)
  private let planted: PlantedFault

  package init(_ planted: PlantedFault = []) {
    self.planted = planted
    heal()
  }

  package var mailbox: any Mailbox { log }
  package var blocks: Bool { false }

  package func event(after cursor: RelayCursor?) throws -> RelayEvent? {
    let page = log.page(after: cursor.map { MailboxCursor(position: $0.position, entry: $0.chainText) })
    guard let reached = RelayCursor(page.cursor) else { return nil }
    if reached == cursor || cursor == nil && reached.position == 0 { return nil }
    guard page.isListing || page.hasMore else { return RelayEvent(RelayPage(page, reached)) }
    guard let head = RelayCursor(log.head) else { return nil }
    return RelayEvent(page.isListing && cursor != nil ? .listing : .news, at: head)
  }

  package func backUp() { backup.withLock { $0 = log.backUp() } }

  package func restore() -> Bool {
    guard let backup = backup.withLock({ $0 }) else { return false }
    log.restore(backup)
    return true
  }

  package func cutDownloads(after byteCount: Int?) { log.faults.cutAfter = byteCount }

  private func heal() { log.faults.knowsPositionsOnly = planted.contains(.cursorIsPosition) }
}

extension RelayPage {
  /// A page of a log in memory, which does not number its items.
  fileprivate init(_ page: MailboxPage, _ cursor: RelayCursor) {
    let first = cursor.position - UInt64(page.items.count) + 1
    let frames = page.items.enumerated().map { index, item in
      Frame(
        position: first + UInt64(index), name: item.name,
        change: item.state == .removed
          ? .removal : .entry(byteCount: item.byteCount ?? item.content?.count ?? 0, content: item.content))
    }
    self.init(isListing: page.isListing, hasMore: page.hasMore, cursor: cursor, frames: frames)
  }
}
