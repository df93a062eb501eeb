#if Relay
  import NIOCore
  import TallyRelayProtocol

  /// Reads an event once for all streams that want the same: of ten thousand who follow a space, nearly all stand at
  /// the same cursor.
  actor EventPages {
    /// An event as it is written.
    struct Lines: Sendable {
      let cursor: RelayCursor
      let bytes: ByteBuffer
    }

    private struct Key: Hashable {
      let ticket: RelayNews.Ticket
      let cursor: RelayCursor?
    }

    private static let largestCount = 256
    private let store: any RelayStorage
    private var reading: [Key: Task<Lines?, any Error>] = [:]
    private var order: [Key] = []

    init(_ store: any RelayStorage) { self.store = store }

    /// Returns the event for what came after a cursor, or from the beginning without one; nil if nothing came. The
    /// ticket was taken before; later news have another.
    func event(_ ticket: RelayNews.Ticket, after cursor: RelayCursor?) async throws -> Lines? {
      let key = Key(ticket: ticket, cursor: cursor)
      if let task = reading[key] { return try await task.value }
      let task = Task { [store] in try await Self.read(store, ticket.space, cursor) }
      reading[key] = task
      order.append(key)
      if order.count > Self.largestCount { reading[order.removeFirst()] = nil }
      do {
        return try await task.value
      } catch {
        // The next one tries again.
        if reading[key] == task { forget(key) }
        throw error
      }
    }

    private func forget(_ key: Key) {
      reading[key] = nil
      order.removeAll { $0 == key }
    }

    private static func read(_ store: any RelayStorage, _ space: Int64, _ cursor: RelayCursor?) async throws -> Lines? {
      let page = try await store.page(of: space, after: cursor, limit: RelayLimits.eventEntries)
      if page.cursor == cursor || cursor == nil && page.cursor.position == 0 { return nil }
      if !page.isListing, !page.hasMore { return lines(RelayEvent(page)) }
      // Too much for an event, or a cursor that is not known: whoever follows asks, and the stream goes on at the head.
      guard let head = try await store.space(space).cursor else {
        throw RelayProblem(.storageFailed, "the chain of a space is damaged")
      }
      return lines(RelayEvent(page.isListing && cursor != nil ? .listing : .news, at: head))
    }

    static func lines(_ event: RelayEvent) -> Lines {
      Lines(cursor: event.cursor, bytes: ByteBuffer(string: event.lines))
    }
  }
#endif
