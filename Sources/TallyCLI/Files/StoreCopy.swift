import Foundation

/// A copy of a store to look at, for a folder that cannot be written: reading a database with a write-ahead log needs a
/// shared memory file beside it (sqlite.org/wal.html, "Read-Only Databases").
struct StoreCopy {
  let path: String
  private let folder: URL
  private let note: Int

  /// Copies the file and its log.
  /// - Throws: `Failure` with `.busy` if another process wrote meanwhile.
  init(of original: String) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    path = folder.appendingPathComponent("store").path
    note = Ending.note(folder: folder.path)
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    do {
      let before = Self.versions(original)
      try Self.copy(original, to: path)
      if before[1] != nil { try Self.copy(original + "-wal", to: path + "-wal") }
      guard Self.versions(original) == before else { throw Failure(.busy, "somebody else is writing \(original)") }
    } catch {
      discard()
      throw error
    }
  }

  func discard() {
    try? FileManager.default.removeItem(at: folder)
    Ending.forget(note)
  }

  private static func copy(_ original: String, to path: String) throws {
    let source = try InputFile(original)
    // Not by NewFile, which makes nothing that has the name of a database's log.
    let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw Failure(errno: errno, .write, path) }
    let file = FileHandle(fileDescriptor: target, closeOnDealloc: true)
    while let bytes = try source.read(1 << 20) { try file.write(contentsOf: Data(bytes)) }
    try file.close()
  }

  /// Size and time of the file and of its log.
  private static func versions(_ path: String) -> [[Int]?] {
    [path, path + "-wal"].map { path in
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      #if canImport(Darwin)
        let time = status.st_mtimespec
      #else
        let time = status.st_mtim
      #endif
      return [Int(status.st_size), Int(time.tv_sec), Int(time.tv_nsec)]
    }
  }
}
