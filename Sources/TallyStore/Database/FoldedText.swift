import Foundation
import GRDB
import GRDBSQLite

/// A text to search for: of ASCII's letters, capital and small are one, as in SQLite's LIKE
/// (https://sqlite.org/lang_expr.html#the_like_glob_regexp_match_and_extract_operators). Unlike LIKE it finds what
/// stands behind a NUL, which ends a text for SQLite's functions, and knows no patterns.
package struct FoldedText {
  /// The text's UTF-8, in small letters.
  package let bytes: [UInt8]

  package init(_ text: String) { bytes = text.utf8.map(Self.folded) }

  private static func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  /// Whether a text contains this one. Nothing of it is copied.
  package func isIn(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { whole in
      bytes.withUnsafeBytes { Self.contains(UnsafeRawBufferPointer(whole), $0) }
    }
  }

  /// Whether `whole` contains `needle`, which has no capital letters.
  private static func contains(_ whole: UnsafeRawBufferPointer, _ needle: UnsafeRawBufferPointer) -> Bool {
    guard let first = needle.first else { return true }
    guard let base = whole.baseAddress, whole.count >= needle.count else { return false }
    let count = whole.count - needle.count + 1
    func next(_ byte: UInt8, from start: Int) -> Int {
      guard start < count, let found = memchr(base + start, Int32(byte), count - start) else { return count }
      return base.distance(to: UnsafeRawPointer(found))
    }
    let capital = (0x61...0x7A).contains(first) ? first & 0xDF : first
    var (small, large) = (next(first, from: 0), capital == first ? count : next(capital, from: 0))
    while min(small, large) < count {
      let place = min(small, large)
      var length = 1
      while length < needle.count, folded(whole[place + length]) == needle[length] { length += 1 }
      if length == needle.count { return true }
      if place == small { small = next(first, from: place + 1) } else { large = next(capital, from: place + 1) }
    }
    return false
  }

  // MARK: In SQL

  /// The function `tally_holds(bytes, value, …)`: whether one of the values contains this text, of which `bytes` are
  /// the bytes. It has so many values at most, since SQLite allows 127 arguments.
  package static let (function, valueLimit) = ("tally_holds", 100)

  /// Adds the function to a connection. https://sqlite.org/c3ref/create_function.html
  static func register(_ database: OpaquePointer) throws {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC
    let result = sqlite3_create_function_v2(
      database, function, -1, flags, nil,
      { context, count, values in
        guard let values, count > 0 else { return }
        let needle = UnsafeRawBufferPointer(
          start: sqlite3_value_blob(values[0]), count: Int(sqlite3_value_bytes(values[0])))
        for place in 1..<max(1, Int(count)) where sqlite3_value_type(values[place]) != SQLITE_NULL {
          // The text comes first: it may be made of a number, and has its length only then.
          let text = sqlite3_value_text(values[place])
          let whole = UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(values[place])))
          if FoldedText.contains(whole, needle) { return sqlite3_result_int(context, 1) }
        }
        sqlite3_result_int(context, 0)
      }, nil, nil, nil)
    guard result == SQLITE_OK else { throw DatabaseError(database, sql: function) }
  }
}
