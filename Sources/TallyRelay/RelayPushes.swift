import TallyRelayProtocol

/// The news that has come over one stream of events: pages for readers to continue with, and whether a waiter should
/// look.
///
/// An event is a hint. A page counts only for a reader at exactly the position where it begins; a reader that misses
/// events asks.
package struct RelayPushes: Sendable {
  /// The pages that have come and were not asked for yet.
  private struct Pages {
    private var pages: [(start: RelayCursor, page: RelayPage)] = []
    private static let largestCount = 64

    mutating func add(_ page: RelayPage, after start: RelayCursor) {
      if pages.count >= Self.largestCount || pages.last.map({ $0.page.cursor != start }) ?? false { pages = [] }
      pages.append((start, page))
    }

    mutating func removeAll() { pages = [] }

    /// The page after a cursor; those before it are of no use any more.
    mutating func take(after cursor: RelayCursor) -> RelayPage? {
      guard let index = pages.firstIndex(where: { $0.start == cursor }) else { return nil }
      var page = pages[index].page
      pages.removeFirst(index + 1)
      page.hasMore = !pages.isEmpty
      return page
    }
  }

  /// The cursor up to which the stream has reported; nil before it has reported on a log from its beginning.
  private var latest: RelayCursor?
  private var pages = Pages()
  /// Whether there is something that no cursor tells: a listing.
  private var hasListing = false
  /// With what cursor a call waited last and was told of news, and how far the stream had told then: who comes back
  /// with the same has found nothing, and hears of the next event.
  private var told: (cursor: RelayCursor?, latest: RelayCursor?)?

  /// Creates the news of a stream from a cursor on: nothing yet.
  package init(from cursor: RelayCursor?) { latest = cursor }

  /// Takes in an event.
  package mutating func take(_ event: RelayEvent) {
    let start = latest
    latest = event.cursor
    switch event.kind {
    case .page:
      guard let start, let page = event.page else { break }
      // One that does not go on has come twice. A call that reads on asks.
      if event.cursor.position > start.position { pages.add(page, after: start) } else { pages.removeAll() }
    case .news: pages.removeAll()
    case .listing:
      pages.removeAll()
      hasListing = true
    }
  }

  /// Returns the page that has come after a cursor, if it is all that has come.
  package mutating func page(after cursor: RelayCursor) -> RelayPage? { pages.take(after: cursor) }

  /// Whether there may be something after a cursor. What is older than the cursor is an echo of what the waiter knows;
  /// equal positions of different chains are not.
  package func hasNews(after cursor: RelayCursor?) -> Bool {
    if hasListing { return true }
    guard let latest else { return false }
    guard let cursor else { return latest.position > 0 }
    return latest.position > cursor.position || latest.position == cursor.position && latest != cursor
  }

  /// Whether a call that begins to wait with a cursor should look at once: there is something that it was not told of.
  package mutating func tells(_ cursor: RelayCursor?) -> Bool {
    guard hasNews(after: cursor), told.map({ $0.cursor != cursor || $0.latest != latest }) ?? true else { return false }
    note(cursor)
    return true
  }

  /// A call that waited with a cursor was told of news.
  package mutating func note(_ cursor: RelayCursor?) {
    hasListing = false
    told = (cursor, latest)
  }
}
