import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connection over two file descriptors: pipes, a socket, or the standard streams of a program that another one has
/// started.
///
/// ```swift
/// let outcome = try await store.sync(over: StreamConnection.standardStreams())
/// ```
///
/// Waiting occupies a thread of its own. A peer that disappears causes an error, never `SIGPIPE`.
public final class StreamConnection: SyncConnection {
  private let stream: DescriptorStream
  private let framed: FramedConnection

  /// Creates a connection over open descriptors. The connection closes them.
  /// - Parameters:
  ///   - reading: the descriptor from which bytes are read.
  ///   - writing: the descriptor to which bytes are written; may be the same, as with a socket.
  /// - Throws: `POSIXError` if the process may open no more files; then the descriptors stay open.
  public init(reading: Int32, writing: Int32) throws {
    stream = try DescriptorStream(reading: reading, writing: writing)
    framed = FramedConnection(stream)
  }

  deinit { stream.abandon() }

  /// Takes over standard input and output of this process and returns a connection over them. From then on everything
  /// else that prints goes to standard error, so it cannot come between messages, and standard input is empty.
  ///
  /// ```swift
  /// try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
  /// ```
  ///
  /// Use it in a program that another one starts, as `ProcessTransport` does. Call it once.
  /// - Throws: `POSIXError` if the process may open no more files.
  public static func standardStreams() throws -> StreamConnection {
    let (input, output) = (dup(STDIN_FILENO), dup(STDOUT_FILENO))
    guard input >= 0, output >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EBADF) }
    for end in [input, output] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fflush(nil)
    let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
    if nothing >= 0 {
      dup2(nothing, STDIN_FILENO)
      Pipes.close(nothing)
    }
    dup2(STDERR_FILENO, STDOUT_FILENO)
    return try StreamConnection(reading: input, writing: output)
  }

  /// Returns the two ends of one connection over two pipes, for a test.
  ///
  /// ```swift
  /// let (here, there) = try StreamConnection.pair()
  /// async let other = tablet.sync(over: there)
  /// let outcome = try await phone.sync(over: here)
  /// _ = try await other
  /// ```
  /// - Throws: `POSIXError` if the process may open no more files.
  public static func pair() throws -> (StreamConnection, StreamConnection) {
    let (there, back) = (try Pipes.make(), try Pipes.make())
    return (
      try StreamConnection(reading: back.reading, writing: there.writing),
      try StreamConnection(reading: there.reading, writing: back.writing)
    )
  }

  /// Sends one whole message, and waits while the peer does not read.
  public func send(_ message: [UInt8]) async throws { try await framed.send(message) }
  /// Returns the next message; nil at an orderly end.
  public func receive() async throws -> [UInt8]? { try await framed.receive() }
  /// Sends the end marker and closes both descriptors. It waits up to two seconds for a peer that does not read.
  public func close() async { await framed.close() }
}
