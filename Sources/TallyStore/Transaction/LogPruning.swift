import TallyCRDT

/// Drops from the change log what no longer finds anything: entries whose cells have all been overwritten since, and
/// those of a deleted record that one of its deletes makes needless (`RecordState.isListed`).
///
/// The write that replaced a cell has a dot of its own in the log, as has the delete, so a delta misses nothing, and
/// devices need not agree on it. A slice is looked at now and then, round and round, so that the log is never much
/// longer than what it finds.
struct LogPruning {
  /// After so many new rows twice as many are looked at, so that the log is at most twice as long as what it finds.
  private static let interval = 64
  /// Rows can be long. A slice also ends after twice the bytes that were written since the last one, plus this many.
  private static let leastBytes = 1 << 15
  private static let (mostRows, mostBytes) = (2048, 1 << 22)
  private var added = ChangeLog.Growth()
  /// The row after which the next slice begins; nil before the first one.
  private var next: Int?

  /// Takes note of new rows, and looks at a slice when it is time.
  mutating func run(_ reader: StateReader, added growth: ChangeLog.Growth) throws {
    added.rows += growth.rows
    added.bytes += growth.bytes
    guard added.rows >= Self.interval else { return }
    let rows = min(added.rows * 2, Self.mostRows)
    let bytes = min(added.bytes * 2 + Self.leastBytes, Self.mostBytes)
    added = ChangeLog.Growth()
    try look(reader, rows: rows, bytes: bytes)
  }

  /// The start of the first slice. It depends on the newest row, so that processes that end soon do not all look at the
  /// same rows.
  private static func start(_ reader: StateReader) throws -> Int {
    let newest = try reader.connection.integer("SELECT max(n) FROM tally_log") ?? 0
    return newest > 0 ? Int(SipHash13.hash("\(newest)") % UInt64(newest)) : 0
  }

  /// Looks at the next rows, at most so many, until it has read so many bytes.
  private mutating func look(_ reader: StateReader, rows: Int, bytes: Int) throws {
    let query = try reader.connection.statement(
      "SELECT n, replica, sequence, items FROM tally_log WHERE n > ? ORDER BY n")
    query.bind(1, try next ?? Self.start(reader))
    var dead: [Int] = []
    var shorter: [(row: Int, items: [UInt8])] = []
    var left = (rows: rows, bytes: bytes)
    var finder = LogFinder(reader)
    defer { query.reset() }
    while left.rows > 0, left.bytes > 0 {
      guard try query.step() else {
        next = 0
        break
      }
      let (number, bytes) = (query.int(0), query.blob(3))
      next = number
      left = (left.rows - 1, left.bytes - bytes.count)
      // Nobody can say what a damaged row lists, so it stays; `rebuild` rewrites the log.
      guard let replica = reader.catalog.replicas[query.number(1)], let sequence = try? query.sequence(2) else {
        continue
      }
      let dot = Dot(replica: replica, sequence: sequence)
      guard let items = try? LoggedItems(bytes, reader.catalog) else { continue }
      left.rows -= items.entryCount - 1
      guard let needed = try finder.needed(of: items, dot) else { continue }
      if needed.isEmpty { dead.append(number) } else { shorter.append((number, items.bytes(of: needed))) }
    }
    #if PlantedFaults
      if reader.planted.contains(.logPrunedTooFar) { dead += dead.map { $0 + 1 } }
    #endif
    let delete = try reader.connection.statement("DELETE FROM tally_log WHERE n = ?")
    for number in dead {
      delete.bind(1, number)
      try delete.run()
    }
    guard !shorter.isEmpty else { return }
    let update = try reader.connection.statement("UPDATE tally_log SET items = ? WHERE n = ?")
    for (number, items) in shorter {
      update.bind(1, items)
      update.bind(2, number)
      try update.run()
    }
  }
}

/// Says which items of a row find something. A pack's are of several transactions.
private struct LogFinder {
  /// The dots of the link that was read last: rows one after the other are often of one link, which may have many.
  private var last: (kind: KindNumber, key: LinkKey, dots: Set<Dot>)?
  private let reader: StateReader
  /// A row is left as it is once so many more items than not are found to be needed.
  private static let margin = 2

  init(_ reader: StateReader) { self.reader = reader }

  /// The items that a row must keep; nil if it may stay as it is, because about half of them are needed, or more, or
  /// because one cannot be read.
  ///
  /// A row that is rewritten is half as long afterwards, so that what rewriting costs is in proportion to what was
  /// written. Most rows are left as they are after a look at two items.
  mutating func needed(of items: LoggedItems, _ dot: Dot) throws -> [Int]? {
    var needed: [Int] = []
    var place = 0
    let stride = Self.stride(items.count)
    for number in 0..<items.count {
      guard let item = try? items.item(place) else { return nil }
      let back = items.sequenceBack(place)
      // Nobody can say what a damaged row lists.
      guard back <= dot.sequence else { return nil }
      if try find(item, Dot(replica: dot.replica, sequence: dot.sequence - back)) {
        needed.append(place)
        let isMostlyNeeded = 2 * needed.count >= number + 1 + Self.margin
        if isMostlyNeeded || 2 * needed.count > items.count { return nil }
      }
      place = (place + stride) % items.count
    }
    return needed.sorted()
  }

  /// A step that visits all places of a row, distant ones first, because records that were written together are often
  /// deleted together.
  private static func stride(_ count: Int) -> Int {
    func divisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : divisor(b, a % b) }
    var stride = count * 5 / 8 | 1
    while divisor(count, stride) != 1 { stride += 2 }
    return stride
  }

  /// Whether the log must list an item under `dot`.
  private mutating func find(_ item: ChangeLog.Item, _ dot: Dot) throws -> Bool {
    if let target = item.target, let link = reader.catalog.links[item.kind] {
      return try dots(of: LinkKey(source: item.name, target: target), link).contains(dot)
    }
    guard let record = reader.catalog.records[item.kind] else { return false }
    return try reader.isListed(item.name, record, under: dot)
  }

  private mutating func dots(of key: LinkKey, _ kind: LinkKind) throws -> Set<Dot> {
    if let last, last.kind == kind.number, last.key == key { return last.dots }
    let dots = try reader.link(key, kind)?.element.dots ?? []
    last = (kind.number, key, dots)
    return dots
  }
}
