import TallyCRDT

/// Drops rows of the change log that no longer find anything: every cell of the dot has been overwritten since.
///
/// What a cell was overwritten by has a dot of its own in the log, so a delta misses nothing, and nobody needs to
/// agree. A slice is looked at now and then, round and round, so that the log is never much longer than what it finds.
struct LogPruning {
  /// After so many new rows twice as many are looked at, so that the log is at most twice as long as what it finds.
  private static let interval = 64
  private var added = 0
  private var next = 0

  /// Takes note of new rows, and looks at a slice when it is time.
  mutating func run(_ reader: StateReader, added count: Int) throws {
    added += count
    guard added >= Self.interval else { return }
    let slice = min(added, 1024) * 2
    added = 0
    try look(reader, at: slice)
  }

  /// Looks at the next `count` rows.
  mutating func look(_ reader: StateReader, at count: Int) throws {
    let query = try reader.connection.statement(
      "SELECT n, replica, sequence, items FROM tally_log WHERE n > ? ORDER BY n LIMIT ?")
    query.bind(1, next)
    query.bind(2, count)
    var dead: [Int] = []
    var seen = 0
    var links = LinkDots()
    defer { query.reset() }
    while try query.step() {
      (seen, next) = (seen + 1, query.int(0))
      guard let replica = reader.catalog.replicas[query.number(1)] else { continue }
      let dot = Dot(replica: replica, sequence: try query.sequence(2))
      if try !Self.findsAnything(dot, query.blob(3), reader, &links) { dead.append(query.int(0)) }
    }
    if seen < count { next = 0 }
    #if PlantedFaults
      if reader.planted.contains(.logPrunedTooFar) { dead += dead.map { $0 + 1 } }
    #endif
    let delete = try reader.connection.statement("DELETE FROM tally_log WHERE n = ?")
    for number in dead {
      delete.bind(1, number)
      try delete.run()
    }
  }

  /// The dots of the link that was read last: rows one after the other are often of one link, which may have many.
  private struct LinkDots {
    private var last: (kind: KindNumber, key: LinkKey, dots: Set<Dot>)?

    mutating func contains(_ dot: Dot, of key: LinkKey, _ kind: LinkKind, _ reader: StateReader) throws -> Bool {
      if let last, last.kind == kind.number, last.key == key { return last.dots.contains(dot) }
      let dots = try reader.link(key, kind)?.element.dots ?? []
      last = (kind.number, key, dots)
      return dots.contains(dot)
    }
  }

  private static func findsAnything(
    _ dot: Dot, _ bytes: [UInt8], _ reader: StateReader, _ links: inout LinkDots
  ) throws -> Bool {
    // Nobody can say what a damaged row lists, so it stays; `rebuild` rewrites the log.
    guard let items = try? ChangeLog.items(bytes, reader.catalog) else { return true }
    for (kind, name, target) in items {
      if let target, let link = reader.catalog.links[kind] {
        let key = LinkKey(source: name, target: target)
        if try links.contains(dot, of: key, link, reader) { return true }
      } else if let record = reader.catalog.records[kind] {
        if try reader.hasCell(of: dot, name, record) { return true }
      }
    }
    return false
  }
}
