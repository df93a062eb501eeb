import Foundation

/// Lines that wait in a temporary file, so that there may be any number of them.
final class LineSpool {
  private static let limit = 1 << 16
  private var file: InputFile?
  private var buffer: [UInt8] = []
  private(set) var count = 0

  func append(_ line: String) throws {
    buffer += line.utf8
    buffer.append(0x0A)
    count += 1
    if buffer.count >= Self.limit { try flush() }
  }

  private func flush() throws {
    let file = try self.file ?? InputFile(temporaryIn: NSTemporaryDirectory())
    self.file = file
    try buffer.withUnsafeBytes { try writeAll($0, to: file.descriptor, file.path) }
    buffer = []
  }

  /// All lines, in order. Call once, at the end.
  func reader() throws -> LineReader {
    try flush()
    let file = try self.file ?? InputFile(temporaryIn: NSTemporaryDirectory())
    guard lseek(file.descriptor, 0, SEEK_SET) == 0 else { throw Failure(errno: errno, .read, file.path) }
    return LineReader(file)
  }
}
