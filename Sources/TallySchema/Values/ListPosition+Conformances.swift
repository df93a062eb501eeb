import Foundation
import GRDB
import TallyCRDT

extension ListPosition: Codable {
  /// Decodes a position from hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let bytes = Hexadecimal.bytes(try container.decode(String.self)), let position = ListPosition(bytes: bytes)
    else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the position in a list") }
    self = position
  }

  /// Encodes the position as hexadecimal digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Hexadecimal.text(bytes))
  }
}

extension ListPosition: DatabaseValueConvertible, SQLExpressible {
  /// The position as a blob, as GRDB writes it.
  public var databaseValue: DatabaseValue { Data(bytes).databaseValue }

  /// Returns the position in a blob column; nil for anything else, including an empty blob or one of more than 512
  /// bytes.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> ListPosition? {
    guard case .blob(let data) = value.storage else { return nil }
    return ListPosition(bytes: Array(data))
  }
}
