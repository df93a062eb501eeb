import Tally
import TallySync

/// The peer that `--via` and `--against` name.
enum PeerAddress: Equatable {
  /// `tcp://HOST:PORT`.
  case tcp(host: String, port: Int)
  /// Anything else: a command that talks over its standard input and output.
  case command(String)

  init(_ text: String) throws {
    guard text.hasPrefix("tcp://") else {
      guard !text.isEmpty else { throw Failure(.usage, "the peer is empty") }
      self = .command(text)
      return
    }
    self = try Self.tcp(text.dropFirst("tcp://".count))
  }

  /// `HOST:PORT`, and `[ADDRESS]:PORT` where the address has colons.
  static func tcp(_ text: some StringProtocol) throws -> PeerAddress {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw Failure(.usage, "\(shown(String(text))) is not HOST:PORT") }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw Failure(.usage, "an address with colons stands in brackets: [\(host)]:\(port)")
    }
    guard !host.isEmpty else { throw Failure(.usage, "\(shown(String(text))) has no host") }
    return .tcp(host: String(host), port: port)
  }

  /// A way to reach the peer. `words` takes what a command says on its standard error.
  func transport(_ security: SecurityOptions, _ words: PeerWords? = nil) throws -> any Transport {
    switch self {
    case .command(let command): ProcessTransport(command: command, standardErrorDescriptor: words?.writing)
    case .tcp(let host, let port): try security.transport(host: host, port: port)
    }
  }
}
