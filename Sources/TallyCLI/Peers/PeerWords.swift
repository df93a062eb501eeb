import Foundation
import Tally

/// Passes on the standard error of a peer's command, whole lines at a time, so that it never runs into the status line.
final class PeerWords: Sendable {
  private static let patience = 0.5
  private let reading: Int32
  /// The end of the pipe that the command gets as its standard error.
  let writing: Int32
  private let ended = DispatchSemaphore(value: 0)

  /// nil where nothing changes on standard error: then the command may have it.
  init?() throws {
    guard Terminal.isThere else { return nil }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Failure(errno: errno, .create, "a pipe") }
    (reading, writing) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let thread = Thread { [self] in relay() }
    thread.name = "tally.words"
    thread.start()
  }

  /// Waits for the last words. Call once, when the command has ended.
  func finish() {
    close(writing)
    // What the command has started and left behind may keep the pipe open.
    _ = ended.wait(timeout: .now() + Self.patience)
  }

  private func relay() {
    defer {
      close(reading)
      ended.signal()
    }
    var words: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      // Who asks something ends no line and waits for an answer.
      var poll = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
      if Foundation.poll(&poll, 1, words.isEmpty ? -1 : 200) == 0 {
        say(&words)
        continue
      }
      let count = read(reading, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return say(&words) }
      words += buffer[..<count]
      if let end = words.lastIndex(of: 0x0A) {
        var lines = Array(words[...end])
        words.removeSubrange(...end)
        say(&lines)
      }
    }
  }

  private func say(_ words: inout [UInt8]) {
    guard let last = words.last else { return }
    Terminal.say(String(decoding: words, as: UTF8.self) + (last == 0x0A ? "" : "\n"))
    words = []
  }
}
