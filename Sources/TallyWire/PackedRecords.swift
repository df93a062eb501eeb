import TallyCRDT

/// Records of one type of which each has one stamp and a UUID as its key, with values that are bytes of the wire format already.
///
/// Most records of most stores are such, and a full delta is made of them: they go from the database's rows to a block without
/// becoming states in between.
package struct PackedRecords {
  struct Item {
    var high: UInt64
    var low: UInt64
    /// The place in `stamps`.
    var stamp: Int
    /// Bit *i* for a cell of field *i*.
    var mask: UInt64
    /// Where the values stand in `bytes`.
    var start: Int
    var end: Int
  }

  /// The most fields that a type may have to be packed.
  package static let maximumFields = 64

  package let type: String
  /// The wire names of the fields, ascending by bytes.
  package let fields: [String]
  private(set) var items: [Item] = []
  private(set) var stamps: [Stamp] = []
  /// The fields that some record has.
  private(set) var used: UInt64 = 0
  private var numbers: [Stamp: Int] = [:]
  private var bytes: [UInt8]
  private var end = 0

  package init(type: String, fields: [String]) {
    (self.type, self.fields) = (type, fields)
    bytes = [UInt8](repeating: 0, count: 1 << 16)
  }

  /// Forgets the records and keeps the memory.
  package mutating func removeAll() {
    items.removeAll(keepingCapacity: true)
    stamps.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    (used, end) = (0, 0)
  }

  /// Adds a record. `fill` writes its values, at most `limit` bytes, and tells which fields they are; nil to leave the record out.
  /// - Returns: the number of bytes, or nil if the record was left out.
  package mutating func append(
    _ key: (high: UInt64, low: UInt64), _ stamp: Stamp, limit: Int, _ fill: (inout ValuePacker) -> UInt64?
  ) -> Int? {
    while bytes.count < end + limit { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
    let start = end
    let packed = bytes.withUnsafeMutableBytes { raw -> (mask: UInt64, count: Int)? in
      var packer = ValuePacker(UnsafeMutableRawBufferPointer(rebasing: raw[start..<start + limit]))
      return fill(&packer).map { ($0, packer.count) }
    }
    guard let packed else { return nil }
    end = start + packed.count
    items.append(
      Item(high: key.high, low: key.low, stamp: number(of: stamp), mask: packed.mask, start: start, end: end))
    used |= packed.mask
    return packed.count
  }

  private mutating func number(of stamp: Stamp) -> Int {
    if let last = items.last, stamps[last.stamp] == stamp { return last.stamp }
    if let known = numbers[stamp] { return known }
    numbers[stamp] = stamps.count
    stamps.append(stamp)
    return stamps.count - 1
  }

  func values(of item: Item, to writer: inout ByteWriter) {
    bytes.withUnsafeBytes { writer.bytes.append(contentsOf: $0[item.start..<item.end]) }
  }
}

/// Writes values in the form of the wire into memory that is large enough for them.
package struct ValuePacker {
  /// The most bytes that a value of so many bytes takes: its tag, a number of ten bytes, and itself.
  package static func limit(_ byteCount: Int) -> Int { 11 + byteCount }

  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  package mutating func null() { byte(0) }

  package mutating func integer(_ number: Int64) {
    byte(1)
    varint(UInt64(bitPattern: number << 1 ^ number >> 63))
  }

  /// Neither NaN nor negative zero.
  package mutating func real(_ number: Double) {
    byte(2)
    memory.storeBytes(of: number.bitPattern.bigEndian, toByteOffset: count, as: UInt64.self)
    count += 8
  }

  /// Valid UTF-8.
  package mutating func text(_ text: UnsafeRawBufferPointer) { sized(3, text) }

  package mutating func blob(_ bytes: UnsafeRawBufferPointer) { sized(4, bytes) }

  private mutating func sized(_ tag: UInt8, _ bytes: UnsafeRawBufferPointer) {
    byte(tag)
    varint(UInt64(bytes.count))
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
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

/// A block that is being made: items as states, and records that are packed.
package struct BlockDraft {
  package var block: DeltaBlock
  package var packed: [PackedRecords]

  package init(_ block: DeltaBlock, packed: [PackedRecords] = []) {
    (self.block, self.packed) = (block, packed)
  }

  package var isEmpty: Bool { block.isEmpty && packed.allSatisfy { $0.items.isEmpty } }
}
