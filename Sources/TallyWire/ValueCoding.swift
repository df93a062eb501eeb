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
  package mutating func value(_ value: Value) { value.withPacked { self.value($0) } }

  /// A storage class; then a zigzag number, eight bytes, a length and bytes, or a record name with a UUID.
  package mutating func value(_ value: PackedValue) {
    switch value {
    case .null: byte(ValueClass.null)
    case .integer(let number):
      byte(ValueClass.integer)
      zigzag(number)
    case .real(let number):
      byte(ValueClass.real)
      fixed(number.bitPattern)
    case .text(let text): self.text(text)
    case .blob(let blob):
      byte(ValueClass.blob)
      varint(blob.count)
      bytes.append(contentsOf: blob)
    case .name(let type, let high, let low): name(type, high, low)
    }
  }

  private mutating func text(_ text: UnsafeBufferPointer<UInt8>) {
    guard let name = RecordKey.name(text) else {
      byte(ValueClass.text)
      varint(text.count)
      return bytes.append(contentsOf: text)
    }
    self.name(UnsafeBufferPointer(rebasing: text[..<name.typeCount]), name.high, name.low)
  }

  private mutating func name(_ type: UnsafeBufferPointer<UInt8>, _ high: UInt64, _ low: UInt64) {
    byte(ValueClass.name)
    varint(type.count)
    bytes.append(contentsOf: type)
    fixed(high)
    fixed(low)
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
      try Self.check(real: number)
      return .real(number)
    case ValueClass.text: return .text(try text(limit: WireLimits.valueBytes, "a text"))
    case ValueClass.blob: return .blob(Array(try take(count(limit: WireLimits.valueBytes, "a blob"))))
    case ValueClass.name: return .text(try nameText())
    default: throw WireError(.malformed, "an unknown storage class")
    }
  }

  /// The bytes of a value. Accepts what `value()` accepts, of a text only the shorter of its two forms.
  package mutating func valueBytes() throws(WireError) -> UnsafeRawBufferPointer {
    let start = offset
    switch try byte() {
    case ValueClass.null: break
    case ValueClass.integer: _ = try varint()
    case ValueClass.real: try Self.check(real: Double(bitPattern: try fixed()))
    case ValueClass.text:
      let text = try take(count(limit: WireLimits.valueBytes, "a text")).bindMemory(to: UInt8.self)
      guard text.isASCII || String(validating: text, as: UTF8.self) != nil else {
        throw WireError(.malformed, "a text is not UTF-8")
      }
      guard RecordKey.name(text) == nil else { throw WireError(.malformed, "a record name is written as a text") }
    case ValueClass.blob: _ = try take(count(limit: WireLimits.valueBytes, "a blob"))
    case ValueClass.name:
      let type = try take(count(limit: WireLimits.identifierBytes, "a type"))
      guard AnyRecordName.isIdentifier(type) else { throw WireError(.malformed, "a type is not an identifier") }
      _ = try take(16)
    default: throw WireError(.malformed, "an unknown storage class")
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
  }

  private static func check(real number: Double) throws(WireError) {
    guard !number.isNaN, number != 0 || number.sign == .plus else {
      throw WireError(.malformed, "a real is NaN or negative zero")
    }
  }

  package mutating func replica() throws(WireError) -> ReplicaID {
    ReplicaID(high: try fixed(), low: try fixed())
  }
}
