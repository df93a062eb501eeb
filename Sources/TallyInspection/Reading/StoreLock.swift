import GRDB

/// The lock that whoever writes to a store holds, of which there is one a file.
package enum StoreLock {
  /// Whether an error says that somebody else held the lock for longer than one waits.
  package static func isHeld(_ error: any Error) -> Bool {
    (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
  }
}
