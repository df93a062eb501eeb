import Foundation

/// A file to read, or standard input for `-`.
final class InputFile {
  let descriptor: Int32
  let path: String
  /// The length of an ordinary file; nil for pipes and terminals.
  let byteCount: Int?
  private(set) var bytesRead = 0

  /// The fraction of an ordinary file that has been read.
  var fractionRead: Double? {
    byteCount.map { $0 > 0 ? min(1, Double(bytesRead) / Double($0)) : 1 }
  }

  init(_ path: String) throws {
    self.path = path == "-" ? "standard input" : path
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let failure = Failure(errno: errno, .read, self.path)
      guard failure.status == .notFound else { throw failure }
      throw Failure(.notFound, failure.message + Misspelling.hint(forFile: path))
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failure(errno: errno, .read, self.path) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(errno: EISDIR, .read, self.path) }
    byteCount = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// A new file without a name in a folder, to write and to read.
  init(temporaryIn folder: String) throws {
    let tail = String(UInt64.random(in: .min ... .max), radix: 16)
    path = URL(fileURLWithPath: folder).appendingPathComponent("tally-\(tail).tmp").path
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
    unlink(path)
    byteCount = nil
  }

  deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

  /// The next bytes, at most `count`; nil at the end.
  func read(_ count: Int = 1 << 16) throws -> [UInt8]? {
    let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      var result = 0
      repeat { result = Foundation.read(descriptor, buffer.baseAddress, count) } while result < 0 && errno == EINTR
      guard result >= 0 else { throw Failure(errno: errno, .read, path) }
      filled = result
    }
    bytesRead += bytes.count
    return bytes.isEmpty ? nil : bytes
  }

  /// Everything, up to a limit.
  func readAll(limit: Int) throws -> [UInt8] {
    var result: [UInt8] = []
    while let more = try read() {
      result += more
      guard result.count <= limit else { throw Failure(.badData, "\(path) is larger than \(limit) bytes") }
    }
    return result
  }
}
