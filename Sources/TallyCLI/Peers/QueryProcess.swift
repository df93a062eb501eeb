#if Inspector
  import Foundation
  import Tally
  import TallyInspection
  import TallySync

  /// Runs a person's query in a process of its own, which can be ended at any moment: SQLite looks at no clock while it
  /// compiles a query, nor within a function, and a few hundred bytes of SQL can ask for hours or gigabytes.
  enum QueryProcess {
    /// The milliseconds between two looks at whether the query is to end.
    private static let pause: Int32 = 20

    static func run(
      _ store: Store, _ sql: String, _ limit: Int, _ isOver: @escaping () -> Bool
    ) throws -> QueryOutcome {
      let command = "exec \(quoted(executable)) \(QueryCommand.name) --limit \(limit) -- \(quoted(store.path))"
      let (input, output) = (try Pipes.make(), try Pipes.make())
      defer { Pipes.close(output.reading) }
      let child: Child
      do {
        defer { for end in [input.reading, output.writing] { Pipes.close(end) } }
        child = try Child(command, input: input.reading, output: output.writing)
      } catch {
        Pipes.close(input.writing)
        throw error
      }
      defer { child.terminate() }
      // It reads all of it before it does anything else. If it has ended instead, its output says nothing.
      _ = write(Array(sql.utf8), to: input.writing)
      Pipes.close(input.writing)
      guard let answer = try read(output.reading, until: isOver) else { return .refused(.tookTooLong) }
      // One that ends without a word has asked for more memory than it may have.
      guard !answer.isEmpty else { return .refused(.tooLarge) }
      return try JSONDecoder().decode(QueryOutcome.self, from: answer)
    }

    /// The file of this process, also when another has taken its place.
    private static var executable: String {
      #if os(Linux)
        "/proc/\(getpid())/exe"
      #else
        Bundle.main.executablePath ?? CommandLine.arguments[0]
      #endif
    }

    /// The same as one word of the shell.
    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }

    private static func write(_ bytes: [UInt8], to end: Int32) -> Bool {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.write(end, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    /// Everything that arrives; nil if it is to end before.
    private static func read(_ end: Int32, until isOver: () -> Bool) throws -> Data? {
      var (result, buffer) = (Data(), [UInt8](repeating: 0, count: 1 << 16))
      while true {
        guard !isOver() else { return nil }
        var wanted = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, pause) != 0 else { continue }
        let count = Foundation.read(end, &buffer, buffer.count)
        if count < 0, errno == EINTR || errno == EAGAIN { continue }
        guard count >= 0 else { throw Failure(errno: errno, .read, "the query's process") }
        guard count > 0 else { return result }
        result += buffer.prefix(count)
      }
    }
  }
#endif
