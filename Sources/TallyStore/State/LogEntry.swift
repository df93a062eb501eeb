import TallyCRDT
import TallyWire

/// An entry of the change log, in the tail or in its table: the items that one transaction has written.
package struct LogEntry {
  package var number: Int
  package var replica: ReplicaNumber
  package var sequence: UInt64
  package var items: [UInt8]
}

extension LogEntry {
  package init(_ entry: LogTail.Entry) {
    (number, replica, sequence, items) = (entry.number, entry.replica, entry.sequence, entry.items)
  }
}

/// A row of the change log's table: entries of one replica, under the greatest number and sequence among them.
///
/// Its bytes are a mark, a checksum, and for each entry a head and its items. A row of format 5 has no checksum: it is
/// a single entry's items, or a pack.
package struct LogRow {
  package let number: Int
  package let replica: ReplicaNumber
  /// As it is stored.
  private let rawSequence: Int64
  package let bytes: [UInt8]

  /// The columns that `init(_:)` reads, in their order.
  package static let columns = "n, replica, sequence, items"

  /// The row of a statement that gives `columns`.
  package init(_ query: SQLStatement) {
    (number, replica, rawSequence, bytes) = (query.int(0), query.number(1), query.int64(2), query.blob(3))
  }

  /// A row for entries of one replica, which must not be empty.
  init(_ entries: [LogEntry], number: Int, sequence: UInt64) {
    let (replica, rawSequence) = (entries[0].replica, Int64(clamping: sequence))
    (self.number, self.replica, self.rawSequence) = (number, replica, rawSequence)
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(entries.reduce(Self.headSize) { $0 + $1.items.count + Self.mostHeadBytes })
    writer.bytes.append(Self.mark)
    writer.fixed(0)
    for entry in entries {
      // The disk may have moved rows as far apart as numbers go.
      let (back, isTooLarge) = number.subtractingReportingOverflow(entry.number)
      writer.varint(UInt64(clamping: isTooLarge ? .max : back))
      writer.varint(sequence - entry.sequence)
      writer.varint(entry.items.count)
      writer.bytes += entry.items
    }
    let sum = writer.bytes.withUnsafeBytes { Self.sum($0, replica, rawSequence) }.bigEndian
    writer.bytes.withUnsafeMutableBytes { $0.storeBytes(of: sum, toByteOffset: 1, as: UInt64.self) }
    bytes = writer.bytes
  }

  /// A row for entries of one replica; nil if there are none.
  init?(_ entries: [LogEntry]) {
    guard let number = entries.map(\.number).max(), let sequence = entries.map(\.sequence).max() else { return nil }
    self.init(entries, number: number, sequence: sequence)
  }

  /// - Throws: `StoreError.corrupt` if it is negative.
  package var sequence: UInt64 {
    get throws(StoreError) {
      guard let sequence = UInt64(exactly: rawSequence) else {
        throw StoreError(.corrupt, "a sequence number is negative")
      }
      return sequence
    }
  }

  /// The entries of the row.
  /// - Throws: `StoreError.corrupt` for bytes that are not those that were written.
  package func entries() throws -> [LogEntry] {
    let sequence = try sequence
    var entries: [LogEntry] = []
    do {
      try bytes.withUnsafeBytes { raw in
        try Self.forEach(raw, replica, rawSequence) { head, items throws(WireError) in
          // The number of a row is not in its checksum, and says no more than which entry came first.
          let (entryNumber, isBeyond) = number.subtractingReportingOverflow(Int(clamping: head.numberBack))
          entries.append(
            LogEntry(
              number: isBeyond ? .min : entryNumber, replica: replica, sequence: sequence - head.sequenceBack,
              items: Array(items)))
        }
      }
    } catch let error as WireError {
      throw StoreError(stored: error)
    }
    return entries
  }

  // MARK: Bytes

  /// The first byte of a row, and of a pack of format 5. No item begins with either, since no kind has the number zero.
  private static let (mark, formerMark): (UInt8, UInt8) = (1, 0)
  private static let headSize = 9
  /// What stands before the items of an entry, in any log that no disk has damaged.
  static let mostHeadBytes = 12
  /// More than any row of several entries has.
  package static let mostBytes = 1 << 14

  /// By how much the number of the row, and its sequence, are greater than those of an entry.
  typealias Head = (numberBack: UInt64, sequenceBack: UInt64)

  /// Calls `body` with the head and the items of each entry of a row. No sequence is greater than that of the row.
  static func forEach(
    _ row: UnsafeRawBufferPointer, _ replica: ReplicaNumber, _ sequence: Int64,
    _ body: (Head, UnsafeRawBufferPointer) throws(WireError) -> Void
  ) throws(WireError) {
    guard let first = row.first else { throw WireError(.malformed, "a row of the change log is empty") }
    guard first == mark || first == formerMark else { return try body((0, 0), row) }
    var reader = ByteReader(row)
    if first == mark {
      _ = try reader.take(1)
      guard try reader.fixed() == sum(row, replica, sequence) else {
        throw WireError(.malformed, "a row of the change log does not match its checksum")
      }
    }
    while reader.remaining > 0 {
      if first == formerMark, try reader.varint() != UInt64(formerMark) {
        throw WireError(.malformed, "a row of the change log")
      }
      let head = (try reader.varint(), try reader.varint())
      let count = try reader.count(ofElementsWithAtLeast: 1, "bytes of an entry")
      let items = try reader.take(count)
      guard let kind = items.first, kind > mark, sequence >= 0, head.1 <= UInt64(sequence) else {
        throw WireError(.malformed, "a row of the change log")
      }
      try body(head, items)
    }
  }

  private static func sum(_ row: UnsafeRawBufferPointer, _ replica: ReplicaNumber, _ sequence: Int64) -> UInt64 {
    var hash = SipHash13()
    hash.combine(word: UInt64(bitPattern: Int64(replica.rawValue)))
    hash.combine(word: UInt64(bitPattern: sequence))
    hash.combine(bytes: UnsafeRawBufferPointer(rebasing: row[min(headSize, row.count)...]))
    return hash.finalized()
  }
}

