import GRDBSQLite
import TallyCRDT
import TallyWire

/// Values where SQLite, or a note of a row, has them: as `Value` has them, without being copied.
extension PackedValue {
  /// A text, or the bytes of one that is not UTF-8, which no text column accepts.
  @inline(__always)
  init(text: UnsafeBufferPointer<UInt8>) {
    let isValid = text.isASCII || String(validating: text, as: UTF8.self) != nil
    self = isValid ? .text(text) : .blob(UnsafeRawBufferPointer(text))
  }

  /// A real, which is neither NaN nor negative zero.
  init(real: Double) { self = real.isNaN ? .null : .real(real == 0 ? 0 : real) }
}

extension Value {
  /// The same value with a memory of its own. A name is the text of a row already.
  init(_ packed: PackedValue) {
    switch packed {
    case .null, .name: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(String(decoding: text, as: UTF8.self))
    case .blob(let bytes): self = .blob(Array(bytes))
    }
  }
}

extension Column {
  /// Whether a value is the column's default.
  func isDefault(_ value: PackedValue) -> Bool {
    guard !defaultValue.isNull else { if case .null = value { return true } else { return false } }
    return Value(value) == defaultValue
  }
}

extension SQLStatement {
  /// Calls `body` with the value of a column, as `value(_:)` has it.
  @inline(__always)
  func withPacked<T>(_ column: Int, _ body: (PackedValue) throws -> T) rethrows -> T {
    switch type(column) {
    case SQLITE_INTEGER: try body(.integer(int64(column)))
    case SQLITE_FLOAT: try body(PackedValue(real: double(column)))
    case SQLITE_TEXT: try withBytes(ofText: column) { try body(PackedValue(text: $0)) }
    case SQLITE_BLOB: try withBlob(column) { try body(.blob($0)) }
    default: try body(.null)
    }
  }
}
