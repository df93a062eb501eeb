import TallyCRDT

/// A value of a packed record, where it stands in the record's memory.
package enum PackedValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafeBufferPointer<UInt8>)
  case blob(UnsafeRawBufferPointer)
  /// A text that is a record name with a UUID as its key.
  case name(type: UnsafeBufferPointer<UInt8>, high: UInt64, low: UInt64)

  /// A value from the bytes that `PackedRecords.forEachValue` hands out, which were checked when they were packed.
  @inline(__always)
  package init(_ bytes: UnsafeRawBufferPointer) {
    var offset = 1
    func varint() -> UInt64 {
      var (result, shift): (UInt64, UInt64) = (0, 0)
      while true {
        let byte = bytes[offset]
        offset += 1
        result |= UInt64(byte & 0x7F) << shift
        guard byte & 0x80 != 0 else { return result }
        shift += 7
      }
    }
    func word(at offset: Int) -> UInt64 {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    switch bytes[0] {
    case ValueClass.integer:
      let number = varint()
      self = .integer(Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1))
    case ValueClass.real: self = .real(Double(bitPattern: word(at: 1)))
    case ValueClass.text:
      _ = varint()
      self = .text(UnsafeRawBufferPointer(rebasing: bytes[offset...]).bindMemory(to: UInt8.self))
    case ValueClass.blob:
      _ = varint()
      self = .blob(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    case ValueClass.name:
      let count = Int(varint())
      let type = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]).bindMemory(to: UInt8.self)
      self = .name(type: type, high: word(at: offset + count), low: word(at: offset + count + 8))
    default: self = .null
    }
  }
}

extension Value {
  /// Calls `body` with the value where it is.
  package func withPacked<T>(_ body: (PackedValue) throws -> T) rethrows -> T {
    switch self {
    case .null: try body(.null)
    case .integer(let number): try body(.integer(number))
    case .real(let number): try body(.real(number))
    case .text(var text): try text.withUTF8 { try body(.text($0)) }
    case .blob(let bytes): try bytes.withUnsafeBytes { try body(.blob($0)) }
    }
  }
}
