#if Relay
  import Foundation

  /// A file system in memory that is soon full: what a test needs to be root for.
  struct SmallDisk: Sendable {
    struct Failure: Error {
      let call: String
      let number: Int32
    }

    /// Whether this process may mount file systems.
    static let isAvailable: Bool = {
      guard geteuid() == 0 else { return false }
      guard let disk = try? SmallDisk(mebibytes: 1) else { return false }
      return (try? disk.remove()) != nil
    }()

    let folder: URL

    init(mebibytes: Int) throws {
      folder = URL(fileURLWithPath: "/tmp/tally-disk-\(UUID().uuidString.prefix(8))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      do {
        try Self.run("mount", "-t", "tmpfs", "-o", "size=\(mebibytes)m,mode=0755", "tally", folder.path)
      } catch {
        try FileManager.default.removeItem(at: folder)
        throw error
      }
    }

    private var filler: URL { folder.appendingPathComponent("filler") }

    /// Takes up all but so much.
    func fill(leaving mebibytes: Int) throws {
      var status = statvfs()
      guard statvfs(folder.path, &status) == 0 else { throw Failure(call: "statvfs", number: errno) }
      let free = Int(status.f_bavail) * Int(status.f_frsize)
      try Data(repeating: 7, count: max(0, free - mebibytes << 20)).write(to: filler)
    }

    /// Makes room again.
    func empty() throws { try FileManager.default.removeItem(at: filler) }

    func remove() throws {
      try Self.run("umount", "-l", folder.path)
      try FileManager.default.removeItem(at: folder)
    }

    private static func run(_ arguments: String...) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = arguments
      process.standardInput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Failure(call: arguments.joined(separator: " "), number: process.terminationStatus)
      }
    }
  }
#endif
