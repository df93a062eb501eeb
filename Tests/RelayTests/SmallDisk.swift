#if Relay
  import Foundation
  import RelayRig
  import Synchronization

  /// A file system in memory that is soon full, or read-only: what a test needs to be root for. It goes with the test.
  struct SmallDisk: Sendable {
    struct Failure: Error {
      let call: String
      let number: Int32
    }

    /// Whether this process may mount file systems.
    static let isAvailable: Bool = {
      guard geteuid() == 0 else { return false }
      do {
        let folder = newFolder()
        try mount(1, folder)
        try unmount(folder)
        return true
      } catch {
        return false
      }
    }()

    let folder: URL

    init(mebibytes: Int) throws {
      let folder = Self.newFolder()
      self.folder = folder
      try Self.mount(mebibytes, folder)
      Leftovers.note { try Self.unmount(folder) }
    }

    private static func newFolder() -> URL { URL(fileURLWithPath: "/tmp/tally-disk-\(UUID().uuidString.prefix(8))") }

    private static func mount(_ mebibytes: Int, _ folder: URL) throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      do {
        try Program.run("mount", ["-t", "tmpfs", "-o", "size=\(mebibytes)m,mode=0755", "tally", folder.path])
      } catch {
        try FileManager.default.removeItem(at: folder)
        throw error
      }
    }

    private static func unmount(_ folder: URL) throws {
      try Program.run("umount", ["-l", folder.path])
      try FileManager.default.removeItem(at: folder)
    }

    private var filler: URL { folder.appendingPathComponent("filler") }

    /// Takes up all but so much.
    func fill(leaving mebibytes: Int) throws {
      var status = statvfs()
      guard statvfs(folder.path, &status) == 0 else { throw Failure(call: "statvfs", number: errno) }
      let free = Int(status.f_bavail) * Int(status.f_frsize)
      try Data(repeating: 7, count: max(0, free - mebibytes << 20)).write(to: filler)
    }

    /// Takes up what is left, to the last byte.
    func fillUp() throws {
      let descriptor = open(rest.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      guard descriptor >= 0 else { throw Failure(call: "open", number: errno) }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 7, count: 1 << 16)
      while !bytes.isEmpty {
        let count = write(descriptor, bytes, bytes.count)
        guard count < bytes.count else { continue }
        guard count >= 0 || errno == ENOSPC else { throw Failure(call: "write", number: errno) }
        // A smaller piece may find room.
        bytes.removeLast((bytes.count + 1) / 2)
      }
    }

    private var rest: URL { folder.appendingPathComponent("rest") }

    /// Whether it can only be read. No file on it may be open for writing then.
    func setReadOnly(_ isReadOnly: Bool) throws {
      try Program.run("mount", ["-o", "remount,\(isReadOnly ? "ro" : "rw")", folder.path])
    }

    /// Makes a file read-only, also for this process. Its folder stays as it is.
    /// - Returns: makes it what it was; the end of the test does so, too.
    static func makeReadOnly(_ path: String) throws -> @Sendable () throws -> Void {
      try Program.run("mount", ["--bind", path, path])
      let isBound = Mutex(true)
      let undo: @Sendable () throws -> Void = {
        let isFirst = isBound.withLock { isBound in
          defer { isBound = false }
          return isBound
        }
        if isFirst { try Program.run("umount", ["-l", path]) }
      }
      Leftovers.note { try undo() }
      try Program.run("mount", ["-o", "remount,bind,ro", path])
      return undo
    }

    /// Makes room again.
    func empty() throws {
      try FileManager.default.removeItem(at: filler)
      if FileManager.default.fileExists(atPath: rest.path) { try FileManager.default.removeItem(at: rest) }
    }
  }
#endif
