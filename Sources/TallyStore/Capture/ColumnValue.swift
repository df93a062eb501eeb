import CTallySQLite
import GRDBSQLite
import TallyCRDT

/// A value that SQLite lends for the time of a callback, or the store's own.
struct ColumnValue {
  private let lent: OpaquePointer?
  private let own: Value?
  let type: Int32

  init(_ value: OpaquePointer?) {
    lent = value
    own = nil
    type = value.map { sqlite3_value_type($0) } ?? SQLITE_NULL
  }

  init(_ value: Value) {
    lent = nil
    own = value
    type =
      switch value {
      case .null: SQLITE_NULL
      case .integer: SQLITE_INTEGER
      case .real: SQLITE_FLOAT
      case .text: SQLITE_TEXT
      case .blob: SQLITE_BLOB
      }
  }

  var int64: Int64 { if case .integer(let number) = own { number } else { sqlite3_value_int64(lent) } }
  var double: Double { if case .real(let number) = own { number } else { sqlite3_value_double(lent) } }

  /// Calls `body` with the bytes of a text or blob; none for anything else.
  func withBytes<T>(_ body: (UnsafeBufferPointer<UInt8>) throws -> T) rethrows -> T {
    switch own {
    case .text(var text): return try text.withUTF8(body)
    case .blob(let bytes): return try bytes.withUnsafeBufferPointer(body)
    default: break
    }
    guard let lent, type == SQLITE_TEXT || type == SQLITE_BLOB else { return try body(.init(start: nil, count: 0)) }
    var count: Int32 = 0
    let base: UnsafeRawPointer?
    if type == SQLITE_TEXT {
      base = tally_value_utf8(lent, &count)
    } else {
      base = sqlite3_value_blob(lent)
      count = sqlite3_value_bytes(lent)
    }
    return try body(UnsafeBufferPointer(start: base?.assumingMemoryBound(to: UInt8.self), count: Int(count)))
  }

  /// Whether both hold the same value of the same type.
  func isEqual(to other: ColumnValue) -> Bool {
    guard type == other.type else { return false }
    switch type {
    case SQLITE_INTEGER: return int64 == other.int64
    case SQLITE_FLOAT: return double == other.double
    case SQLITE_TEXT, SQLITE_BLOB:
      return withBytes { mine in other.withBytes { mine.hasSameBytes(as: $0) } }
    default: return true
    }
  }

  /// The value, copied.
  var value: Value {
    if let own { return own }
    switch type {
    case SQLITE_INTEGER: return .integer(int64)
    case SQLITE_FLOAT: return Value(real: double)
    case SQLITE_TEXT: return withBytes { String(valid: $0).map(Value.text) ?? .blob(Array($0)) }
    case SQLITE_BLOB: return .blob(withBytes(Array.init))
    default: return .null
    }
  }
}
