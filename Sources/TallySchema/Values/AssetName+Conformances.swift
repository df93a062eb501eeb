import Foundation
import GRDB

extension AssetName: Codable {
  /// Decodes a name from its text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let name = AssetName(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the name of an asset")
    }
    self = name
  }

  /// Encodes the name as its text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension AssetName: DatabaseValueConvertible, SQLExpressible {
  /// The name as a text.
  public var databaseValue: DatabaseValue { text.databaseValue }

  /// Returns the name in a text column; nil for anything else.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> AssetName? {
    guard case .string(let text) = value.storage else { return nil }
    return AssetName(text)
  }
}
