import TallyCRDT

extension ByteWriter {
  /// A storage class tag; then a zigzag number, eight bytes, or a length and bytes.
  package mutating func value(_ value: Value) {
    byte(value.tag)
    switch value {
    case .null: break
    case .integer(let number): zigzag(number)
    case .real(let number): fixed(number.bitPattern)
    case .text(let text): self.text(text)
    case .blob(let blob):
      varint(blob.count)
      bytes.append(contentsOf: blob)
    }
  }

  package mutating func replica(_ id: ReplicaID) {
    fixed(id.high)
    fixed(id.low)
  }
}

extension ByteReader {
  package mutating func value() throws(WireError) -> Value {
    switch try byte() {
    case 0: return .null
    case 1: return .integer(try zigzag())
    case 2:
      let number = Double(bitPattern: try fixed())
      guard !number.isNaN, number != 0 || number.sign == .plus else {
        throw WireError(.malformed, "a real is NaN or negative zero")
      }
      return .real(number)
    case 3: return .text(try text(limit: WireLimits.valueBytes, "a text"))
    case 4: return .blob(Array(try take(count(limit: WireLimits.valueBytes, "a blob"))))
    default: throw WireError(.malformed, "an unknown storage class")
    }
  }

  package mutating func replica() throws(WireError) -> ReplicaID {
    ReplicaID(high: try fixed(), low: try fixed())
  }
}
