import Foundation
import GRDBSQLite
import Synchronization

/// Finds a simulated disk by a file's path, for SQLite.
///
/// SQLite is given a file system of ours as the default one. It looks at a path's beginning, and hands everything that
/// is not on a simulated disk to the file system that was the default before. GRDB cannot name a file system, and a
/// name in the path (`?vfs=`) works only where SQLite was built to read URIs.
enum DiskRegistry {
  static let root = "/simulated-disk/"

  private struct Weak {
    weak var disk: SimulatedDisk?
  }

  private static let disks = Mutex<[Int: Weak]>([:])

  static func add(_ disk: SimulatedDisk) {
    _ = registered
    disks.withLock { $0[disk.number] = Weak(disk: disk) }
  }

  static func remove(_ number: Int) { disks.withLock { $0[number] = nil } }

  /// The name of a file on its disk; nil for a path of the system's.
  static func name(_ path: String) -> String? {
    guard path.hasPrefix(root), let slash = path.dropFirst(root.count).firstIndex(of: "/") else { return nil }
    return String(path[path.index(after: slash)...])
  }

  /// The disk of a file, and its name there; nil for a path of the system's.
  static func find(_ path: UnsafePointer<CChar>?) -> (disk: SimulatedDisk, name: String)? {
    guard let path, strncmp(path, root, root.utf8.count) == 0 else { return nil }
    let text = String(cString: path)
    guard let name = name(text), let number = Int(text.dropFirst(root.count).prefix { $0 != "/" }),
      let disk = disks.withLock({ $0[number]?.disk })
    else { return nil }
    return (disk, name)
  }

  private static let registered: Int32 = DiskFileSystem.register()
}
