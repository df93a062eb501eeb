/// Reads a file line by line, with memory for one line.
struct LineReader {
  /// The most bytes of one line: a blob of the largest size in hexadecimal and some more.
  static let limit = 64 << 20

  /// One line without its end.
  struct Line {
    /// From 1.
    var number: Int
    var bytes: [UInt8]
    /// Whether there was more than the limit; the bytes are then missing.
    var isTooLong = false

    var isBlank: Bool { bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 } && !isTooLong }

    /// The text.
    func text() throws -> String {
      guard !isTooLong else { throw Failure(.badData, "the line is longer than \(LineReader.limit) bytes") }
      guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure(.badData, "not valid UTF-8") }
      return text
    }
  }

  private let file: InputFile
  private var buffer: [UInt8] = []
  private var position = 0
  private var number = 0
  private var isAtEnd = false

  init(_ file: InputFile) { self.file = file }

  /// The next line; nil at the end.
  mutating func next() throws -> Line? {
    var line = Line(number: number + 1, bytes: [])
    while true {
      if let end = buffer[position...].firstIndex(of: 0x0A) {
        take(buffer[position..<end], into: &line)
        position = end + 1
        break
      }
      take(buffer[position...], into: &line)
      position = buffer.count
      guard let more = try file.read() else {
        isAtEnd = true
        break
      }
      buffer = more
      position = 0
    }
    if isAtEnd, line.bytes.isEmpty, !line.isTooLong { return nil }
    number += 1
    // Editors on Windows begin a text in UTF-8 with a mark.
    if number == 1, line.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { line.bytes.removeFirst(3) }
    if line.bytes.last == 0x0D { line.bytes.removeLast() }
    return line
  }

  private func take(_ bytes: ArraySlice<UInt8>, into line: inout Line) {
    guard !line.isTooLong else { return }
    if line.bytes.count + bytes.count > Self.limit {
      line.bytes = []
      line.isTooLong = true
    } else {
      line.bytes += bytes
    }
  }
}
