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
  package static func uuid(_ bytes: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard bytes.count == 36 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    var faults: UInt8 = 0
    for index in 0..<36 {
      let byte = bytes[index]
      if index == 8 || index == 13 || index == 18 || index == 23 {
        faults |= byte ^ 0x2D
      } else {
        let value = value(ofDigit: byte)
        faults |= value & 0xF0
        if index < 18 { words.0 = words.0 << 4 | UInt64(value) } else { words.1 = words.1 << 4 | UInt64(value) }
      }
    }
    return faults == 0 ? words : nil
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
      fixed(high)
      fixed(low)
    case .text(let text): self.text(text)
    }
  }
}

extension ByteReader {
  package mutating func recordName(type: String, isText: Bool) throws(WireError) -> (RecordKey, AnyRecordName) {
    let key: String
    if isText {
      key = try text(limit: AnyRecordName.maximumLength, "a key")
    } else {
      key = Self.uuidText(try take(16))
    }
    guard let name = try? AnyRecordName(type: type, key: key) else {
      throw WireError(.malformed, "a record name is malformed")
    }
    let parsed = RecordKey(name)
    guard parsed.isText == isText else { throw WireError(.malformed, "a UUID is written as text") }
    return (parsed, name)
  }

  private static func uuidText(_ bytes: UnsafeRawBufferPointer) -> String {
    String(unsafeUninitializedCapacity: 36) { out in
      var position = 0
      for (index, byte) in bytes.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          out[position] = 0x2D
          position += 1
        }
        out[position] = hexadecimalDigit(byte >> 4)
        out[position + 1] = hexadecimalDigit(byte & 15)
        position += 2
      }
      return 36
    }
  }
}

/// The value of a small hexadecimal digit; 255 for what is none.
@inline(__always)
private func value(ofDigit byte: UInt8) -> UInt8 {
  let (number, letter) = (byte &- 0x30, byte &- 0x61)
  return number < 10 ? number : letter < 6 ? letter + 10 : 255
}

@inline(__always)
private func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x61 + value - 10 }
