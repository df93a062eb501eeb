import Foundation
import GRDBSQLite
import Synchronization

extension FieldSyntax {
  /// Whether SQLite takes the text for JSON (RFC 8259), of any kind at the top; so whatever is stored can be read by
  /// its functions, also in an index. Foundation takes some more on Linux, as a comma before the last bracket.
  package static func isJSON(_ text: String) -> Bool { judge.withLock { $0.takes(text) } }

  private static let judge = Mutex(JSONJudge())
}

/// SQLite's `json_valid`, on a database of its own, which has nothing in it.
private struct JSONJudge: ~Copyable {
  private var database: OpaquePointer?
  private var query: OpaquePointer?

  init() {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(":memory:", &database, flags, nil) == SQLITE_OK else { return }
    sqlite3_prepare_v2(database, "SELECT json_valid(?)", -1, &query, nil)
  }

  deinit {
    sqlite3_finalize(query)
    sqlite3_close(database)
  }

  func takes(_ text: String) -> Bool {
    // An SQLite that was built without its functions for JSON.
    guard let query else {
      return (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
    }
    var text = text
    return text.withUTF8 { bytes in
      // Where a text ends for SQLite's parser.
      guard !bytes.isEmpty, !bytes.contains(0) else { return false }
      return bytes.withMemoryRebound(to: CChar.self) { bytes in
        sqlite3_bind_text(query, 1, bytes.baseAddress, Int32(clamping: bytes.count), nil)
        defer {
          sqlite3_reset(query)
          sqlite3_clear_bindings(query)
        }
        return sqlite3_step(query) == SQLITE_ROW && sqlite3_column_int(query, 0) == 1
      }
    }
  }
}
