import Foundation
import TallyRelayProtocol

/// A file with something that others must not read.
enum SecretFile {
  /// Its bytes, without the end of the line.
  static func bytes(in path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(errno: errno == 0 ? ENOENT : errno, .read, path)
    }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
      complain("warning: others can read \(path); chmod 600 keeps it")
    }
    var bytes = Array(data)
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    return bytes
  }

  /// The token for a relay in a file: its last line, so that what `tally relay token` prints can be kept as it is.
  static func token(in path: String) throws -> String {
    let text = String(decoding: try bytes(in: path), as: UTF8.self)
    guard let line = text.split(whereSeparator: \.isNewline).last, RelayNames.isToken(line) else {
      throw Failure(.badData, "\(path) holds no token, as tally relay token prints it")
    }
    return String(line)
  }

  /// Makes a new file that only its owner may read, and lets the body say what stands in it. If that throws, there is
  /// no file.
  static func create<T>(_ path: String, _ content: () throws -> (text: String, value: T)) throws -> T {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
    let note = Ending.note(file: path)
    defer {
      close(descriptor)
      Ending.forget(note)
    }
    do {
      let (text, value) = try content()
      try Array(text.utf8).withUnsafeBytes { try writeAll($0, to: descriptor, path) }
      guard fsync(descriptor) == 0 else { throw Failure(errno: errno, .write, path) }
      try syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path, for: path)
      return value
    } catch {
      unlink(path)
      throw error
    }
  }
}
