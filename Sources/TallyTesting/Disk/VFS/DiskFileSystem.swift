import Foundation
import GRDBSQLite

/// SQLite's interface to a file system (https://sqlite.org/vfs.html): simulated disks by their paths, everything else
/// as before.
enum DiskFileSystem {
  /// The file system that was the default one.
  private nonisolated(unsafe) static let system: UnsafeMutablePointer<sqlite3_vfs>? = sqlite3_vfs_find(nil)

  /// Puts simulated disks in front of the system's file system, for connections that are opened from here on.
  static func register() -> Int32 {
    guard let system else { return SQLITE_ERROR }
    // SQLite keeps the pointer for as long as the process lives.
    let ours = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    ours.initialize(to: system.pointee)
    ours.pointee.pNext = nil
    ours.pointee.szOsFile = max(system.pointee.szOsFile, Int32(MemoryLayout<OpenFile>.size))
    ours.pointee.zName = UnsafePointer(strdup("simulated-disk"))
    ours.pointee.xOpen = open
    ours.pointee.xDelete = delete
    ours.pointee.xAccess = access
    ours.pointee.xFullPathname = fullPathname
    return sqlite3_vfs_register(ours, 1)
  }

  private static let open:
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
      UnsafeMutablePointer<Int32>?
    ) -> Int32 = { _, path, file, flags, outFlags in
      guard let (disk, name) = DiskRegistry.find(path) else {
        return system?.pointee.xOpen(system, path, file, flags, outFlags) ?? SQLITE_CANTOPEN
      }
      guard let file else { return SQLITE_CANTOPEN }
      file.pointee.pMethods = nil
      guard let handle = disk.open(name, flags) else { return SQLITE_CANTOPEN }
      OpenFile.start(file, handle)
      outFlags?.pointee = flags
      return SQLITE_OK
    }

  private static let delete:
    @convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, Int32) -> Int32 = {
      _, path, syncFolder in
      guard let (disk, name) = DiskRegistry.find(path) else {
        return system?.pointee.xDelete(system, path, syncFolder) ?? SQLITE_IOERR
      }
      return disk.delete(name, thenSync: syncFolder != 0)
    }

  private static let access:
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<Int32>?
    ) -> Int32 = { _, path, flags, result in
      guard let (disk, name) = DiskRegistry.find(path) else {
        return system?.pointee.xAccess(system, path, flags, result) ?? SQLITE_IOERR
      }
      result?.pointee = disk.exists(name) ? 1 : 0
      return SQLITE_OK
    }

  private static let fullPathname:
    @convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<CChar>?) ->
      Int32 =
      { _, path, count, result in
        guard let path, let result, DiskRegistry.find(path) != nil else {
          return system?.pointee.xFullPathname(system, path, count, result) ?? SQLITE_CANTOPEN
        }
        let length = strlen(path)
        guard length < Int(count) else { return SQLITE_CANTOPEN }
        memcpy(result, path, length + 1)
        return SQLITE_OK
      }
}
