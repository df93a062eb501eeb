import GRDBSQLite
import Synchronization

/// Keeps room at the end of the write-ahead log of a store that syncs it often.
///
/// To sync a file that has grown, the file system also writes what it notes of the file, its size and its blocks,
/// which takes about as long as the sync itself. So after a sync the next transaction writes zeros after what the log
/// holds, as much again as it holds and half a mebibyte at most, and the commits that follow overwrite them. SQLite
/// reads a log up to the first page that does not belong there, as it must wherever a log was restarted.
final class LogRoom: Sendable {
  /// Pages that must fit: more than a commit of one change writes.
  private static let leastPages = 16
  private static let (leastBytes, mostBytes) = (1 << 16, 1 << 19)
  private static let (headerSize, pageHeaderSize) = (32, 24)
  private static let zeros = [UInt8](repeating: 0, count: 1 << 16)
  private let isWanted = Atomic(false)
  /// How many pages the log had when it was looked at, and what the file's size was then at least.
  private let known = Mutex((pages: 0, size: 0))

  /// Notes that the log was synced.
  func want() { isWanted.store(true, ordering: .relaxed) }

  /// Makes room if the log was synced and is almost at the end of its file.
  ///
  /// For a connection that holds the lock for writing, since nobody else may append meanwhile. What the disk has no
  /// room for is not written: it is the commit that says so, if it needs more itself.
  func make(_ connection: Connection) {
    guard isWanted.exchange(false, ordering: .relaxed), let (pages, pageSize) = connection.logLength(),
      let log = connection.log(), let methods = log.pointee.pMethods
    else { return }
    func end(_ pages: Int) -> Int { Self.headerSize + pages * (Self.pageHeaderSize + pageSize) }
    known.withLock { known in
      // It may have been cut off when it was restarted.
      if pages < known.pages { known.size = 0 }
      known.pages = pages
      guard end(pages + Self.leastPages) > known.size else { return }
      // Not asked each time: a file whose times somebody has seen gets new ones with the next write, and they go to the
      // disk with its next sync.
      var size: sqlite3_int64 = 0
      guard methods.pointee.xFileSize(log, &size) == SQLITE_OK else { return }
      known.size = Int(size)
      guard end(pages) <= size, end(pages + Self.leastPages) > size else { return }
      let wanted = Int(size) + min(max(end(pages), Self.leastBytes), Self.mostBytes)
      while known.size < wanted {
        let count = min(wanted - known.size, Self.zeros.count)
        guard methods.pointee.xWrite(log, Self.zeros, Int32(count), Int64(known.size)) == SQLITE_OK else { return }
        known.size += count
      }
    }
  }
}
