import TallyCRDT
import TallyWire

/// Drops from the change log what later entries of the same replica find as well, and makes few rows of many.
///
/// A vector covers the transactions of a replica up to one of them. So a peer that lacks an earlier transaction of a
/// replica lacks the later one, too: an item needs an entry only under the latest one of each replica that changed it.
/// **An entry goes only for a later one of the same item and replica**, never for a delete and never for what a state
/// says: the later one is all that needs to be known.
///
/// A sweep begins when as much has been listed again as the last one left and has come since, so that the log is at
/// most twice as long as it must be. It goes through the rows of one replica after the other, newest first, a slice
/// with each transaction that lets the table grow, and remembers what it has seen. It may end at any time; what it has
/// dropped is not needed. Memory: some 40 bytes for each item, and no more than 2^18 of them at a time.
struct LogSweep {
  /// What the last sweep left, as `tally_meta` has it under `log`.
  struct Standing: Equatable {
    /// The greatest number of a row that it has looked at.
    var newest = 0
    /// The bytes of the rows up to there.
    var bytes = 0
    /// The numbers of sweeps that have begun since, the last of them. One that does not find its own ends: another has
    /// come to its end, the log was made again, or an older copy has taken the file's place.
    var begun: [Int] = []
    static let mostBegun = 8
  }

  /// Bytes of items, roughly: of those that the log had listed before, each of which lets a sweep drop one at most, and
  /// of others.
  struct Listed {
    var again = 0
    var new = 0

    mutating func add(_ bytes: Int, isNew: Bool) { if isNew { new += bytes } else { again += bytes } }
  }

  static let key = "log"
  /// What may be listed again, beside what the last sweep has left. Tests sweep logs that are small.
  #if PlantedFaults
    private static let slack = 1 << 8
  #else
    private static let slack = 1 << 16
  #endif
  /// A slice reads so many times what was written, and beyond `mostBytes` so many times at least: otherwise it would
  /// not keep pace with transactions that write more than that.
  private static let (share, leastShare) = (32, 4)
  /// The most bytes that are read at once.
  private let mostBytes: Int
  /// The most items that are remembered; the others are left to another pass.
  private let mostSeen: Int

  private var standing: Standing?
  /// What was listed since the last sweep began.
  private var listed = Listed()
  private var pass: Pass?

  init(mostSeen: Int = 1 << 18, mostBytes: Int = 1 << 22) { (self.mostSeen, self.mostBytes) = (mostSeen, mostBytes) }

  /// Forgets what is known of the file: another connection may have written it, or a transaction was rolled back.
  mutating func forget() { self = LogSweep(mostSeen: mostSeen, mostBytes: mostBytes) }

  /// Takes note that another connection has written.
  mutating func follow(_ connection: Connection) throws {
    guard let before = standing else { return }
    let now = try Standing(connection)
    let isGone = pass.map { !now.begun.contains($0.number) } ?? false
    if isGone || (now.newest, now.bytes) != (before.newest, before.bytes) { forget() } else { standing = now }
  }

  /// Takes note of what a transaction has listed.
  mutating func note(_ more: Listed) {
    listed.again += more.again
    listed.new += more.new
  }

  /// Takes note that the table has grown by so many bytes, and sweeps a slice where it is time.
  mutating func run(_ reader: StateReader, added bytes: Int) throws {
    var (known, isOverdue) = (try standing ?? Standing(reader.connection), false)
    if standing == nil {
      // All that stands there since the last sweep may have been listed before.
      let others = max(try reader.logBytes("n > ?", known.newest) - bytes, 0)
      listed.again += others
      isOverdue = others / 2 - Self.slack > known.bytes
    }
    if pass == nil, listed.again - Self.slack - listed.new > known.bytes {
      let pass = try Pass(reader)
      known.begun = known.begun.suffix(Standing.mostBegun - 1) + [pass.number]
      try known.store(reader.connection)
      (self.pass, listed) = (pass, Listed())
    }
    standing = known
    guard var pass else { return }
    self.pass = nil
    // Where those before it did not come to their end, since the program starts for each write or its writes fail, this
    // one does.
    let slice = max(min(bytes * Self.share + mostBytes / 256, mostBytes), bytes * Self.leastShare)
    var budget = isOverdue ? Int.max : slice
    while budget > 0 {
      let most = min(budget, mostBytes)
      var left = most
      guard try pass.sweep(reader, &left, mostSeen) else { return try end(pass, reader) }
      budget -= most - left
    }
    self.pass = pass
  }

  /// Sweeps the whole log at once.
  mutating func finish(_ reader: StateReader) throws {
    forget()
    var pass = try Pass(reader)
    var left = mostBytes
    while try pass.sweep(reader, &left, mostSeen) { left = mostBytes }
    try end(pass, reader)
  }

