import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connection over two file descriptors: pipes, a socket, the standard streams of a program that another one has
/// started.
///
/// ```swift
/// let outcome = try await store.sync(over: StreamConnection.standardStreams())
/// ```
///
/// Waiting takes a thread of its own. A peer that goes away is an error, never `SIGPIPE`.
public final class StreamConnection: SyncConnection {
  private let stream: DescriptorStream
  private let framed: FramedConnection

  /// A connection over open descriptors, which it closes.
  /// - Parameters:
  ///   - reading: where bytes come from.
  ///   - writing: where bytes go; may be the same, as with a socket.
  /// - Throws: `POSIXError` if the process may open no more files; the descriptors stay open then.
  public init(reading: Int32, writing: Int32) throws {
    stream = try DescriptorStream(reading: reading, writing: writing)
    framed = FramedConnection(stream)
  }

  deinit { stream.abandon() }

  /// Takes over standard input and output of this process. From then on all else that prints goes to standard error, so
  /// that it cannot come between messages, and standard input is empty.
  ///
  /// ```swift
  /// try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
  /// ```
  ///
  /// It is for a program that another one starts, as `ProcessTransport` does. Call it once.
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

  /// Two ends of one connection, over two pipes, for a test.
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

  /// Sends one message, whole; waits while the peer does not read.
  public func send(_ message: [UInt8]) async throws { try await framed.send(message) }
  /// The next message; nil at an orderly end.
  public func receive() async throws -> [UInt8]? { try await framed.receive() }
  /// Says farewell and closes both descriptors. A peer that does not read is waited for two seconds.
  public func close() async { await framed.close() }
}