extension StateReader {
  /// Calls `body` with each entry of the change log, in the order in which they came as far as that is kept.
  /// - Throws: `StoreError.corrupt` for a row that cannot be read, unless `unreadable` takes it.
  package func forEachLogEntry(
    _ body: (LogEntry) throws -> Void, unreadable: ((StoreError) throws -> Void)? = nil
  ) throws {
    // Not by the index, which has another order.
    let query = try SQLStatement(connection, "SELECT \(LogRow.columns) FROM tally_log WHERE +zone = 0")
    while try query.step() {
      let entries: [LogEntry]
      do {
        entries = try LogRow(query).entries()
      } catch let error as StoreError {
        guard let unreadable else { throw error }
        try unreadable(error)
        continue
      }
      for entry in entries { try body(entry) }
    }
    for entry in try tail().entries { try body(LogEntry(entry)) }
  }

  /// Whether the change log has rows of a zone that there is not: the disk has changed them, and no look-up finds them.
  func logHasOtherZones() throws -> Bool {
    let query = try connection.statement(
      "SELECT EXISTS (SELECT 1 FROM tally_log WHERE zone > 0) OR EXISTS (SELECT 1 FROM tally_log WHERE zone < 0)")
    defer { query.reset() }
    return try query.step() && query.int(0) != 0
  }

  /// The dots of a record under which, or under later ones of their replicas, the change log must list it.
  ///
  /// All of them, but in a file of format 5 that was opened to read: there it lacks what deletes and lives had seen.
  package func listedDots(_ state: RecordState) throws -> Set<Dot> {
    let marks =
      state.deletes.map { ($0.stamp.dot, $0.context) } + (state.life.map { [($0.stamp.dot, $0.context)] } ?? [])
    guard !marks.isEmpty, try connection.integer("PRAGMA user_version") ?? 0 < Format.logVersion else {
      return state.dots
    }
    return state.dots.filter { dot in !marks.contains { $0.0 == dot || $0.1.covers(dot) } }
  }
}

/// The items that the change log lists, each under the latest transaction of each replica that has changed it.
///
/// Memory: 16 bytes for each item and replica, and a half more while it is made.
struct ListedItems {
  private var places: [(hash: UInt64, sequence: UInt64)] = []
  private var isSorted = true

  /// Whether it lists nothing.
  var isEmpty: Bool { places.isEmpty }

  mutating func add(_ replica: ReplicaID, _ sequence: UInt64, _ address: String) {
    places.append((Self.hash(replica, address), sequence))
    isSorted = false
    if places.count & (places.count - 1) == 0 { sort() }
  }

  /// Leaves of each item and replica the latest transaction. `lists` requires it.
  mutating func sort() {
    guard !isSorted else { return }
    places.sort { ($0.hash, $1.sequence) < ($1.hash, $0.sequence) }
    var end = 0
    for place in places where end == 0 || places[end - 1].hash != place.hash {
      places[end] = place
      end += 1
    }
    places.removeSubrange(end...)
    isSorted = true
  }

  /// Whether the log finds an item for each peer that lacks a transaction.
  func lists(_ dot: Dot, _ address: String) -> Bool {
    let hash = Self.hash(dot.replica, address)
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].hash < hash { low = middle + 1 } else { high = middle }
    }
    return low < places.count && places[low].hash == hash && places[low].sequence >= dot.sequence
  }

  private static func hash(_ replica: ReplicaID, _ address: String) -> UInt64 {
    var hash = SipHash()
    hash.combine(word: replica.high)
    hash.combine(word: replica.low)
    hash.combine(text: address)
    return hash.finalized()
  }

  /// The address of a record, or of a link with its second end.
  static func address(_ kind: KindNumber, _ name: AnyRecordName, _ target: AnyRecordName? = nil) -> String {
    "\(kind) \(name.text)\(target.map { "\n" + $0.text } ?? "")"
  }
}
