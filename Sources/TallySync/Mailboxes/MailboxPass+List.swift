import TallyCRDT
import TallyStore
import TallyWire

/// Finding out which entries there are.
extension MailboxPass {
  /// Asks the mailbox what is new, and makes the memory follow.
  /// - Returns: all entries, in the order of their names.
  mutating func list() async throws -> [MailboxItem] {
    var news = News(cursor: memory.cursor)
    while try await news.turnPage(mailbox, known: memory.entries.count) {}
    try await lookForOwn(&news)
    if news.isListing {
      for name in memory.entries.keys where news.items[name] == nil { memory[name] = nil }
    }
    for item in news.items.values { note(item) }
    memory.cursor = news.cursor
    return memory.entries.map { name, entry in
      news.items[name] ?? MailboxItem(name: name, version: entry.version, byteCount: entry.byteCount)
    }.sorted { $0.name < $1.name }
  }

  /// Reads on until entries of this store that the cursor does not vouch for have come by, or the log has ended without
  /// them: then they are gone, and what they held is put again. Pages that were pushed may end earlier than the log.
  private mutating func lookForOwn(_ news: inout News) async throws {
    var missing = Set(memory.entries.lazy.filter(\.value.isBehindCursor).map(\.key))
    missing.subtract(news.items.keys)
    while !missing.isEmpty, !news.isListing, memory.entries.count + news.items.count < MailboxLimits.files {
      let before = (news.cursor, news.items.count)
      while try await news.turnPage(mailbox, known: memory.entries.count) {}
      missing.subtract(news.items.keys)
      // A place may give another cursor each time; nothing new is the end as well.
      guard news.cursor == before.0 || news.items.count == before.1 else { continue }
      for name in missing { memory[name] = nil }
      return
    }
  }

  /// Keeps what is known of an entry if it is still the same.
  private mutating func note(_ item: MailboxItem) {
    var known = item.state == .available ? memory.entry(for: item, in: mailbox.kind) : nil
    known?.isBehindCursor = false
    if mailbox.kind == .log, item.state == .available, let version = item.version, var old = memory[item.name] {
      // Somebody has asked for it. What is known of it stays, and whether it can be read is looked at.
      (old.version, old.isBehindCursor) = (version, false)
      known = old
    }
    let new = MailboxMemory.Entry(version: item.version, byteCount: item.byteCount)
    memory[item.name] = item.state == .removed ? nil : known ?? new
  }

  /// The news that a mailbox reports, page by page.
  private struct News {
    var cursor: MailboxCursor?
    var items: [String: MailboxItem] = [:]
    var isListing = false
    private var listings = 0
    private var contentBytes = 0

    init(cursor: MailboxCursor?) { self.cursor = cursor }

    /// Reads the next page. `known` is the number of entries that were known before.
    /// - Returns: whether there is another.
    mutating func turnPage(_ mailbox: any Mailbox, known: Int) async throws -> Bool {
      try Task.checkCancellation()
      // Nothing more until something has been removed.
      guard isListing || known < MailboxLimits.files else { return false }
      let page = try await mailbox.changes(after: cursor)
      guard page.items.count <= MailboxLimits.files else {
        throw MailboxError(.malformed, "a page of \(mailbox.name) has \(page.items.count) entries")
      }
      if page.isListing { try begin() }
      for item in page.items where isOurs(item) { add(item) }
      guard page.hasMore else {
        cursor = page.cursor ?? (page.isListing ? nil : cursor)
        return false
      }
      guard let next = page.cursor, next != cursor else {
        throw MailboxError(.malformed, "\(mailbox.name) has more and does not go on")
      }
      if mailbox.kind == .log, !page.isListing, let cursor, next.position <= cursor.position {
        throw MailboxError(.malformed, "\(mailbox.name) has more and goes back")
      }
      cursor = next
      return items.count + (isListing ? 0 : known) < MailboxLimits.files
    }

    /// A listing begins, also one in the midst of another: the place has just been replaced by a copy.
    private mutating func begin() throws {
      listings += 1
      guard listings <= 3 else { throw MailboxError(.malformed, "a listing begins again and again") }
      (items, contentBytes, isListing) = ([:], 0, true)
    }

    private func isOurs(_ item: MailboxItem) -> Bool {
      guard item.name.utf8.count <= MailboxLimits.nameBytes else { return false }
      return switch MailboxFileName.parse(item.name) {
      case .foreign: false
      case .newer: true
      case .file(let name): name.zone == .default
      }
    }

    private mutating func add(_ item: MailboxItem) {
      var item = item
      contentBytes += item.content?.count ?? 0
      if contentBytes > MailboxLimits.contentBytes { item.content = nil }
      if isListing, item.state == .removed { items[item.name] = nil } else { items[item.name] = item }
    }
  }
}
