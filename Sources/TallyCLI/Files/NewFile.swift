import Foundation

/// A file that appears under its name only when it is complete and on disk.
final class NewFile {
  let path: String
  private let folder: String
  private let temporary: String
  private var descriptor: Int32
  private(set) var byteCount = 0

  init(_ path: String) throws {
    self.path = path
    let url = URL(fileURLWithPath: path)
    folder = url.deletingLastPathComponent().path
    let tail = UInt64.random(in: .min ... .max)
    temporary =
      url.deletingLastPathComponent().appendingPathComponent(
        ".\(url.lastPathComponent.prefix(100)).\(String(tail, radix: 16)).tmp"
      ).path
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      throw Failure(errno: EISDIR, .create, path)
    }
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(temporary)
  }

  func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, path) }
    byteCount += bytes.count
  }

  /// Puts the file in its place.
  func finish() throws {
    guard fsync(descriptor) == 0 else { throw Failure(errno: errno, .write, path) }
    guard rename(temporary, path) == 0 else { throw Failure(errno: errno, .create, path) }
    close(descriptor)
    descriptor = -1
    let parent = open(folder, O_RDONLY | O_CLOEXEC)
    if parent >= 0 {
      fsync(parent)
      close(parent)
    }
  }
}
