import Foundation

/// Standard output, buffered.
final class Output {
  private static let limit = 1 << 16
  private var buffer: [UInt8] = []

  /// Looks before anything is changed whether standard output can take what the command has to say.
  /// - Parameter store: what must not be written into.
  /// - Throws: `Failure` if it is closed, or leads into the store.
  static func requireOpen(besides store: String? = nil) throws {
    let flags = fcntl(STDOUT_FILENO, F_GETFL)
    guard flags >= 0, flags & O_ACCMODE != O_RDONLY else { throw Failure(errno: EBADF, .write, "the output") }
    var status = stat()
    guard let store, fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
    guard Place(store) != Place(status) else { throw Failure(.cannotCreate, "the output leads into \(store) itself") }
  }

  /// Runs the body and flushes, also when it throws.
  static func run(_ body: (Output) throws -> Void) throws {
    let output = Output()
    do {
      try body(output)
    } catch {
      try? output.flush()
      throw error
    }
    try output.flush()
  }

  func write(_ text: String) throws {
    buffer += text.utf8
    if buffer.count >= Self.limit { try flush() }
  }

  func write(_ bytes: [UInt8]) throws {
    buffer += bytes
    if buffer.count >= Self.limit { try flush() }
  }

  func line(_ text: String) throws { try write(text + "\n") }

  /// A line that the reader has before anything else happens: an acknowledgement.
  func acknowledge(_ text: String) throws {
    do {
      try line(text)
      try flush()
    } catch is ReaderWentAway {
      throw Failure(.inputOutput, "nobody reads the acknowledgements any more")
    }
  }

  /// - Throws: `ReaderWentAway` if the other end of a pipe is closed.
  func flush() throws {
    defer { buffer.removeAll(keepingCapacity: true) }
    try Self.isOnTerminal ? Terminal.aside(write) : write()
  }

  static let isOnTerminal = isatty(STDOUT_FILENO) == 1

  private func write() throws {
    try buffer.withUnsafeBytes { try writeAll($0, to: STDOUT_FILENO, "the output") }
  }
}

/// One line on standard error, which can neither fill nor steer a terminal with any arguments.
func complain(_ message: String) {
  let limit = 1000
  let scalars = message.unicodeScalars
  let line = scalars.prefix(limit).map { scalar in
    scalar.properties.generalCategory == .control ? " " : isPrintable(scalar) ? scalar : "?"
  }
  let isCut = !scalars.dropFirst(limit).isEmpty
  Terminal.say("tally: \(String(String.UnicodeScalarView(line)))\(isCut ? "…" : "")\n")
}

/// Writes all the bytes.
/// - Throws: `ReaderWentAway` if the other end of a pipe is closed.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String) throws {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
    if count < 0 {
      if errno == EINTR { continue }
      if errno == EPIPE { throw ReaderWentAway() }
      throw Failure(errno: errno, .write, path)
    }
    rest = rest.dropFirst(count)
  }
}
