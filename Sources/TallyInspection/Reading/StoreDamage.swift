import GRDB

/// Damage of a store's file.
package enum StoreDamage {
  /// Whether an error says that SQLite cannot make sense of the file.
  package static func isShown(by error: any Error) -> Bool {
    [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains((error as? DatabaseError)?.resultCode)
  }
}
