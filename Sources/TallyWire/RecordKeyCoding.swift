import TallyCRDT

/// The key of a record name on the wire: sixteen bytes for a UUID in small letters, text for anything else.
package enum RecordKey: Hashable, Comparable {
  case uuid(high: UInt64, low: UInt64)
  case text(String)

  package init(_ name: AnyRecordName) {
    if let (high, low) = name.withKeyBytes(Self.uuid) {
      self = .uuid(high: high, low: low)
    } else {
      self = .text(name.key)
    }
  }

  /// The value of `8-4-4-4-12` small hexadecimal digits.
  package static func uuid(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard text.count == 36, text[8] == 0x2D, text[13] == 0x2D, text[18] == 0x2D, text[23] == 0x2D else { return nil }
    let raw = UnsafeRawBufferPointer(text)
    guard let a = value(ofDigits: raw.digits(at: 0, 4)), let b = value(ofDigits: raw.digits(at: 9, 14)),
      let c = value(ofDigits: raw.digits(at: 19, 24)), let d = value(ofDigits: raw.digits(at: 28, 32))
    else { return nil }
    return (a << 32 | b, c << 32 | d)
  }

  /// The UUID at the end of a name that begins with `prefix`, a type and the delimiter; nil for any other text.
  package static func uuid(in name: UnsafeBufferPointer<UInt8>, after prefix: [UInt8]) -> (high: UInt64, low: UInt64)? {
    guard name.count == prefix.count + 36,
      prefix.withUnsafeBufferPointer({ UnsafeBufferPointer(rebasing: name[..<prefix.count]).hasSameBytes(as: $0) })
    else { return nil }
    return uuid(UnsafeBufferPointer(rebasing: name[prefix.count...]))
  }

  /// Returns the parts of a text that is a record name with a UUID as its key: the length of the type, and the UUID.
  @inline(__always)
  static func name(_ text: UnsafeBufferPointer<UInt8>) -> (typeCount: Int, high: UInt64, low: UInt64)? {
    let typeCount = text.count - 39
    guard typeCount > 0, text[typeCount] == 0x7C, text[typeCount + 1] == 0x7E, text[typeCount + 2] == 0x7C,
      typeCount <= AnyRecordName.maximumTypeLength,
      let (high, low) = uuid(UnsafeBufferPointer(rebasing: text[(typeCount + 3)...])),
      AnyRecordName.isIdentifier(text[..<typeCount])
    else { return nil }
    return (typeCount, high, low)
  }

  /// The name of the record of a type that has this key.
  package func name(type: String) throws(WireError) -> AnyRecordName {
    switch self {
    case .uuid(let high, let low): return try Self.name(type: type, high: high, low: low)
    case .text(let key):
      guard let name = try? AnyRecordName(type: type, key: key) else {
        throw WireError(.malformed, "a record name is malformed")
      }
      return name
    }
  }

  /// The name of a record whose key is a UUID.
  static func name(type: String, high: UInt64, low: UInt64) throws(WireError) -> AnyRecordName {
    var type = type
    let name = type.withUTF8 { type in
      AnyRecordName(typeBytes: type, keyCount: 36) { write(high, low, to: $0) }
    }
    guard let name else { throw WireError(.malformed, "a record name is malformed") }
    return name
  }

  /// Writes the 36 characters of a UUID.
  package static func write(_ high: UInt64, _ low: UInt64, to out: UnsafeMutableBufferPointer<UInt8>) {
    precondition(out.count >= 36)
    let raw = UnsafeMutableRawBufferPointer(out)
    (raw[8], raw[13], raw[18], raw[23]) = (0x2D, 0x2D, 0x2D, 0x2D)
    raw.put(digits(of: high >> 32), at: 0, 4)
    raw.put(digits(of: high & 0xFFFF_FFFF), at: 9, 14)
    raw.put(digits(of: low >> 32), at: 19, 24)
    raw.put(digits(of: low & 0xFFFF_FFFF), at: 28, 32)
  }

  /// UUIDs before texts, each by bytes.
  package static func < (lhs: RecordKey, rhs: RecordKey) -> Bool {
    switch (lhs, rhs) {
    case (.uuid(let a, let b), .uuid(let c, let d)): a != c ? a < c : b < d
    case (.uuid, .text): true
    case (.text, .uuid): false
    case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
    }
  }

  package var isText: Bool { if case .text = self { true } else { false } }
}

