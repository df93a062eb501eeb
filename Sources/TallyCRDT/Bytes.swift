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

/// Bytes that are valid UTF-8.
extension UnsafeBufferPointer<UInt8> {
  private static func isInside(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

  /// The number of bytes that both begin with, of whole scalars.
  func commonStart(with other: UnsafeBufferPointer<UInt8>) -> Int {
    let (left, right) = (UnsafeRawBufferPointer(self), UnsafeRawBufferPointer(other))
    let limit = Swift.min(count, other.count)
    var common = 0
    while common + 8 <= limit {
      let mine = left.loadUnaligned(fromByteOffset: common, as: UInt64.self)
      guard mine == right.loadUnaligned(fromByteOffset: common, as: UInt64.self) else { break }
      common += 8
    }
    while common < limit, self[common] == other[common] { common += 1 }
    // Two scalars can begin with the same bytes.
    while common > 0,
      common < count && Self.isInside(self[common]) || common < other.count && Self.isInside(other[common])
    {
      common -= 1
    }
    return common
  }

  /// The number of bytes that both end with, of whole scalars, behind the first `start` of both.
  func commonEnd(with other: UnsafeBufferPointer<UInt8>, beyond start: Int) -> Int {
    let (left, right) = (UnsafeRawBufferPointer(self), UnsafeRawBufferPointer(other))
    let limit = Swift.min(count, other.count) - start
    var common = 0
    while common + 8 <= limit {
      let mine = left.loadUnaligned(fromByteOffset: count - common - 8, as: UInt64.self)
      guard mine == right.loadUnaligned(fromByteOffset: other.count - common - 8, as: UInt64.self) else { break }
      common += 8
    }
    while common < limit, self[count - common - 1] == other[other.count - common - 1] { common += 1 }
    while common > 0, Self.isInside(self[count - common]) { common -= 1 }
    return common
  }

  /// The number of scalars.
  var scalarCount: Int {
    let raw = UnsafeRawBufferPointer(self)
    var (offset, inside) = (0, 0)
    while offset + 8 <= count {
      let word = raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      // The bytes that begin with the bits 1 and 0.
      inside += (word & ~(word << 1) & 0x8080_8080_8080_8080).nonzeroBitCount
      offset += 8
    }
    while offset < count {
      if Self.isInside(self[offset]) { inside += 1 }
      offset += 1
    }
    return count - inside
  }

  /// Where the scalar begins that ends before `offset`.
  func scalarStart(before offset: Int) -> Int {
    var start = offset - 1
    while start > 0, Self.isInside(self[start]) { start -= 1 }
    return start
  }

  /// The scalar that the bytes begin with.
  var firstScalar: Unicode.Scalar { scalars(limit: 1).first ?? "\0" }

  /// The scalars.
  var scalars: [Unicode.Scalar] { scalars(limit: .max) }

  private func scalars(limit: Int) -> [Unicode.Scalar] {
    var scalars: [Unicode.Scalar] = []
    scalars.reserveCapacity(Swift.min(limit, count))
    var (decoder, bytes) = (UTF8(), makeIterator())
    while scalars.count < limit, case .scalarValue(let scalar) = decoder.decode(&bytes) { scalars.append(scalar) }
    return scalars
  }
}

extension [UInt8] {
  /// Appends characters as UTF-8.
  mutating func append(utf8 characters: some Collection<Unicode.Scalar>) {
    for character in characters {
      if character.value < 0x80 {
        append(UInt8(truncatingIfNeeded: character.value))
      } else if let bytes = UTF8.encode(character) {
        append(contentsOf: bytes)
      }
    }
  }
}
