#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  /// A file beside a relay's, which takes up room for nothing else than to be deleted when the disk is full: then there
  /// is room to open the file, to revoke tokens and to delete. What makes the file larger is refused from then on,
  /// until there is room for the reserve again, so that it does not take the room that this needs.
  struct RelayReserve: Sendable {
    /// The size on a disk that is large enough; on a small one an eighth of that.
    private static let usualBytes = 8 << 20
    private let path: String

    /// The reserve of the file at a path.
    init(of path: String) { self.path = path + "-reserve" }

    /// Whether it is there.
    var isThere: Bool { access(path, F_OK) == 0 }

    /// Sees to it that the reserve is there.
    /// - Returns: false if there is no room for it and as much again.
    func keep() -> Bool {
      if isThere { return true }
      guard let disk = Disk(path) else { return true }
      let bytes = min(Self.usualBytes, disk.bytes / 8)
      guard disk.free >= 2 * bytes else { return false }
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      // Another process may just have made it; where nothing may be made, there is no reserve, and nothing is refused.
      guard descriptor >= 0 else { return errno != ENOSPC && errno != EDQUOT }
      defer { close(descriptor) }
      let failure = Self.allocate(descriptor, bytes)
      guard failure == ENOSPC || failure == EDQUOT else { return true }
      unlink(path)
      return false
    }

    #if os(Linux)
      private static func allocate(_ descriptor: Int32, _ bytes: Int) -> Int32 { posix_fallocate(descriptor, 0, bytes) }
    #else
      private static func allocate(_ descriptor: Int32, _ bytes: Int) -> Int32 {
        let zeros = [UInt8](repeating: 0, count: bytes)
        return write(descriptor, zeros, bytes) == bytes ? 0 : ENOSPC
      }
    #endif

    /// Makes the room free.
    /// - Returns: whether there was any.
    func release() -> Bool { unlink(path) == 0 }

    /// Runs what needs little room and is worth it; once more with the reserve's room if the disk is full.
    func whenFull<T>(_ body: () throws -> T) throws -> T {
      do { return try body() } catch let error as DatabaseError where isFull(error) && release() { return try body() }
    }

    /// Whether an error says that the disk is full. SQLite has an error for that, and others where it makes the files
    /// beside the database.
    func isFull(_ error: DatabaseError) -> Bool {
      switch error.resultCode {
      case .SQLITE_FULL: true
      case .SQLITE_IOERR, .SQLITE_CANTOPEN: Disk(path).map { $0.free < Self.usualBytes / 8 } ?? false
      default: false
      }
    }

    /// The disk of a file.
    private struct Disk {
      let bytes: Int
      let free: Int

      init?(_ path: String) {
        var status = statvfs()
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard statvfs(folder, &status) == 0 else { return nil }
        bytes = Int(status.f_blocks) * Int(status.f_frsize)
        free = Int(status.f_bavail) * Int(status.f_frsize)
      }
    }
  }

  /// Nothing may be put, since the disk is full.
  struct RelayDiskFull: RelayStorageFailure {
    let path: String

    var problem: RelayProblem { RelayProblem(.storageFull, "the relay's disk is full") }
    var fault: String { Self.message(path) }

    static func message(_ path: String) -> String {
      "the disk of \(path) is full; nothing can be put until there is room, but read, revoked and deleted"
    }
  }
#endif
