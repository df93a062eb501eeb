import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The loop of a `DescriptorStream`'s thread until the stream is closed.
final class DescriptorLoop: @unchecked Sendable {
  /// The time to wait for a slow peer to take the farewell.
  static let patience: Duration = .seconds(2)
  /// POSIX: a pipe that polls as writable takes this many bytes without blocking (`PIPE_BUF`, at least 512; Linux has
  /// 4096).
  private static let pieceBytes = min(4096, Int(PIPE_BUF))
  private static let readBytes = 1 << 16

  // Only the thread touches these.
  private let reading: Int32
  private let writing: Int32
  private let waker: Int32
  private let stream: DescriptorStream
  /// The bytes that were read for a call that did not wait for them to the end.
  private var kept: Result<[UInt8]?, any Error>?
  private var buffer = [UInt8](repeating: 0, count: readBytes)

  init(reading: Int32, writing: Int32, waker: Int32, stream: DescriptorStream) {
    self.reading = reading
    self.writing = writing
    self.waker = waker
    self.stream = stream
  }

  func run() {
    Signals.blockBrokenPipe(writing: writing)
    while true {
      let wishes = stream.wishes
      if let last = wishes.last {
        say(last)
        break
      }
      if wishes.reads, let result = kept {
        if stream.deliver(result) { kept = nil }
        continue
      }
      let ready = wait(reads: wishes.reads, writes: wishes.writes, timeout: -1)
      if ready.reads { read() }
      if ready.writes { stream.writePiece(write) }
    }
    _ = close(reading)
    if writing != reading { _ = close(writing) }
    stream.loopEnded()
  }

  /// Waits until the loop is woken or a descriptor is ready; one that no call waits for is left out, since its end
  /// would be reported again and again.
  private func wait(reads: Bool, writes: Bool, timeout: Int32) -> (reads: Bool, writes: Bool) {
    var entries = [
      pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
      pollfd(fd: reads ? reading : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: writes ? writing : -1, events: Int16(POLLOUT), revents: 0),
    ]
    guard poll(&entries, nfds_t(entries.count), timeout) > 0 else { return (false, false) }
    if entries[0].revents != 0 { Waker.drain(waker) }
    return (entries[1].revents != 0, entries[2].revents != 0)
  }

  private func read() {
    let count = buffer.withUnsafeMutableBytes { systemRead(reading, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR || errno == EAGAIN { return }
    let result: Result<[UInt8]?, any Error> =
      count < 0 ? .failure(Self.failure("reading")) : .success(count == 0 ? nil : Array(buffer[..<count]))
    if !stream.deliver(result) { kept = result }
  }

  private func write(_ bytes: ArraySlice<UInt8>) -> Result<Int, any Error> {
    let count = bytes.prefix(Self.pieceBytes).withUnsafeBytes { systemWrite(writing, $0.baseAddress, $0.count) }
    if count < 0 { return errno == EINTR || errno == EAGAIN ? .success(0) : .failure(Self.failure("writing")) }
    return .success(count)
  }

  /// Writes the last bytes if the peer takes them soon.
  private func say(_ last: [UInt8]) {
    let deadline = ContinuousClock.now + Self.patience
    var rest = last[...]
    while !rest.isEmpty {
      let left = ContinuousClock.now.duration(to: deadline)
      guard left > .zero else { return }
      guard wait(reads: false, writes: true, timeout: Int32(left / .milliseconds(1)) + 1).writes else { continue }
      guard case .success(let count) = write(rest) else { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func failure(_ doing: String) -> SyncError {
    SyncError(.disconnected, "\(doing) failed: \(String(cString: strerror(errno)))")
  }
}

// Inside the class the names mean its methods.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

/// Wakes a thread that polls.
final class Waker: Sendable {
  let reading: Int32
  private let writing: Int32

  init() throws {
    (reading, writing) = try Pipes.make()
    for end in [reading, writing] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
  }

  deinit {
    _ = close(reading)
    _ = close(writing)
  }

  /// A full pipe wakes as well.
  func wake() {
    var byte: UInt8 = 1
    _ = systemWrite(writing, &byte, 1)
  }

  static func drain(_ reading: Int32) {
    var bytes: (UInt64, UInt64) = (0, 0)
    while withUnsafeMutableBytes(of: &bytes, { systemRead(reading, $0.baseAddress, $0.count) }) == 16 {}
  }
}

/// Pipes that child processes do not inherit.
package enum Pipes {
  private static let lock = Mutex(())

  package static func make() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    return try lock.withLock { _ in
      guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (ends[0], ends[1])
    }
  }

  /// Between making a pipe and marking it a child of another thread could inherit it, and keep it from ever ending.
  static func whileNoneIsMade<T>(_ body: () -> T) -> T { lock.withLock { _ in body() } }

  package static func close(_ end: Int32) { _ = systemClose(end) }
}

enum Signals {
  /// Makes writing to a pipe without a reader an error of this thread instead of the end of the process. `signal(7)`:
  /// the signal goes to the thread that wrote.
  static func blockBrokenPipe(writing: Int32) {
    #if canImport(Darwin)
      _ = fcntl(writing, F_SETNOSIGPIPE, 1)
    #endif
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
