import TallyCRDT

/// Records of one type of which each has one stamp and a UUID as its key, with values that are bytes of the wire format
/// already: inserts, edits by one transaction, and deletes.
///
/// Most records of most stores are such, and most deltas are made of them: they go from the database's rows to a block,
/// and from a block to rows, without becoming states in between.
package struct PackedRecords: Sendable {
  package enum Content: Sendable {
    /// Existence and registers.
    case insert
    /// Registers, one at least.
    case edit
    /// One delete and nothing else.
    case delete
  }

  package struct Item: Sendable {
    package var high: UInt64
    package var low: UInt64
    package var content: Content
    /// The place in `stamps`.
    package var stamp: Int
    /// Bit *i* for a cell of field *i*.
    package var mask: UInt64
    /// The position of the values in `bytes`, and of the end of the first in `ends`.
    var start: Int
    var firstEnd: Int
  }

  /// The fewest records that are worth the memory that all of them share.
  static let fewest = 4
  /// The most fields that a type may have to be packed.
  package static let maximumFields = 64

  package let type: String
  /// The keys of the fields (`FieldKey`), ascending by bytes.
  package let fields: [String]
  package private(set) var items: [Item] = []
  package private(set) var stamps: [Stamp] = []
  /// The contexts of the deletes, by the places of their stamps.
  private(set) var contexts: [Int: StateVector] = [:]
  /// The fields that some record has.
  private(set) var used: UInt64 = 0
  /// The number of bytes of the values of each field.
  private(set) var byteCounts: [Int]
  private var numbers: [Stamp: Int] = [:]
  private var bytes: [UInt8]
  private var end = 0
  /// The end of each value in `bytes`, record by record.
  private var ends: [Int] = []

  /// No records as yet. There is room for values of `byteCount` bytes, which is how many they will have if that is
  /// known.
  package init(type: String, fields: [String], byteCount: Int = 1 << 16) {
    (self.type, self.fields) = (type, fields)
    bytes = [UInt8](repeating: 0, count: max(1, byteCount))
    byteCounts = [Int](repeating: 0, count: fields.count)
  }

  /// Forgets the records and keeps the memory.
  package mutating func removeAll() {
    items.removeAll(keepingCapacity: true)
    stamps.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    contexts.removeAll()
    ends.removeAll(keepingCapacity: true)
    for field in byteCounts.indices { byteCounts[field] = 0 }
    (used, end) = (0, 0)
  }

  /// Adds an insert or an edit. `fill` writes its values, at most `limit` bytes, in the order of the fields, and tells
  /// which fields they are; nil to leave the record out.
  /// - Returns: the number of bytes, or nil if the record was left out.
  package mutating func append(
    _ key: (high: UInt64, low: UInt64), _ stamp: Stamp, _ content: Content = .insert, limit: Int,
    _ fill: (inout ValuePacker) -> UInt64?
  ) -> Int? {
    while bytes.count < end + limit { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
    let (start, firstEnd) = (end, ends.count)
    ends.append(contentsOf: repeatElement(0, count: fields.count))
    let packed = bytes.withUnsafeMutableBytes { raw in
      ends.withUnsafeMutableBufferPointer { ends -> (mask: UInt64, count: Int, values: Int)? in
        var packer = ValuePacker(
          UnsafeMutableRawBufferPointer(rebasing: raw[..<(start + limit)]), from: start,
          ends: UnsafeMutableBufferPointer(rebasing: ends[firstEnd...]))
        return fill(&packer).map { ($0, packer.count - start, packer.values) }
      }
    }
    ends.removeLast(fields.count - (packed?.values ?? 0))
    guard let packed else { return nil }
    end = start + packed.count
    items.append(
      Item(
        high: key.high, low: key.low, content: content, stamp: number(of: stamp), mask: packed.mask, start: start,
        firstEnd: firstEnd))
    used |= packed.mask
    count(packed.mask, from: start, firstEnd)
    return packed.count
  }

  /// Adds a delete. Those of one stamp have seen the same.
  package mutating func append(_ key: (high: UInt64, low: UInt64), _ delete: Delete) {
    let number = number(of: delete.stamp)
    if contexts[number] == nil { contexts[number] = delete.context }
    items.append(
      Item(
        high: key.high, low: key.low, content: .delete, stamp: number, mask: 0, start: end, firstEnd: ends.count))
  }

  private mutating func count(_ mask: UInt64, from start: Int, _ firstEnd: Int) {
    var (start, place, rest) = (start, firstEnd, mask)
    while rest != 0 {
      byteCounts[rest.trailingZeroBitCount] += ends[place] - start
      (start, place, rest) = (ends[place], place + 1, rest & (rest - 1))
    }
  }

  private mutating func number(of stamp: Stamp) -> Int {
    if let last = items.last, stamps[last.stamp] == stamp { return last.stamp }
    if let known = numbers[stamp] { return known }
    numbers[stamp] = stamps.count
    stamps.append(stamp)
    return stamps.count - 1
  }

  /// The values of all records, as long as they are at hand.
  package struct Values {
    fileprivate let bytes: UnsafeRawBufferPointer
    fileprivate let ends: UnsafeBufferPointer<Int>

    /// Hands out the bytes of a record's values, ascending by field.
    @inline(__always)
    package func forEach(of item: Item, _ body: (_ field: Int, UnsafeRawBufferPointer) -> Void) {
      var (start, place, rest) = (item.start, item.firstEnd, item.mask)
      while rest != 0 {
        let end = ends[place]
        body(rest.trailingZeroBitCount, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        (start, place, rest) = (end, place + 1, rest & (rest - 1))
      }
    }
  }

  /// Calls `body` with the values, which stay where they are meanwhile.
  @inline(__always)
  package func withValues<T>(_ body: (Values) throws -> T) rethrows -> T {
    try bytes.withUnsafeBytes { bytes in
      try ends.withUnsafeBufferPointer { try body(Values(bytes: bytes, ends: $0)) }
    }
  }

  /// Hands out the bytes of a record's values, ascending by field.
  @inline(__always)
  func forEachValue(of item: Item, _ body: (_ field: Int, UnsafeRawBufferPointer) -> Void) {
    withValues { $0.forEach(of: item, body) }
  }
}

/// Writes values in the form of the wire into memory that is large enough for them.
package struct ValuePacker {
  /// The most bytes that a value of so many bytes takes: its class, a number of ten bytes, and itself.
  package static func limit(_ byteCount: Int) -> Int { 11 + byteCount }

  private let memory: UnsafeMutableRawBufferPointer
  private let ends: UnsafeMutableBufferPointer<Int>
  private(set) var count: Int
  private(set) var values = 0

  init(_ memory: UnsafeMutableRawBufferPointer, from start: Int, ends: UnsafeMutableBufferPointer<Int>) {
    (self.memory, self.ends, count) = (memory, ends, start)
  }

  package mutating func null() {
    byte(ValueClass.null)
    end()
  }

  package mutating func integer(_ number: Int64) {
    byte(ValueClass.integer)
    varint(UInt64(bitPattern: number << 1 ^ number >> 63))
    end()
  }

  /// Neither NaN nor negative zero.
  package mutating func real(_ number: Double) {
    byte(ValueClass.real)
    fixed(number.bitPattern)
    end()
  }

  /// Valid UTF-8.
  package mutating func text(_ text: UnsafeBufferPointer<UInt8>) {
    guard let name = RecordKey.name(text) else { return sized(ValueClass.text, UnsafeRawBufferPointer(text)) }
    byte(ValueClass.name)
    byte(UInt8(name.typeCount))
    copy(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[..<name.typeCount]))
    fixed(name.high)
    fixed(name.low)
    end()
  }

  package mutating func blob(_ bytes: UnsafeRawBufferPointer) { sized(ValueClass.blob, bytes) }

  /// A value in the form of the wire.
  package mutating func value(_ bytes: UnsafeRawBufferPointer) {
    copy(bytes)
    end()
  }

  private mutating func sized(_ tag: UInt8, _ bytes: UnsafeRawBufferPointer) {
    byte(tag)
    varint(UInt64(bytes.count))
    copy(bytes)
    end()
  }

  @inline(__always)
  private mutating func end() {
    ends[values] = count
    values += 1
  }

  @inline(__always)
  private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  @inline(__always)
  private mutating func fixed(_ value: UInt64) {
    memory.storeBytes(of: value.bigEndian, toByteOffset: count, as: UInt64.self)
    count += 8
  }

  @inline(__always)
  private mutating func byte(_ value: UInt8) {
    memory[count] = value
    count += 1
  }

  @inline(__always)
  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      byte(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    byte(UInt8(rest))
  }
}

extension PackedRecords {
  /// A record as the block's other items are.
  package func record(_ item: Item) throws(WireError) -> DeltaBlock.Record {
    let cells = try cells(of: item) { FieldID(rawValue: UInt32($0)) }
    let state =
      switch item.content {
      case .insert: RecordState(inserted: stamps[item.stamp], fields: cells)
      case .edit: RecordState(fields: cells)
      case .delete: RecordState(delete: delete(item))
      }
    return DeltaBlock.Record(name: try name(of: item), state: state)
  }

  /// The delete of a record that has one.
  package func delete(_ item: Item) -> Delete {
    Delete(stamp: stamps[item.stamp], context: contexts[item.stamp] ?? StateVector())
  }

  package func name(of item: Item) throws(WireError) -> AnyRecordName {
    try RecordKey.name(type: type, high: item.high, low: item.low)
  }

  /// A record's registers. `number` gives the number that each field has in them.
  package func cells(of item: Item, _ number: (_ field: Int) -> FieldID) throws(WireError) -> [FieldCell] {
    let stamp = stamps[item.stamp]
    var cells: [FieldCell] = []
    cells.reserveCapacity(item.mask.nonzeroBitCount)
    var failure: WireError?
    forEachValue(of: item) { field, bytes in
      do throws(WireError) {
        var reader = ByteReader(bytes)
        let cell = FieldCell(field: number(field), stamp: stamp, value: try reader.value())
        cells.append(cell)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return cells
  }
}

/// A block that is being made or was read: items as states, and records that are packed.
package struct BlockDraft: Sendable {
  package var block: DeltaBlock
  package var packed: [PackedRecords]

  package init(_ block: DeltaBlock, packed: [PackedRecords] = []) {
    (self.block, self.packed) = (block, packed)
  }

  package var isEmpty: Bool { block.isEmpty && packed.allSatisfy { $0.items.isEmpty } }

  /// The number of records and links.
  package var count: Int {
    block.records.reduce(0) { $0 + $1.items.count } + block.links.reduce(0) { $0 + $1.items.count }
      + packed.reduce(0) { $0 + $1.items.count }
  }

  /// The block with all records as states.
  package func unpacked() throws(WireError) -> DeltaBlock {
    var block = block
    for group in packed where !group.items.isEmpty {
      var records = DeltaBlock.Records(type: group.type, fields: group.fields, items: [])
      for item in group.items { records.items.append(try group.record(item)) }
      // The fields of both are those of the group that was read.
      if let place = block.records.firstIndex(where: { $0.type == group.type }) {
        block.records[place].items += records.items
      } else {
        block.records.append(records)
      }
    }
    return block
  }
}