  private mutating func end(_ pass: Pass, _ reader: StateReader) throws {
    let end = Standing(newest: pass.newest, bytes: try reader.logBytes("n <= ?", pass.newest))
    try end.store(reader.connection)
    standing = end
  }
}

extension StateReader {
  /// The bytes of the rows of the change log whose number meets a condition.
  fileprivate func logBytes(_ condition: String, _ number: Int) throws -> Int {
    let query = try connection.statement(
      text: "SELECT sum(length(items)) FROM tally_log WHERE \(condition)")
    defer { query.reset() }
    query.bind(1, number)
    return try query.step() ? query.int(0) : 0
  }
}

extension LogSweep.Standing {
  /// What the file says; that nothing was ever swept, where it says nothing or cannot be read.
  fileprivate init(_ connection: Connection) throws {
    let text = try connection.meta(LogSweep.key) { $0.text(0) } ?? nil
    let numbers = (text ?? "").split(separator: " ").map { Int($0) ?? -1 }
    if numbers.count >= 2, numbers.allSatisfy({ $0 >= 0 }) {
      (newest, bytes, begun) = (numbers[0], numbers[1], Array(numbers.dropFirst(2)))
    }
  }

  fileprivate func store(_ connection: Connection) throws {
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('log', ?)")
    insert.bind(1, ([newest, bytes] + begun).map(String.init).joined(separator: " "))
    try insert.run()
  }

  /// Says that the log is made again.
  static func renew(_ connection: Connection) throws { try Self().store(connection) }
}

extension LogSweep {
  /// A sweep that is under way.
  private struct Pass {
    /// Another for each, by which the file knows it.
    let number: Int
    /// The greatest number of a row when it began. What comes later is left to the next sweep.
    let newest: Int
    private var replica = ReplicaNumber(rawValue: 0)
    /// The row that was read last: those before it come next.
    private var place: (sequence: Int64, number: Int) = (.max, .max)
    /// The items that were seen, with the sequence that they are kept under.
    private var seen: [ItemKey: UInt64] = [:]
    /// The items that count now, and those that will later, each by the end of their hashes: all, unless they are many.
    private var part: (mask: UInt64, value: UInt64) = (0, 0)
    private var parts: [(mask: UInt64, value: UInt64)] = []

    init(_ reader: StateReader) throws {
      number = try reader.connection.integer("SELECT abs(random() % 9007199254740992)") ?? 0
      newest = try reader.connection.integer("SELECT max(n) FROM tally_log") ?? 0
      try turn(reader)
    }

    /// Goes to the next replica.
    private mutating func turn(_ reader: StateReader) throws {
      let query = try reader.connection.statement("SELECT min(replica) FROM tally_log WHERE zone = 0 AND replica > ?")
      defer { query.reset() }
      query.bind(1, replica)
      replica = try query.step() && !query.isNull(0) ? query.number(0) : ReplicaNumber(rawValue: .max)
      #if PlantedFaults
        let others = seen
        defer { if reader.planted.contains(.logPrunedTooFar) { seen = others } }
      #endif
      begin((0, 0))
    }

    private mutating func begin(_ part: (mask: UInt64, value: UInt64)) {
      (self.part, place, seen) = (part, (.max, .max), [:])
    }

    /// Leaves half of the items for later.
    private mutating func split() {
      let bit = part.mask + 1
      part.mask |= bit
      parts.append((part.mask, part.value | bit))
      seen = seen.filter { isOfPart($0.key) }
    }

    private func isOfPart(_ item: ItemKey) -> Bool { item.second & part.mask == part.value }

    /// Goes on with rows of one replica, and takes from `left` what it has read.
    /// - Returns: false at the end of all.
    mutating func sweep(_ reader: StateReader, _ left: inout Int, _ mostSeen: Int) throws -> Bool {
      guard replica.rawValue < .max else { return false }
      let (rows, isAtEnd) = try read(reader, &left)
      var joined = JoinedRows(connection: reader.connection)
      for row in rows {
        // What cannot be read stays as it is, and finds nothing.
        guard let entries = try? row.entries() else {
          try joined.write()
          continue
        }
        try joined.add(row, entries, needed(of: entries, reader.catalog))
        if seen.count > mostSeen { split() }
      }
      try joined.write()
      guard isAtEnd else { return true }
      if let next = parts.popLast() { begin(next) } else { try turn(reader) }
      return true
    }