extension ByteWriter {
  package mutating func key(_ key: RecordKey) {
    switch key {
    case .uuid(let high, let low):
      withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes.append(contentsOf: $0) }
    case .text(let text): self.text(text)
    }
  }
}

extension ByteReader {
  /// Goes to where a key ends.
  package mutating func skipKey(isText: Bool) throws(WireError) {
    _ = try take(isText ? count(limit: AnyRecordName.maximumLength, "a key") : 16)
  }

  package mutating func recordName(type: String, isText: Bool) throws(WireError) -> (RecordKey, AnyRecordName) {
    guard isText else {
      let (high, low) = (try fixed(), try fixed())
      return (.uuid(high: high, low: low), try RecordKey.name(type: type, high: high, low: low))
    }
    let key = try text(limit: AnyRecordName.maximumLength, "a key")
    guard let name = try? AnyRecordName(type: type, key: key) else {
      throw WireError(.malformed, "a record name is malformed")
    }
    let parsed = RecordKey(name)
    guard parsed.isText else { throw WireError(.malformed, "a UUID is written as text") }
    return (parsed, name)
  }

  /// The text of a record name whose key is a UUID: the type's length and bytes, then sixteen bytes.
  mutating func nameText() throws(WireError) -> String {
    let type = try take(count(limit: WireLimits.identifierBytes, "a type"))
    guard AnyRecordName.isIdentifier(type) else { throw WireError(.malformed, "a type is not an identifier") }
    let (high, low) = (try fixed(), try fixed())
    let count = type.count + 39
    return String(unsafeUninitializedCapacity: count) { out in
      UnsafeMutableRawBufferPointer(out).copyMemory(from: type)
      for (index, byte) in AnyRecordName.delimiter.utf8.enumerated() { out[type.count + index] = byte }
      RecordKey.write(high, low, to: UnsafeMutableBufferPointer(rebasing: out[(type.count + 3)...]))
      return count
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Twice four digits, the first in the highest byte.
  @inline(__always)
  fileprivate func digits(at first: Int, _ second: Int) -> UInt64 {
    let high = UInt32(bigEndian: loadUnaligned(fromByteOffset: first, as: UInt32.self))
    let low = UInt32(bigEndian: loadUnaligned(fromByteOffset: second, as: UInt32.self))
    return UInt64(high) << 32 | UInt64(low)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Writes twice four digits, as `digits(at:_:)` reads them.
  @inline(__always)
  fileprivate func put(_ digits: UInt64, at first: Int, _ second: Int) {
    storeBytes(of: UInt32(truncatingIfNeeded: digits >> 32).bigEndian, toByteOffset: first, as: UInt32.self)
    storeBytes(of: UInt32(truncatingIfNeeded: digits).bigEndian, toByteOffset: second, as: UInt32.self)
  }
}

/// The value of eight small hexadecimal digits, all at once: a byte each; nil if one is none.
@inline(__always)
private func value(ofDigits digits: UInt64) -> UInt64? {
  let each: UInt64 = 0x0101_0101_0101_0101
  // Letters have bit 6; `a` ends in 1 and is worth ten.
  let values = digits & (0x0F &* each) &+ (digits >> 6 & each) &* 9
  // From ten on, adding 0x76 carries into the highest bit of the byte.
  let isLetter = (values &+ 0x76 &* each) >> 7 & each
  // Letters after `f` come to sixteen and more.
  guard values &+ 0x30 &* each &+ isLetter &* 0x27 == digits, values & (0x10 &* each) == 0 else { return nil }
  let pairs = (values | values >> 4) & 0x00FF_00FF_00FF_00FF
  let fours = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF
  return (fours | fours >> 16) & 0xFFFF_FFFF
}

/// The eight small hexadecimal digits of a number below 2³², all at once: a byte each.
@inline(__always)
private func digits(of number: UInt64) -> UInt64 {
  let each: UInt64 = 0x0101_0101_0101_0101
  let fours = (number | number << 16) & 0x0000_FFFF_0000_FFFF
  let pairs = (fours | fours << 8) & 0x00FF_00FF_00FF_00FF
  let values = (pairs | pairs << 4) & (0x0F &* each)
  let isLetter = (values &+ 0x76 &* each) >> 7 & each
  return values &+ 0x30 &* each &+ isLetter &* 0x27
}
