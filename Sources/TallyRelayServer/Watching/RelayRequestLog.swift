#if Relay
  import Crypto
  import Foundation
  import Hummingbird
  import Synchronization
  import TallyRelayProtocol

  /// A line for each request, without tokens, names of entries or of spaces. A space is a short hash under a key of
  /// this run: its lines belong together, and nobody learns the space from them.
  ///
  /// A client can cause any number of refusals, so only twenty a second are logged of those with status 401, 429 or
  /// 503, and twenty faults. The others are counted, and a line says how many were left out.
  struct RelayRequestLog: Sendable {
    private let format: RelaySettings.LogFormat
    private let write: (@Sendable (String) -> Void)?
    private let key: SymmetricKey
    private let now: @Sendable () -> Int64
    private let lines = LineNumber()
    private let memory = LineMemory()
    private let refusals = RefusalLines()
    private let faults = RefusalLines()

    init(_ settings: RelaySettings, key: [UInt8], now: @escaping @Sendable () -> Int64) {
      (format, write, self.now) = (settings.logFormat, settings.log, now)
      self.key = SymmetricKey(data: key)
    }

    func note(
      _ request: Request, _ route: RelayRoute, _ response: Response, _ problem: RelayProblem.Code?, _ duration: Duration
    ) {
      guard write != nil else { return }
      let number = lines.next()
      // A header that is too large is refused before its token is looked at.
      let isLimited = [401, 429, 503].contains(response.status.code) || problem == .headersTooLarge
      guard var line = begin(isLimited ? refusals : nil) else { return }
      line.add("request", number: number)
      line.add("route", text: route.kind.rawValue)
      line.add("status", number: response.status.code)
      if let problem { line.add("code", text: problem.rawValue) }
      line.add("received", number: request.headers[.contentLength].flatMap { Int($0) } ?? 0)
      line.add("sent", number: response.body.contentLength ?? 0)
      line.add("ms", number: Int(duration / .milliseconds(1)))
      if let space = route.space { line.add("space", text: memory.tag(of: space, key)) }
      write?(line.ended)
    }

    /// Notes a request that was refused before it was a request.
    func note(refusal problem: RelayProblem) {
      guard write != nil else { return }
      let number = lines.next()
      guard var line = begin(refusals) else { return }
      line.add("request", number: number)
      line.add("route", text: RelayRoute.Kind.other.rawValue)
      line.add("status", number: problem.status)
      line.add("code", text: problem.code.rawValue)
      write?(line.ended)
    }

    /// Something that the owner should look at.
    func fault(_ message: String) {
      guard write != nil, var line = begin(faults) else { return }
      line.add("fault", text: message)
      write?(line.ended)
    }

    /// Begins a line, after one that says how many were left out in an earlier second, if any were.
    /// - Parameter kind: counts the lines of a limited kind; nil for any other.
    /// - Returns: nil for a line of which this second has had enough.
    private func begin(_ kind: RefusalLines?) -> Line? {
      let second = now()
      let isWritten = kind?.count(at: second) ?? true
      for leftOut in [refusals, faults].compactMap({ $0.leftOut(before: second) }) {
        var line = Line(format)
        line.add("time", text: memory.stamp(leftOut.second))
        line.add("leftOut", number: leftOut.count)
        write?(line.ended)
      }
      guard isWritten else { return nil }
      var line = Line(format)
      line.add("time", text: memory.stamp(second))
      return line
    }

    /// A line as it grows.
    private struct Line {
      private let format: RelaySettings.LogFormat
      private var text = ""

      init(_ format: RelaySettings.LogFormat) {
        self.format = format
        text.reserveCapacity(160)
      }

      mutating func add(_ name: String, text value: String) {
        begin(name)
        if format == .json { appendQuoted(value) } else { text += value }
      }

      mutating func add(_ name: String, number: Int) {
        begin(name)
        text += String(number)
      }

      private mutating func begin(_ name: String) {
        switch format {
        case .json:
          text += text.isEmpty ? "{\"" : ",\""
          text += name
          text += "\":"
        case .text:
          if !text.isEmpty { text += " " }
          text += name
          text += "="
        }
      }

      private mutating func appendQuoted(_ value: String) {
        text += "\""
        for scalar in value.unicodeScalars {
          switch scalar {
          case "\"": text += "\\\""
          case "\\": text += "\\\\"
          default: text.unicodeScalars.append(scalar.value < 32 ? " " : scalar)
          }
        }
        text += "\""
      }

      var ended: String { format == .json ? text + "}" : text }
    }
  }

  /// Caches the formatted second and the tags of spaces.
  private final class LineMemory: Sendable {
    private struct State {
      var second: Int64?
      var stamp = ""
      var tags: [String: String] = [:]
    }

    private let state = Mutex(State())
    /// The tags are dropped at this number, so that requests for spaces that do not exist cannot fill memory.
    private static let largestCount = 4_096

    func stamp(_ second: Int64) -> String {
      state.withLock { state in
        if state.second != second {
          (state.second, state.stamp) = (second, Date(timeIntervalSince1970: Double(second)).formatted(.iso8601))
        }
        return state.stamp
      }
    }

    func tag(of space: String, _ key: SymmetricKey) -> String {
      if let tag = state.withLock({ $0.tags[space] }) { return tag }
      let hash = HMAC<SHA256>.authenticationCode(for: Data(space.utf8), using: key)
      let tag = hash.prefix(4).map { String(format: "%02x", $0) }.joined()
      // A long path is no space's; it would only take up room.
      guard space.utf8.count <= RelayLimits.spaceBytes else { return tag }
      state.withLock { state in
        if state.tags.count >= Self.largestCount { state.tags = [:] }
        state.tags[space] = tag
      }
      return tag
    }
  }

  /// Counts lines of a limited kind, second by second.
  private final class RefusalLines: Sendable {
    private struct State {
      var second = Int64.min
      var count = 0
      var leftOut: (second: Int64, count: Int)?

      /// A clock that was set back begins another second, too.
      mutating func begin(_ next: Int64) {
        guard next != second else { return }
        if count > RefusalLines.mostLines { leftOut = (second, count - RefusalLines.mostLines) }
        (second, count) = (next, 0)
      }
    }

    private let state = Mutex(State())
    /// The most of these lines in a second.
    static let mostLines = 20

    /// Counts a line.
    /// - Returns: whether it is written.
    func count(at second: Int64) -> Bool {
      state.withLock { state in
        state.begin(second)
        state.count += 1
        return state.count <= Self.mostLines
      }
    }

    /// How many were left out in a second that is over; once.
    func leftOut(before second: Int64) -> (second: Int64, count: Int)? {
      state.withLock { state in
        state.begin(second)
        defer { state.leftOut = nil }
        return state.leftOut
      }
    }
  }

  /// Numbers the requests of a run, also those whose lines are left out.
  private final class LineNumber: Sendable {
    private let last = Atomic<Int>(0)
    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
  }
#endif