    /// Rows that come next, newest first, for as many bytes as are left, one at least; and whether they are the last.
    private mutating func read(_ reader: StateReader, _ left: inout Int) throws -> ([LogRow], Bool) {
      let query = try reader.connection.statement(
        """
        SELECT n, replica, sequence, items FROM tally_log
        WHERE zone = 0 AND replica = ?1 AND sequence <= ?2 AND (sequence < ?2 OR n < ?3) AND n <= ?4
        ORDER BY sequence DESC, n DESC
        """)
      defer { query.reset() }
      query.bind(1, replica)
      query.bind(2, place.sequence)
      query.bind(3, place.number)
      query.bind(4, newest)
      var rows: [LogRow] = []
      while left > 0 {
        guard try query.step() else { return (rows, true) }
        let row = LogRow(query)
        place = (query.int64(2), row.number)
        left -= row.bytes.count + 1
        rows.append(row)
      }
      return (rows, false)
    }

    /// The entries without the items that are kept under a later sequence, and without those that list nothing else.
    private mutating func needed(of entries: [LogEntry], _ catalog: Catalog) -> [LogEntry] {
      var rest: [LogEntry] = []
      for var entry in entries.reversed() {
        guard let items = try? ChangeLog.ranges(of: entry.items, catalog) else {
          rest.append(entry)
          continue
        }
        let sequence = entry.sequence
        let needed = entry.items.withUnsafeBytes { bytes in
          items.filter { isNeeded(ItemKey(UnsafeRawBufferPointer(rebasing: bytes[$0])), sequence) }
        }
        if needed.count < items.count { entry.items = needed.flatMap { entry.items[$0] } }
        if !needed.isEmpty { rest.append(entry) }
      }
      return rest.reversed()
    }

    private mutating func isNeeded(_ item: ItemKey, _ sequence: UInt64) -> Bool {
      guard isOfPart(item) else { return true }
      if let kept = seen[item], kept >= sequence { return false }
      seen[item] = sequence
      return true
    }
  }

  /// An item by its bytes, if these are a head and a UUID, and otherwise by two hashes of them, which have nothing in
  /// common: for no number of items will two have both.
  private struct ItemKey: Hashable {
    let head: UInt8
    let first, second: UInt64

    init(_ item: UnsafeRawBufferPointer) {
      if item.count == 17 {
        head = item[0]
        first = item.loadUnaligned(fromByteOffset: 1, as: UInt64.self)
        second = item.loadUnaligned(fromByteOffset: 9, as: UInt64.self)
      } else {
        (head, first, second) = (0, SipHash13.hash(item), SipHash.hash(item))
      }
    }
  }

  /// Rows that follow one another, newest first, until their entries are one row.
  private struct JoinedRows {
    let connection: Connection
    private var rows: [LogRow] = []
    /// In the order of their sequences, of the last row the first.
    private var entries: [[LogEntry]] = []
    private var byteCount = 0
    private var isShorter = false
    /// A row stays as it is if so much of it is needed, unless it is a small one.
    private static let mostDropped = (of: 8, small: LogRow.mostBytes / 2)

    init(connection: Connection) { self.connection = connection }

    /// Adds a row, of whose entries only `rest` is needed.
    mutating func add(_ row: LogRow, _ all: [LogEntry], _ rest: [LogEntry]) throws {
      let (before, after) = (Self.size(all), Self.size(rest))
      if before >= Self.mostDropped.small, (before - after) * Self.mostDropped.of < before { return try write() }
      if byteCount + after > LogRow.mostBytes { try write() }
      rows.append(row)
      entries.append(rest)
      byteCount += after
      isShorter = isShorter || after < before
    }

    private static func size(_ entries: [LogEntry]) -> Int {
      entries.reduce(0) { $0 + $1.items.count + LogRow.mostHeadBytes }
    }

    /// Writes the rows as one, in the place of the latest of them.
    mutating func write() throws {
      defer { (rows, entries, byteCount, isShorter) = ([], [], 0, false) }
      guard isShorter || rows.count > 1 else { return }
      var (number, sequence) = (Int.min, UInt64(0))
      let delete = try connection.statement("DELETE FROM tally_log WHERE n = ?")
      for row in rows {
        (number, sequence) = (max(number, row.number), max(sequence, try row.sequence))
        delete.bind(1, row.number)
        try delete.run()
      }
      let rest = entries.reversed().flatMap { $0 }
      // Under the sequence of a row that was there, so that a sweep that goes on does not come to it again.
      if !rest.isEmpty { try LogRow(rest, number: number, sequence: sequence).insert(connection) }
    }
  }
}

extension LogRow {
  /// Writes the row to the table.
  func insert(_ connection: Connection) throws {
    let insert = try connection.statement(
      "INSERT INTO tally_log(n, zone, replica, sequence, items) VALUES(?, 0, ?, ?, ?)")
    insert.bind(1, number)
    insert.bind(2, replica)
    insert.bind(3, Int64(clamping: try sequence))
    insert.bind(4, bytes)
    try insert.run()
  }
}
