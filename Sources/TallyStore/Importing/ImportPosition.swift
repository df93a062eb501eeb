import Foundation
import TallyCRDT

/// The last row of a step that is committed: its key, or the two ends of a link.
package struct ImportPosition: Equatable {
  /// The SQL by which the rows are ordered. With another key a position means nothing.
  package var order: String
  package var values: [Value]

  package init(order: String, values: [Value]) { (self.order, self.values) = (order, values) }

  /// A value for a message, in quotes and short.
  package static func text(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): "'\(number)'"
    case .real(let number): "'\(number)'"
    case .text(let text): printable(text)
    case .blob(let bytes):
      printable("x" + bytes.prefix(32).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined())
    }
  }
}

extension ImportPosition: Codable {
  private enum Key: String, CodingKey { case order, values }
  private enum ValueKey: String, CodingKey { case integer, real, text, blob }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    order = try container.decode(String.self, forKey: .order)
    var list = try container.nestedUnkeyedContainer(forKey: .values)
    values = []
    while !list.isAtEnd {
      let value = try list.nestedContainer(keyedBy: ValueKey.self)
      if let number = try value.decodeIfPresent(Int64.self, forKey: .integer) {
        values.append(.integer(number))
      } else if let pattern = try value.decodeIfPresent(UInt64.self, forKey: .real) {
        values.append(Value(real: Double(bitPattern: pattern)))
      } else if let text = try value.decodeIfPresent(String.self, forKey: .text) {
        values.append(.text(text))
      } else {
        values.append(.blob(Array(try value.decode(Data.self, forKey: .blob))))
      }
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(order, forKey: .order)
    var list = container.nestedUnkeyedContainer(forKey: .values)
    for value in values {
      var container = list.nestedContainer(keyedBy: ValueKey.self)
      switch value {
      case .integer(let number): try container.encode(number, forKey: .integer)
      case .real(let number): try container.encode(number.bitPattern, forKey: .real)
      case .text(let text): try container.encode(text, forKey: .text)
      case .blob(let bytes): try container.encode(Data(bytes), forKey: .blob)
      case .null: throw StoreError(.rowNotMapped, "a key is null")
      }
    }
  }
}
