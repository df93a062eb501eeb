import GRDBSQLite

/// The locks on one database file, of the connections that have it open. See https://sqlite.org/lockingv3.html.
struct FileLocks: Sendable {
  private var shared: Set<ObjectIdentifier> = []
  private var reserved: ObjectIdentifier?
  private var pending: ObjectIdentifier?
  private var exclusive: ObjectIdentifier?

  var isReserved: Bool { reserved != nil || pending != nil || exclusive != nil }

  /// Raises the lock of one connection.
  /// - Returns: whether it was free.
  mutating func lock(_ level: Int32, for handle: ObjectIdentifier) -> Bool {
    func isTaken(_ holder: ObjectIdentifier?) -> Bool { holder != nil && holder != handle }
    guard !isTaken(exclusive), !isTaken(pending) else { return false }
    switch level {
    case SQLITE_LOCK_SHARED:
      shared.insert(handle)
    case SQLITE_LOCK_RESERVED:
      guard !isTaken(reserved) else { return false }
      reserved = handle
    case SQLITE_LOCK_EXCLUSIVE:
      guard !isTaken(reserved) else { return false }
      // Who wants to write alone keeps newcomers out while the last readers leave.
      pending = handle
      guard shared.subtracting([handle]).isEmpty else { return false }
      exclusive = handle
    default: break
    }
    return true
  }

  mutating func unlock(_ level: Int32, for handle: ObjectIdentifier) {
    if reserved == handle { reserved = nil }
    if pending == handle { pending = nil }
    if exclusive == handle { exclusive = nil }
    if level == SQLITE_LOCK_NONE { shared.remove(handle) }
  }
}
