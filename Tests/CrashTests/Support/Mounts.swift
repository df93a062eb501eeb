import Foundation

/// What only root can do: disks of our own.
enum Mounts {
  struct Refused: Error {}

  static func run(_ command: String...) throws {
    let silent = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(silent) }
    guard try Child(command, in: "/", streams: [silent, silent, silent]).wait() == 0 else { throw Refused() }
  }

  static func temporary() -> String {
    FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("tally-disk-\(UUID().uuidString)").path
  }
}

/// A disk of memory with little room, which disappears with the test.
final class SmallDisk {
  let path = Mounts.temporary()

  static let isPossible = geteuid() == 0 && (try? SmallDisk(kibibytes: 64)) != nil

  init(kibibytes: Int) throws {
    mkdir(path, 0o755)
    try Mounts.run("/bin/mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", path)
  }

  deinit {
    try? Mounts.run("/bin/umount", "-l", path)
    rmdir(path)
  }
}

/// A real file system, ext4 on a block device, whose power can be cut.
final class BlockDisk {
  /// Where it is mounted.
  let path = Mounts.temporary()
  private let image = Mounts.temporary()

  static let isPossible: Bool = {
    #if os(Linux)
      return geteuid() == 0 && (try? BlockDisk().cutPower()) != nil
    #else
      return false
    #endif
  }()

  init() throws {
    mkdir(path, 0o755)
    try Mounts.run("/bin/sh", "-c", "truncate -s 24M '\(image)' && /sbin/mkfs.ext4 -q -F '\(image)'")
    try mount()
  }

  deinit {
    try? Mounts.run("/bin/umount", "-l", path)
    rmdir(path)
    unlink(image)
  }

  private func mount() throws { try Mounts.run("/bin/mount", "-o", "loop", image, path) }

  /// From here on nothing reaches the device any more, not even what the file system's own journal has in memory; every
  /// call fails.
  func cutPower() throws {
    #if os(Linux)
      let folder = open(path, O_RDONLY | O_CLOEXEC)
      defer { close(folder) }
      // FS_IOC_SHUTDOWN with the flag to flush nothing.
      var how: UInt32 = 2
      guard ioctl(folder, 0x8004_587D, &how) == 0 else { throw Mounts.Refused() }
    #endif
  }

  /// The machine comes up again: the file system replays what of its journal is on the device.
  func restart() throws {
    try Mounts.run("/bin/umount", path)
    try mount()
  }
}
