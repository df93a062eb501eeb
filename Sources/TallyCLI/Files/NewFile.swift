import Foundation

/// A file that appears under its name only when it is complete and on disk.
final class NewFile {
  let path: String
  private let folder: String
  private let target: String
  private let temporary: String?
  private var descriptor: Int32
  private(set) var byteCount = 0

  init(_ path: String) throws {
    // What a symbolic link points to is replaced, not the link.
    let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    self.path = path
    target = url.path
    folder = url.deletingLastPathComponent().path
    var status = stat()
    let isThere = stat(path, &status) == 0
    let kind = status.st_mode & S_IFMT
    guard !isThere || kind != S_IFDIR else { throw Failure(errno: EISDIR, .create, path) }
    if isThere, kind != S_IFREG {
      // A device or a named pipe cannot be replaced; it takes the bytes as they come.
      temporary = nil
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
    } else {
      let tail = String(UInt64.random(in: .min ... .max), radix: 16)
      let name = ".\(url.lastPathComponent.prefix(100)).\(tail).tmp"
      let temporary = url.deletingLastPathComponent().appendingPathComponent(name).path
      self.temporary = temporary
      descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    }
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    if let temporary { unlink(temporary) }
  }

  func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, path) }
    byteCount += bytes.count
  }

  /// Puts the file in its place.
  func finish() throws {
    guard let temporary else { return }
    guard fsync(descriptor) == 0 else { throw Failure(errno: errno, .write, path) }
    guard rename(temporary, target) == 0 else { throw Failure(errno: errno, .create, path) }
    close(descriptor)
    descriptor = -1
    let parent = open(folder, O_RDONLY | O_CLOEXEC)
    if parent >= 0 {
      fsync(parent)
      close(parent)
    }
  }
}
