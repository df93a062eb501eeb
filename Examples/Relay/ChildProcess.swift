import Foundation

/// A program that runs beside the story and is talked to line by line.
final class ChildProcess {
  struct Ended: Error {}

  private let process = Process()
  private let input = Pipe()
  private var lines: AsyncStream<String>.AsyncIterator

  init(_ executable: URL, _ arguments: [String]) throws {
    let output = Pipe()
    (process.executableURL, process.arguments) = (executable, arguments)
    (process.standardInput, process.standardOutput) = (input, output)
    // A relay writes a line for each request there.
    process.standardError = FileHandle.nullDevice
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    self.lines = lines.makeAsyncIterator()
    try process.run()
    let reading = output.fileHandleForReading
    Thread.detachNewThread {
      var text = Data()
      while case let data = reading.availableData, !data.isEmpty {
        text += data
        while let end = text.firstIndex(of: 0x0A) {
          feed.yield(String(decoding: text[..<end], as: UTF8.self))
          text = Data(text[(end + 1)...])
        }
      }
      feed.finish()
    }
  }

  func nextLine() async throws -> String {
    guard let line = await lines.next() else { throw Ended() }
    return line
  }

  /// Says something, and waits for the answer.
  func ask(_ line: String) async throws -> [String] {
    try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    var answer: [String] = []
    while case let line = try await nextLine(), line != "." { answer.append(line) }
    return answer
  }

  /// Ends it as a power cut would.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Lets it end by itself.
  func end() throws {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
