#if Inspector && Relay
  import Foundation

  /// A program that runs beside the show, and is talked to line by line.
  final class LiveProcess: Sendable {
    /// It has ended by itself, or somebody has ended it.
    struct Ended: Error, CustomStringConvertible {
      let name: String
      var description: String { "the process of the \(name) has ended; start the show again" }
    }

    /// What it prints.
    let lines: AsyncStream<String>
    private let process: Process
    private let input = Pipe()

    /// A program that ends as by a power cut once nobody holds its standard input any more, whatever has ended the
    /// show: a shell waits for that beside it.
    convenience init(endingWithUs executable: URL, _ arguments: [String]) throws {
      let script = "trap '' INT TERM HUP; \"$0\" \"$@\" & program=$!; cat > /dev/null; kill -KILL $program; wait"
      try self.init(URL(fileURLWithPath: "/bin/sh"), ["-c", script, executable.path] + arguments)
    }

    init(_ executable: URL, _ arguments: [String]) throws {
      let (process, output) = (Process(), Pipe())
      (process.executableURL, process.arguments) = (executable, arguments)
      (process.standardInput, process.standardOutput) = (input, output)
      // A relay writes a line for each request there.
      process.standardError = FileHandle.nullDevice
      let (lines, feed) = AsyncStream.makeStream(of: String.self)
      (self.lines, self.process) = (lines, process)
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

    func say(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

    /// Lets it end by itself, and waits for that.
    func end() {
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }

  }

  /// A relay that can be killed and started again at the same address.
  actor LiveRelay {
    nonisolated let address: String
    nonisolated let token: String
    private let data: String
    private let place: String
    private var process: LiveProcess?

    var isRunning: Bool { process != nil }

    private static let tool = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
      .appendingPathComponent("tally")

    init(_ folder: URL) async throws {
      data = folder.appendingPathComponent("relay.sqlite").path
      let process = try LiveProcess(endingWithUs: Self.tool, ["relay", "--data", data, "--listen", "127.0.0.1:0"])
      self.process = process
      var lines = process.lines.makeAsyncIterator()
      guard let place = await lines.next()?.split(separator: " ").last else { throw LiveProcess.Ended(name: "relay") }
      self.place = String(place)
      let making = try LiveProcess(
        Self.tool, ["relay", "token", "--data", data, "--url", "http://\(place)", "--json"])
      var answers = making.lines.makeAsyncIterator()
      let answer = try JSONDecoder().decode([String: String].self, from: Data(await answers.next()?.utf8 ?? "".utf8))
      making.end()
      guard let address = answer["url"], let token = answer["token"] else { throw LiveProcess.Ended(name: "relay") }
      (self.address, self.token) = (address, token)
      follow(process)
    }

    /// Notes when somebody else ends it.
    private func follow(_ process: LiveProcess) {
      Task { [weak self] in
        for await _ in process.lines {}
        await self?.noteEnd(of: process)
      }
    }

    private func noteEnd(of ended: LiveProcess) { if process === ended { process = nil } }

    func turn(isOn: Bool) async throws {
      if !isOn {
        process?.end()
        process = nil
      } else if process == nil {
        let started = try LiveProcess(endingWithUs: Self.tool, ["relay", "--data", data, "--listen", place])
        process = started
        follow(started)
      }
    }

    func end() { process?.end() }
  }
#endif
