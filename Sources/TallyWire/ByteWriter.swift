/// Appends the primitive elements of the wire format to a byte array.
package struct ByteWriter {
  package var bytes: [UInt8] = []

  package init() {}

  @inline(__always)
  package mutating func byte(_ value: UInt8) { bytes.append(value) }

  /// An unsigned LEB128 number: seven bits a byte, least significant first.
  @inline(__always)
  package mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  @inline(__always)
  package mutating func varint(_ value: Int) { varint(UInt64(value)) }

  /// A signed number, zigzag: 0, -1, 1, -2, …
  @inline(__always)
  package mutating func zigzag(_ value: Int64) { varint(UInt64(bitPattern: value << 1 ^ value >> 63)) }

  /// Eight bytes, big-endian.
  package mutating func fixed(_ value: UInt64) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// A length and the UTF-8 bytes.
  package mutating func text(_ value: String) {
    varint(value.utf8.count)
    bytes.append(contentsOf: value.utf8)
  }
}
