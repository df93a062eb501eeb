import GRDB

/// The lock that a writer of a store holds, of which there is one a file.
package enum StoreLock {
  /// Whether an error says that another process held the lock for longer than one waits.
  package static func isHeld(_ error: any Error) -> Bool {
    (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
  }
}
