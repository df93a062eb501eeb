import TallyCRDT
import TallyWire

/// Entries of the change log that are in its table and not needed any more, until many are dropped together.
///
/// A row of the table holds the entries of many transactions, and to drop one is to rewrite the row. These stand in
/// `tally_meta` under `needless`, with a checksum.
struct NeedlessEntries {
  private var bytes: [UInt8] = []
  /// Whether the file has them as they are here.
  private var isStored = true

  private static let key = "needless"
  /// The most bytes of entries: some six hundred.
  private static let mostBytes = 1 << 14
  /// The most rows that are looked at for one entry.
  private static let mostRows = 4

  var isEmpty: Bool { bytes.isEmpty }
  /// Whether it is time to drop them.
  var isFull: Bool { bytes.count > Self.mostBytes }

  /// Reads them. Without those that the disk has damaged the log is longer than it must be, until it is pruned.
  init(_ connection: Connection) throws {
    guard let stored = try connection.meta(Self.key, { $0.blob(0) }) else { return }
    if let known = try? stored.withUnsafeBytes({ try Self.read($0) }) { bytes = known } else { isStored = false }
  }

  private static func read(_ stored: UnsafeRawBufferPointer) throws(WireError) -> [UInt8] {
    var reader = ByteReader(stored)
    let sum = try reader.fixed()
    let rest = UnsafeRawBufferPointer(rebasing: stored[reader.offset...])
    guard sum == SipHash13.hash(rest) else { throw WireError(.malformed, "needless entries of the change log") }
    return Array(rest)
  }

  mutating func add(_ more: [LogTail.Needless]) {
    for entry in more {
      isStored = false
      LogTail.encode(entry.replica, entry.sequence, entry.items, to: &bytes)
    }
  }

  /// Takes away those that are listed again.
  mutating func remove(_ listed: [LogTail.Entry]) throws {
    guard !isEmpty, !listed.isEmpty else { return }
    // Nearly always all of these are older.
    var ranges: [(replica: ReplicaNumber, sequences: ClosedRange<UInt64>)] = []
    for entry in listed {
      if let known = ranges.firstIndex(where: { $0.replica == entry.replica }) {
        let sequences = ranges[known].sequences
        ranges[known].sequences = min(sequences.lowerBound, entry.sequence)...max(sequences.upperBound, entry.sequence)
      } else {
        ranges.append((entry.replica, entry.sequence...entry.sequence))
      }
    }
    var mayBeListed = false
    try forEach { replica, sequence, _ in
      mayBeListed = mayBeListed || ranges.contains { $0.replica == replica && $0.sequences.contains(sequence) }
    }
    guard mayBeListed else { return }
    let needed = Set(listed.map { LogTail.Needless(replica: $0.replica, sequence: $0.sequence, items: $0.items) })
    let rest = try entries().filter { !needed.contains($0) }
    (bytes, isStored) = ([], false)
    add(rest)
  }

  private func entries() throws -> [LogTail.Needless] {
    var entries: [LogTail.Needless] = []
    try forEach { entries.append(.init(replica: $0, sequence: $1, items: Array($2))) }
    return entries
  }

  /// The checksum has said that these are the bytes that were written: they can be read.
  private func forEach(_ body: (ReplicaNumber, UInt64, UnsafeRawBufferPointer) -> Void) throws {
    do {
      try bytes.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        while reader.remaining > 0 {
          let (replica, sequence) = (try LogTail.replica(&reader), try LogTail.sequence(&reader))
          body(replica, sequence, try reader.take(try reader.count(ofElementsWithAtLeast: 1, "bytes of an entry")))
        }
      }
    } catch let error as WireError {
      throw StoreError(stored: error)
    }
  }

  /// Writes them to the file.
  mutating func store(_ connection: Connection) throws {
    guard !isStored else { return }
    isStored = true
    guard !isEmpty else { return try Self.forget(connection) }
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('needless', ?)")
    var writer = ByteWriter()
    writer.fixed(bytes.withUnsafeBytes { SipHash13.hash($0) })
    writer.bytes += bytes
    insert.bind(1, writer.bytes)
    try insert.run()
  }

  /// Takes them out of the file, before the whole log is made from the states.
  static func forget(_ connection: Connection) throws {
    try connection.execute("DELETE FROM tally_meta WHERE key = '\(key)'")
  }

  /// Drops them from the table. Calls `missed` with each that no row has alone, or that is not found.
  mutating func drop(_ connection: Connection, _ missed: (LogTail.Needless) -> Void) throws {
    // Of one pack after the other.
    let entries = try entries().sorted { ($0.replica, $0.sequence) < ($1.replica, $1.sequence) }
    var open: OpenLogRow?
    for entry in entries {
      if open?.remove(entry) == true { continue }
      if let open { try Self.write(open, connection) }
      open = try Self.row(without: entry, connection)
      if open == nil { missed(entry) }
    }
    if let open { try Self.write(open, connection) }
    (bytes, isStored) = ([], false)
  }

  /// The row that had the entry, without it.
  private static func row(without entry: LogTail.Needless, _ connection: Connection) throws -> OpenLogRow? {
    // Of a row of many items only the length is read.
    let query = try connection.statement(
      """
      SELECT n, length(items) FROM tally_log
      WHERE zone = 0 AND replica = ? AND sequence >= ? ORDER BY sequence LIMIT ?
      """)
    defer { query.reset() }
    query.bind(1, entry.replica)
    query.bind(2, Int64(entry.sequence))
    query.bind(3, mostRows)
    while try query.step() {
      guard query.int(1) <= LogEntry.mostPackBytes else { continue }
      let found = try connection.statement("SELECT n, replica, sequence, items FROM tally_log WHERE n = ?")
      defer { found.reset() }
      found.bind(1, query.int(0))
      guard try found.step() else { continue }
      var row = OpenLogRow(LogEntry(found))
      if row.remove(entry) { return row }
    }
    return nil
  }

  private static func write(_ open: OpenLogRow, _ connection: Connection) throws {
    guard let items = open.items else {
      let delete = try connection.statement("DELETE FROM tally_log WHERE n = ?")
      delete.bind(1, open.row.number)
      return try delete.run()
    }
    let update = try connection.statement("UPDATE tally_log SET items = ? WHERE n = ?")
    update.bind(1, items)
    update.bind(2, open.row.number)
    try update.run()
  }
}
