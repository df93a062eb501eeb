import GRDB
import TallyCRDT
import TallyWire

/// The newest entries of the vector and of the change log. They stand in the row of the fingerprint, which every
/// transaction writes in any case, so that a small one need not write their tables.
///
/// It is short, and moves into the tables when it would not be: see `Log.flushTail`. Each replica's entry of
/// the vector here takes the place of the one in `tally_vector`; entries of the log come after those in `tally_log`.
package struct LogTail: Sendable {
  /// An entry of the change log.
  package struct Entry: Equatable, Sendable {
    /// The number that its row of `tally_log` will have.
    package var number: Int
    package var replica: ReplicaNumber
    package var sequence: UInt64
    package var items: [UInt8]
  }

  /// An entry of the vector.
  package struct Raised: Equatable, Sendable {
    package var replica: ReplicaNumber
    package var sequence: UInt64
  }

  /// In the order in which they came.
  package private(set) var entries: [Entry] = []
  /// By replica.
  package private(set) var vector: [Raised] = []
  /// Whether the disk has changed it: then nothing of it is known.
  package private(set) var isDamaged = false
  /// The bytes of `entries`.
  private var encoded: [UInt8] = []
  /// Whether it is not what was last read or written.
  var isChanged = false

  /// The most bytes of entries, and of those of one transaction: others go to the table at once.
  static let mostBytes = 2048
  static let mostBytesOfOne = 256
  /// The most entries of the vector.
  static let mostRaised = 16

  package init() {}

  var isEmpty: Bool { entries.isEmpty && vector.isEmpty && !isDamaged }

  // MARK: Changing

  /// Whether there is room for items of so many bytes.
  func hasRoom(for count: Int) -> Bool {
    encoded.count + count + Self.mostBytesOfHead <= Self.mostBytes
  }

  mutating func append(_ number: Int, _ replica: ReplicaNumber, _ sequence: UInt64, _ items: [UInt8]) {
    let entry = Entry(number: number, replica: replica, sequence: sequence, items: items)
    Self.encode(entry, after: entries.last, to: &encoded)
    entries.append(entry)
    isChanged = true
  }

  /// Whether half of what it can hold has room.
  var isHalfEmpty: Bool { 2 * encoded.count <= Self.mostBytes }

  /// Drops entries of which there is a later one of the same replica and the same items.
  mutating func dropOutdated() {
    var latest: [Items: UInt64] = [:]
    for entry in entries {
      let items = Items(replica: entry.replica, bytes: entry.items)
      latest[items] = max(latest[items] ?? 0, entry.sequence)
    }
    guard latest.count < entries.count else { return }
    entries.removeAll { entry in
      let items = Items(replica: entry.replica, bytes: entry.items)
      guard latest[items] == entry.sequence else { return true }
      // Of equal ones the first stays.
      latest[items] = .max
      return false
    }
    encodeAnew()
  }

  private struct Items: Hashable {
    var replica: ReplicaNumber
    var bytes: [UInt8]
  }

  /// Raises an entry of the vector, or sets it for the first time.
  mutating func raise(_ replica: ReplicaNumber, to sequence: UInt64) {
    isChanged = true
    let entry = Raised(replica: replica, sequence: sequence)
    guard let place = vector.firstIndex(where: { $0.replica >= replica }) else { return vector.append(entry) }
    if vector[place].replica == replica { vector[place] = entry } else { vector.insert(entry, at: place) }
  }

  /// The replicas that it names.
  var replicas: Set<ReplicaNumber> { Set(vector.map(\.replica) + entries.map(\.replica)) }

  /// Whether it has an entry of the vector for this replica.
  func raises(_ replica: ReplicaNumber) -> Bool { vector.contains { $0.replica == replica } }

  /// Forgets entries of the vector.
  mutating func forgetVector(where condition: (ReplicaNumber) -> Bool = { _ in true }) {
    isChanged = isChanged || !vector.isEmpty
    vector.removeAll { condition($0.replica) }
  }

  mutating func forgetEntries() {
    isChanged = isChanged || !entries.isEmpty
    (entries, encoded) = ([], [])
  }

  /// Gives the entries other numbers, from this one on.
  mutating func renumber(from first: Int) {
    for index in entries.indices { entries[index].number = first + index }
    encodeAnew()
  }

  // MARK: Bytes

  /// The checksum, and the most bytes that stand before an entry's items.
  private static let sumSize = 8
  private static let mostBytesOfHead = 24

  private mutating func encodeAnew() {
    isChanged = true
    encoded.removeAll(keepingCapacity: true)
    var last: Entry?
    for entry in entries {
      Self.encode(entry, after: last, to: &encoded)
      last = entry
    }
  }

  private static func encode(_ entry: Entry, after last: Entry?, to bytes: inout [UInt8]) {
    var writer = ByteWriter()
    swap(&writer.bytes, &bytes)
    writer.varint(entry.number - (last?.number ?? 0))
    swap(&writer.bytes, &bytes)
    encode(entry.replica, entry.sequence, entry.items, to: &bytes)
  }

  static func encode(
    _ replica: ReplicaNumber, _ sequence: UInt64, _ items: [UInt8], to bytes: inout [UInt8]
  ) {
    var writer = ByteWriter()
    swap(&writer.bytes, &bytes)
    writer.varint(replica.rawValue)
    writer.varint(sequence)
    writer.varint(items.count)
    writer.bytes += items
    swap(&writer.bytes, &bytes)
  }

  /// Calls `body` with the bytes of the fingerprint, and of the column, which a file of version 3 does not have.
  /// - Returns: nil if there is no such row.
  static func withColumn<T>(_ connection: Connection, _ body: ([UInt8], [UInt8]?) -> T) throws -> T? {
    var query: SQLStatement
    do {
      query = try connection.statement("SELECT fingerprint, tail FROM tally_zone WHERE n = 0")
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      query = try connection.statement("SELECT fingerprint FROM tally_zone WHERE n = 0")
    }
    defer { query.reset() }
    guard try query.step() else { return nil }
    return body(query.blob(0), query.columnCount > 1 ? query.blob(1) : nil)
  }

  /// The tail of a file.
  static func load(_ connection: Connection) throws -> LogTail {
    try withColumn(connection) { LogTail($1 ?? []) } ?? LogTail()
  }

  /// The value of the column; nil for null, if nothing is in it.
  var bytes: [UInt8]? {
    guard !isEmpty else { return nil }
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(
      Self.mostBytesOfHead * (2 + vector.count) + encoded.count)
    writer.fixed(0)
    writer.varint(vector.count)
    for entry in vector {
      writer.varint(entry.replica.rawValue)
      writer.varint(entry.sequence)
    }
    // Format 5 had entries here that were to be dropped from the table.
    writer.varint(0)
    writer.bytes += encoded
    let sum = Self.sum(writer.bytes[Self.sumSize...]).bigEndian
    writer.bytes.withUnsafeMutableBytes { $0.storeBytes(of: sum, as: UInt64.self) }
    return writer.bytes
  }

  private static func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.withUnsafeBytes { SipHash13.hash($0) } }

  /// Reads the column; gives nothing but `isDamaged` if these are not the bytes that were written.
  package init(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    if let sound = Self(sound: bytes) { self = sound } else { isDamaged = true }
  }

  private init?(sound bytes: [UInt8]) {
    guard bytes.count > Self.sumSize, Self.sum(bytes[Self.sumSize...]) == bytes[..<Self.sumSize].reduce(0, Self.shift)
    else { return nil }
    do {
      try bytes.withUnsafeBytes { try read($0) }
    } catch {
      return nil
    }
  }

  private static func shift(_ sum: UInt64, _ byte: UInt8) -> UInt64 { sum << 8 | UInt64(byte) }

  private mutating func read(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    var reader = ByteReader(bytes)
    _ = try reader.take(Self.sumSize)
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 2, "entries of the vector")) {
      let replica = try Self.replica(&reader)
      raise(replica, to: try Self.sequence(&reader))
    }
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 3, "entries to drop")) {
      _ = try Self.listed(&reader)
    }
    encoded = Array(bytes[reader.offset...])
    while reader.remaining > 0 {
      let step = try reader.varint()
      guard let step = Int(exactly: step), step > 0 else { throw WireError(.malformed, "a number of the log") }
      let (number, isTooLarge) = (entries.last?.number ?? 0).addingReportingOverflow(step)
      guard !isTooLarge else { throw WireError(.malformed, "a number of the log") }
      let (replica, sequence, items) = try Self.listed(&reader)
      entries.append(Entry(number: number, replica: replica, sequence: sequence, items: items))
    }
    isChanged = false
  }

  static func listed(_ reader: inout ByteReader) throws(WireError) -> (ReplicaNumber, UInt64, [UInt8]) {
    let (replica, sequence) = (try replica(&reader), try sequence(&reader))
    let count = try reader.count(ofElementsWithAtLeast: 1, "bytes of an entry")
    return (replica, sequence, Array(try reader.take(count)))
  }

  static func sequence(_ reader: inout ByteReader) throws(WireError) -> UInt64 {
    let sequence = try reader.varint()
    guard sequence <= UInt64(Int64.max) else { throw WireError(.malformed, "a sequence") }
    return sequence
  }

  static func replica(_ reader: inout ByteReader) throws(WireError) -> ReplicaNumber {
    guard let number = Int(exactly: try reader.varint()), number > 0 else {
      throw WireError(.malformed, "a number of a replica")
    }
    return ReplicaNumber(rawValue: number)
  }

  /// The tail before one bit of it was flipped; nil if that is not what has happened.
  static func mended(_ bytes: [UInt8]) -> LogTail? {
    guard bytes.count <= 2 * mostBytes else { return nil }
    var bytes = bytes
    for place in bytes.indices {
      for bit in 0..<8 {
        bytes[place] ^= 1 << UInt8(bit)
        if let sound = Self(sound: bytes) { return sound }
        bytes[place] ^= 1 << UInt8(bit)
      }
    }
    return nil
  }
}

extension LogTail: Equatable {
  package static func == (one: LogTail, other: LogTail) -> Bool {
    one.entries == other.entries && one.vector == other.vector && one.isDamaged == other.isDamaged
  }
}
