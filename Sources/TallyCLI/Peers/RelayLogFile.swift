#if Relay
  import Dispatch
  import Foundation
  import Synchronization

  /// The file of a relay's log. It is opened again by its name when it has been renamed, as programs that keep logs
  /// short do.
  final class RelayLogFile: Sendable {
    private struct State {
      var descriptor: Int32
      /// Whether it was said that nothing can be written, since nothing has been.
      var hasFailed = false
    }

    private let path: String
    private let state: Mutex<State>

    /// Opens the file; makes it, for its owner and group to read, if it is not there.
    /// - Throws: `Failure`.
    init(_ path: String) throws {
      self.path = path
      state = Mutex(State(descriptor: try Self.open(path)))
    }

    deinit { state.withLock { _ = close($0.descriptor) } }

    private static func open(_ path: String) throws -> Int32 {
      let descriptor = Foundation.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
      guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
      return descriptor
    }

    /// Opens it again by its name. What was open stays so if that fails.
    /// - Throws: `Failure`.
    func reopen() throws {
      let descriptor = try Self.open(path)
      let old = state.withLock { state in
        defer { state = State(descriptor: descriptor) }
        return state.descriptor
      }
      close(old)
    }

    /// Appends lines. What the disk does not take is lost, and said once on standard error.
    func append(_ text: String) {
      let failure = state.withLock { state -> (any Error)? in
        do {
          try Array(text.utf8).withUnsafeBytes { try writeAll($0, to: state.descriptor, path) }
          state.hasFailed = false
          return nil
        } catch {
          defer { state.hasFailed = true }
          return state.hasFailed ? nil : error
        }
      }
      if let failure { complain(Failure.message(of: failure)) }
    }
  }

  /// Lines for standard error or a file, one after the other, so that a slow reader holds up no request. Of what nobody
  /// reads only so many lines wait; the rest is counted.
  final class LineQueue: Sendable {
    private static let limit = 10_000
    private let queue = DispatchQueue(label: "tally.relay.log", qos: .utility)
    private let waiting = Mutex((text: "", count: 0, dropped: 0))
    private let file: RelayLogFile?

    /// Lines for a file; for standard error if there is none.
    init(_ file: RelayLogFile?) { self.file = file }

    /// Writes all lines that are queued in one call; lines that arrive meanwhile wait for the next.
    func write(_ line: String) {
      let isFirst = waiting.withLock { waiting in
        guard waiting.count < Self.limit else {
          waiting.dropped += 1
          return false
        }
        waiting.text += line
        waiting.text += "\n"
        waiting.count += 1
        return waiting.count == 1
      }
      if isFirst { queue.async { self.writeAll() } }
    }

    private func writeAll() {
      while true {
        let (text, count, dropped) = waiting.withLock { waiting in
          defer { (waiting.text, waiting.dropped) = ("", 0) }
          return (waiting.text, waiting.count, waiting.dropped)
        }
        say(text)
        if dropped > 0 { say("tally: \(dropped) lines were dropped, since nobody read them\n") }
        let isDone = waiting.withLock { waiting in
          waiting.count -= count
          return waiting.count == 0
        }
        if isDone { return }
      }
    }

    private func say(_ text: String) {
      if let file { file.append(text) } else { Terminal.say(text) }
    }
  }

  /// Tells of SIGHUP, by which a service is asked to read again what it has read. A terminal that goes away sends it
  /// too: there it ends the tool as ever.
  final class Hangups {
    private let source: any DispatchSourceSignal

    /// Begins to listen; nil if standard input is a terminal. What the body throws is said, and nothing else comes of
    /// it.
    init?(_ body: @escaping @Sendable () throws -> Void) {
      guard isatty(STDIN_FILENO) == 0 else { return nil }
      signal(SIGHUP, SIG_IGN)
      source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "tally.relay.hangup"))
      source.setEventHandler {
        do { try body() } catch { complain(Failure.message(of: error)) }
      }
      source.resume()
    }

    func stop() { source.cancel() }
  }
#endif
