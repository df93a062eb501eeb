/// Bytes by eights: the standard library's collections go one by one.
extension UnsafeBufferPointer<UInt8> {
  /// Whether both have the same bytes.
  package func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    let (left, right) = (UnsafeRawBufferPointer(self), UnsafeRawBufferPointer(other))
    var offset = 0
    while offset + 8 <= count {
      let word = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      guard word == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self) else { return false }
      offset += 8
    }
    while offset < count {
      guard left[offset] == right[offset] else { return false }
      offset += 1
    }
    return true
  }

  /// Whether these bytes come before others, as unsigned numbers. Of two of which one begins with the other, the
  /// shorter comes first.
  package func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    let (left, right) = (UnsafeRawBufferPointer(self), UnsafeRawBufferPointer(other))
    let common = Swift.min(count, other.count)
    var offset = 0
    while offset + 8 <= common {
      let mine = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let theirs = right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if mine != theirs { return mine.bigEndian < theirs.bigEndian }
      offset += 8
    }
    while offset < common {
      if left[offset] != right[offset] { return left[offset] < right[offset] }
      offset += 1
    }
    return count < other.count
  }

  /// Whether no byte has its high bit set.
  package var isASCII: Bool {
    let raw = UnsafeRawBufferPointer(self)
    var offset = 0
    while offset + 8 <= count {
      let word = raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      guard word & 0x8080_8080_8080_8080 == 0 else { return false }
      offset += 8
    }
    while offset < count {
      guard raw[offset] < 0x80 else { return false }
      offset += 1
    }
    return true
  }
}
