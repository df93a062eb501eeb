#if Relay
  import Crypto
  import Foundation
  import Hummingbird
  import Synchronization
  import TallyRelayProtocol

  /// A line for each request, without tokens, names of entries or of spaces. A space is a short hash under a key of
  /// this run: its lines belong together, and nobody learns the space from them.
  struct RelayRequestLog: Sendable {
    private let format: RelaySettings.LogFormat
    private let write: (@Sendable (String) -> Void)?
    private let key: SymmetricKey
    private let now: @Sendable () -> Int64
    private let lines = LineNumber()

    init(_ settings: RelaySettings, key: [UInt8], now: @escaping @Sendable () -> Int64) {
      (format, write, self.now) = (settings.logFormat, settings.log, now)
      self.key = SymmetricKey(data: key)
    }

    func note(
      _ request: Request, _ route: RelayRoute, _ response: Response, _ problem: RelayProblem.Code?, _ duration: Duration
    ) {
      guard write != nil else { return }
      var fields: [(String, String, Bool)] = [
        ("time", Self.stamp(now()), true), ("request", "\(lines.next())", false), ("route", route.kind.rawValue, true),
        ("status", "\(response.status.code)", false),
      ]
      if let problem { fields.append(("code", problem.rawValue, true)) }
      let received = request.headers[.contentLength].flatMap { Int($0) } ?? 0
      fields += [
        ("received", "\(received)", false), ("sent", "\(response.body.contentLength ?? 0)", false),
        ("ms", "\(Int(duration / .milliseconds(1)))", false),
      ]
      if let space = route.space { fields.append(("space", tag(space), true)) }
      line(fields)
    }

    /// Something that the owner should look at.
    func fault(_ message: String) { line([("time", Self.stamp(now()), true), ("fault", message, true)]) }

    private func tag(_ space: String) -> String {
      HMAC<SHA256>.authenticationCode(for: Data(space.utf8), using: key).prefix(4)
        .map { String(format: "%02x", $0) }.joined()
    }

    private func line(_ fields: [(name: String, value: String, isText: Bool)]) {
      switch format {
      case .json:
        let members = fields.map { "\"\($0.name)\":\($0.isText ? Self.quoted($0.value) : $0.value)" }
        write?("{\(members.joined(separator: ","))}")
      case .text: write?(fields.map { "\($0.name)=\($0.value)" }.joined(separator: " "))
      }
    }

    private static func quoted(_ text: String) -> String {
      let safe = text.unicodeScalars.map { scalar -> String in
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        default: scalar.value < 32 ? " " : String(scalar)
        }
      }
      return "\"\(safe.joined())\""
    }

    private static func stamp(_ seconds: Int64) -> String {
      Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
  }

  /// Numbers the requests of a run.
  private final class LineNumber: Sendable {
    private let last = Atomic<Int>(0)
    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
  }
#endif
