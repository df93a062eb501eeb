import Foundation
import GRDB
import TallyCRDT

extension Value {
  /// Converts a value that GRDB has read, with its storage class: an integer stays an integer, and a blob is not
  /// decoded.
  ///
  /// GRDB reads a text only up to its first NUL. If texts can contain one, read the column as a blob.
  public init(_ value: DatabaseValue) {
    switch value.storage {
    case .null: self = .null
    case .int64(let number): self = .integer(number)
    case .double(let number): self = Value(real: number)
    case .string(let text): self = .text(text)
    case .blob(let data): self = .blob(Array(data))
    }
  }

  /// The value as GRDB reads and writes it.
  public var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.databaseValue
    case .text(let text): text.databaseValue
    case .blob(let bytes): Data(bytes).databaseValue
    }
  }
}
