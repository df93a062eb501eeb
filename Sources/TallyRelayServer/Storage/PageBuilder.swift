#if Relay
  import TallyRelayProtocol

  /// A row of a log.
  struct LogRow: Sendable {
    let position: Int64
    /// See `EntryKind`.
    let kind: Int
    let name: String
    let chain: [UInt8]
    let size: Int
    /// The content, if it is small and the entry is there.
    let body: [UInt8]?
  }

  /// Gathers the frames of a page until it is full.
  struct PageBuilder {
    let space: SpaceRow
    let isListing: Bool
    let limit: Int
    let byteLimit: Int
    /// Nil where a later frame has the name.
    private var frames: [RelayPage.Frame?] = []
    /// Which frame has a name, so that a name stands once: as many as the page has frames.
    private var indices: [String: Int] = [:]
    private var byteCount = 32
    private var count = 0
    private var last: Int64
    private var chain: [UInt8]?

    /// A page of at most so many frames and bytes; the first frame may have more.
    init(space: SpaceRow, start: Int64, isListing: Bool, limit: Int, bytes: Int) {
      (self.space, self.isListing, self.limit, byteLimit, self.last) = (space, isListing, limit, bytes, start)
    }

    /// - Returns: whether there is room for more.
    /// - Throws: `RelayProblem` if the row is damaged.
    mutating func add(_ row: LogRow) throws -> Bool {
      guard row.position > last, row.position <= space.head, (0...RelayLimits.entryBytes).contains(row.size),
        RelayNames.isEntry(row.name)
      else { throw RelayProblem(.storageFailed, "a row of a space's log is damaged") }
      let bytes = RelayPage.Frame.overhead + (row.kind == EntryKind.entry ? row.body?.count ?? 0 : 0)
      guard indices.isEmpty || byteCount + bytes <= byteLimit else { return false }
      switch row.kind {
      case EntryKind.entry:
        // What a body has lost, who reads it notices by the checksum of its content.
        let body = row.body.map { Array($0.prefix(RelayLimits.inlineBytes)) }
        add(row.name, row.position, .entry(byteCount: body?.count ?? row.size, content: body), bytes)
      case EntryKind.removal where !isListing: add(row.name, row.position, .removal, bytes)
      default: break
      }
      (last, chain) = (row.position, row.chain)
      count += 1
      // Places of entries that have gone cost little, but there may be many.
      return indices.count < limit && count < 100 * RelayLimits.pageEntries
    }

    private mutating func add(_ name: String, _ position: Int64, _ change: RelayPage.Frame.Change, _ bytes: Int) {
      // The newest counts.
      if let index = indices.updateValue(frames.count, forKey: name) { frames[index] = nil }
      frames.append(RelayPage.Frame(position: UInt64(position), name: name, change: change))
      byteCount += bytes
    }

    /// Returns the page. Its cursor is `start` if nothing was added.
    func page(_ start: RelayCursor?) throws -> RelayPage {
      let cursor = chain.flatMap { RelayCursor(position: UInt64(last), chain: $0) } ?? start
      guard let cursor else { throw RelayProblem(.storageFailed, "the chain of a space is damaged") }
      return RelayPage(
        isListing: isListing, hasMore: last < space.head, cursor: cursor, frames: frames.compactMap { $0 })
    }
  }
#endif
