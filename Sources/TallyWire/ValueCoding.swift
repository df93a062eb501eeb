import TallyCRDT

/// The byte before a value. A text that is a record name with a UUID as its key has a class of its own: references are
/// such.
enum ValueClass {
  static let null: UInt8 = 0
  static let integer: UInt8 = 1
  static let real: UInt8 = 2
  static let text: UInt8 = 3
  static let blob: UInt8 = 4
  static let name: UInt8 = 5
}

extension ByteWriter {
  /// A storage class; then a zigzag number, eight bytes, a length and bytes, or a record name with a UUID.
  package mutating func value(_ value: Value) {
    switch value {
    case .null: byte(ValueClass.null)
    case .integer(let number):
      byte(ValueClass.integer)
      zigzag(number)
    case .real(let number):
      byte(ValueClass.real)
      fixed(number.bitPattern)
    case .text(var text): text.withUTF8 { self.text($0) }
    case .blob(let blob):
      byte(ValueClass.blob)
      varint(blob.count)
      bytes.append(contentsOf: blob)
    }
  }

  private mutating func text(_ text: UnsafeBufferPointer<UInt8>) {
    guard let name = RecordKey.name(text) else {
      byte(ValueClass.text)
      varint(text.count)
      return bytes.append(contentsOf: text)
    }
    byte(ValueClass.name)
    varint(name.typeCount)
    bytes.append(contentsOf: text[..<name.typeCount])
    fixed(name.high)
    fixed(name.low)
  }

  package mutating func replica(_ id: ReplicaID) {
    fixed(id.high)
    fixed(id.low)
  }
}

extension ByteReader {
  package mutating func value() throws(WireError) -> Value {
    switch try byte() {
    case ValueClass.null: return .null
    case ValueClass.integer: return .integer(try zigzag())
    case ValueClass.real:
      let number = Double(bitPattern: try fixed())
      guard !number.isNaN, number != 0 || number.sign == .plus else {
        throw WireError(.malformed, "a real is NaN or negative zero")
      }
      return .real(number)
    case ValueClass.text: return .text(try text(limit: WireLimits.valueBytes, "a text"))
    case ValueClass.blob: return .blob(Array(try take(count(limit: WireLimits.valueBytes, "a blob"))))
    case ValueClass.name: return .text(try nameText())
    default: throw WireError(.malformed, "an unknown storage class")
    }
  }

  package mutating func replica() throws(WireError) -> ReplicaID {
    ReplicaID(high: try fixed(), low: try fixed())
  }
}
