import TallyCRDT

/// The key of a record name on the wire: sixteen bytes for a UUID in small letters, text for anything else.
package enum RecordKey: Hashable, Comparable {
  case uuid(high: UInt64, low: UInt64)
  case text(String)

  package init(_ name: AnyRecordName) {
    if let (high, low) = Self.uuid(name.keyBytes) {
      self = .uuid(high: high, low: low)
    } else {
      self = .text(name.key)
    }
  }

  /// The value of `8-4-4-4-12` small hexadecimal digits.
  private static func uuid(_ bytes: Substring.UTF8View) -> (UInt64, UInt64)? {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var index = 0
    var digits = 0
    for byte in bytes {
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == 0x2D else { return nil }
      } else {
        let value: UInt8
        switch byte {
        case 0x30...0x39: value = byte - 0x30
        case 0x61...0x66: value = byte - 0x61 + 10
        default: return nil
        }
        if digits < 16 { high = high << 4 | UInt64(value) } else { low = low << 4 | UInt64(value) }
        digits += 1
      }
      index += 1
    }
    return index == 36 ? (high, low) : nil
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

@inline(__always)
private func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x61 + value - 10 }
