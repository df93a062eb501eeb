import TallyCRDT
import TallyWire

/// An entry of the change log, in the tail or in its table: the items that one transaction has written.
package struct LogEntry {
  package var number: Int
  package var replica: ReplicaNumber
  /// As it is stored.
  private var rawSequence: Int64
  package var items: [UInt8]

  /// - Throws: `StoreError.corrupt` if it is negative.
  package var sequence: UInt64 {
    get throws(StoreError) {
      guard let sequence = UInt64(exactly: rawSequence) else {
        throw StoreError(.corrupt, "a sequence number is negative")
      }
      return sequence
    }
  }

  package init(_ entry: LogTail.Entry) {
    (number, replica, items) = (entry.number, entry.replica, entry.items)
    rawSequence = Int64(clamping: entry.sequence)
  }

  /// The row of a statement that gives `n, replica, sequence, items`.
  package init(_ query: SQLStatement) {
    (number, replica, rawSequence) = (query.int(0), query.number(1), query.int64(2))
    items = query.blob(3)
  }

  fileprivate func isOf(_ sequence: UInt64) -> Bool { rawSequence == Int64(clamping: sequence) }

  // MARK: Packs

  /// The first byte of a pack: a row that holds entries of several transactions of one replica. An entry never begins
  /// with it, since no kind has the number zero.
  static let packMark: UInt8 = 0
  /// More than any pack has: what stands in the tail, where each entry has a shorter head.
  package static let mostPackBytes = 4 * LogTail.mostBytes

  /// A condition that rows which are packs meet.
  package static let isPack = "length(items) <= \(mostPackBytes) AND substr(items, 1, 1) = x'00'"

  /// The entries of a row: this one, unless it is a pack. What the disk has made of a pack is given as it is; its items
  /// cannot be read.
  package var parts: [LogEntry] {
    guard items.first == Self.packMark else { return [self] }
    return (try? items.withUnsafeBytes { try read($0) }) ?? [self]
  }

  private static let mostHeadBytes = 8

  private func read(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> [LogEntry] {
    var reader = ByteReader(bytes)
    var parts: [LogEntry] = []
    while reader.remaining > 0 {
      let head = try PackHead(&reader)
      let back = Int(clamping: head.numberBack)
      let (number, isBeyond) = number.subtractingReportingOverflow(back)
      guard !isBeyond, head.sequenceBack <= rawSequence else {
        throw WireError(.malformed, "a pack of the change log")
      }
      var part = self
      part.number = number
      part.rawSequence -= Int64(head.sequenceBack)
      part.items = Array(try reader.take(head.byteCount))
      guard part.items.first != Self.packMark else { throw WireError(.malformed, "a pack of the change log") }
      parts.append(part)
    }
    return parts
  }

  /// The items of a row that holds the given entries. Their numbers and sequences are not greater than its own.
  static func pack(_ parts: [LogEntry], in row: LogEntry) -> [UInt8] {
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(parts.reduce(0) { $0 + $1.items.count + mostHeadBytes })
    for part in parts {
      PackHead.write(
        UInt64(row.number - part.number), UInt64(row.rawSequence - part.rawSequence), part.items.count, to: &writer)
      writer.bytes += part.items
    }
    return writer.bytes
  }

  /// A pack of entries of one replica.
  init?(packing parts: [LogEntry]) {
    guard var pack = parts.last, let number = parts.map(\.number).max(), let last = parts.map(\.rawSequence).max()
    else { return nil }
    if parts.count > 1 {
      (pack.number, pack.rawSequence) = (number, last)
      pack.items = Self.pack(parts, in: pack)
    }
    self = pack
  }
}

/// A row of the change log from which entries are taken.
struct OpenLogRow {
  let row: LogEntry
  private var parts: [LogEntry]

  init(_ row: LogEntry) { (self.row, parts) = (row, row.parts) }

  /// Takes out the entry that lists these items and nothing else.
  /// - Returns: whether there was one.
  mutating func remove(_ entry: LogTail.Needless) -> Bool {
    let place = parts.firstIndex { $0.isOf(entry.sequence) && $0.items == entry.items }
    guard let place, row.replica == entry.replica else { return false }
    parts.remove(at: place)
    return true
  }

  /// The items of what is left; nil if nothing is.
  var items: [UInt8]? { parts.isEmpty ? nil : LogEntry.pack(parts, in: row) }
}

/// The head of each entry in a pack, before its items.
struct PackHead {
  /// By how much the number of the row, and its sequence, are greater than those of the entry.
  var numberBack: UInt64
  var sequenceBack: UInt64
  var byteCount: Int

  /// Reads the head of an entry, which must have items.
  init(_ reader: inout ByteReader) throws(WireError) {
    guard try reader.varint() == UInt64(LogEntry.packMark) else {
      throw WireError(.malformed, "a pack of the change log")
    }
    (numberBack, sequenceBack) = (try reader.varint(), try reader.varint())
    byteCount = try reader.count(ofElementsWithAtLeast: 1, "bytes of an entry")
    guard byteCount > 0 else { throw WireError(.malformed, "a pack of the change log") }
  }

  static func write(_ numberBack: UInt64, _ sequenceBack: UInt64, _ byteCount: Int, to writer: inout ByteWriter) {
    writer.varint(UInt64(LogEntry.packMark))
    writer.varint(numberBack)
    writer.varint(sequenceBack)
    writer.varint(byteCount)
  }
}

extension StateReader {
  /// Calls `body` with each entry of the change log, in the order in which they came.
  package func forEachLogEntry(_ body: (LogEntry) throws -> Void) throws {
    // Not by the index, which has another order.
    let query = try SQLStatement(connection, "SELECT n, replica, sequence, items FROM tally_log WHERE +zone = 0")
    while try query.step() { for entry in LogEntry(query).parts { try body(entry) } }
    for entry in try tail().entries { try body(LogEntry(entry)) }
  }

  /// Whether the change log has rows of a zone that there is not: the disk has changed them, and nobody finds them.
  func logHasOtherZones() throws -> Bool {
    let query = try connection.statement(
      "SELECT EXISTS (SELECT 1 FROM tally_log WHERE zone > 0) OR EXISTS (SELECT 1 FROM tally_log WHERE zone < 0)")
    defer { query.reset() }
    return try query.step() && query.int(0) != 0
  }

  /// The entries of one transaction.
  package func logEntries(of dot: Dot) throws -> [LogEntry] {
    guard let number = catalog.replicaNumbers[dot.replica] else { return [] }
    let query = try connection.statement(
      """
      SELECT n, replica, sequence, items FROM tally_log WHERE zone = 0 AND replica = ?1 AND sequence >= ?2
        AND (sequence = ?2 OR length(items) <= ?3 AND substr(items, 1, 1) = x'00')
      """)
    defer { query.reset() }
    query.bind(1, number)
    query.bind(2, Int64(dot.sequence))
    query.bind(3, LogEntry.mostPackBytes)
    var entries: [LogEntry] = []
    while try query.step() {
      for entry in LogEntry(query).parts where try entry.sequence == dot.sequence { entries.append(entry) }
    }
    for entry in try tail().entries where entry.replica == number && entry.sequence == dot.sequence {
      entries.append(LogEntry(entry))
    }
    return entries
  }
}
