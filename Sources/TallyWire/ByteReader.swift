import TallyCRDT

/// Reads the primitive elements of the wire format. Never reads past the end, never trusts a length before checking it.
package struct ByteReader {
  package let bytes: UnsafeRawBufferPointer
  package private(set) var offset = 0

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  package var remaining: Int { bytes.count - offset }

  /// The byte that is read next; nil at the end.
  var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  @inline(__always)
  package mutating func byte() throws(WireError) -> UInt8 {
    guard offset < bytes.count else { throw WireError(.truncated, "the bytes end within a number") }
    defer { offset += 1 }
    return bytes[offset]
  }

  /// An unsigned LEB128 number in its shortest form.
  @inline(__always)
  package mutating func varint() throws(WireError) -> UInt64 {
    var result: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      let bits = UInt64(next & 0x7F)
      guard shift < 63 || (shift == 63 && bits <= 1) else { throw WireError(.malformed, "a number exceeds 64 bits") }
      result |= bits << shift
      if next & 0x80 == 0 {
        guard next != 0 || shift == 0 else { throw WireError(.malformed, "a number is not in its shortest form") }
        return result
      }
      shift += 7
    }
  }

  /// A number that must not exceed `limit`.
  package mutating func count(limit: Int, _ what: StaticString) throws(WireError) -> Int {
    let value = try varint()
    guard value <= UInt64(limit) else { throw WireError(.limitExceeded, "\(what): \(value) exceeds \(limit)") }
    return Int(value)
  }

  /// A number of elements of at least `size` bytes each: checked against what is left before anything is allocated.
  package mutating func count(ofElementsWithAtLeast size: Int, _ what: StaticString) throws(WireError) -> Int {
    try count(limit: remaining / size, what)
  }

  package mutating func zigzag() throws(WireError) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  package mutating func fixed() throws(WireError) -> UInt64 {
    let raw = try take(8)
    return UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self))
  }

  package mutating func take(_ count: Int) throws(WireError) -> UnsafeRawBufferPointer {
    guard count <= remaining else { throw WireError(.truncated, "the bytes end within an element") }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  /// A length and valid UTF-8.
  package mutating func text(limit: Int, _ what: StaticString) throws(WireError) -> String {
    let raw = try take(count(limit: limit, what)).bindMemory(to: UInt8.self)
    // Names of types and fields nearly always are, and validating costs more than the rest.
    if raw.isASCII { return String(decoding: raw, as: UTF8.self) }
    guard let text = String(validating: raw, as: UTF8.self) else {
      throw WireError(.malformed, "\(what) is not UTF-8")
    }
    return text
  }

  package mutating func identifier(_ what: StaticString) throws(WireError) -> String {
    let name = try text(limit: WireLimits.identifierBytes, what)
    guard AnyRecordName.isIdentifier(name.utf8) else { throw WireError(.malformed, "\(what) is not an identifier") }
    return name
  }
}
