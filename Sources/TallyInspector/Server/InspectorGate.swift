#if Inspector
  import NIOHTTP1
  import Synchronization

  /// Decides who may see the pages: browsers that came in with the token, from pages of this very server.
  ///
  /// - A token in an address lets in one browser, once: it is given a cookie, which lasts as long as the server.
  ///   Another browser needs another token.
  /// - `Host` must be this machine under a name that no name server gives out, so that a site whose name is made to
  ///   lead here reads nothing (DNS rebinding).
  /// - `Origin`, where a browser sends it, must be this server, and must be sent with each request that changes
  ///   something; `Sec-Fetch-Site` must not say that another site asks.
  final class InspectorGate: Sendable {
    enum Verdict: Equatable {
      case allowed
      /// A first visit: give the cookie.
      case welcome(cookie: String)
      case refused(String)
    }

    private struct Tokens {
      /// Those that let a browser in, and those that have, each the newest last.
      var fresh: [String] = []
      var used: [String] = []

      mutating func use(_ token: String) -> Bool {
        guard let place = fresh.firstIndex(where: { InspectorGate.isEqual($0, token) }) else { return false }
        used = (used + [fresh.remove(at: place)]).suffix(InspectorGate.tokenLimit)
        return true
      }
    }

    /// The most tokens that are remembered of a kind.
    private static let tokenLimit = 64
    private let tokens = Mutex(Tokens())
    private let session = Clocks.secret()
    private let port: Int

    init(port: Int) { self.port = port }

    /// A token that lets in one browser, once.
    func newToken() -> String {
      let token = Clocks.secret()
      tokens.withLock { $0.fresh = ($0.fresh + [token]).suffix(Self.tokenLimit) }
      return token
    }

    private var hosts: [String] {
      let names = ["127.0.0.1", "localhost", "[::1]"]
      // Browsers leave out the port that http has anyway.
      return names.map { "\($0):\(port)" } + (port == 80 ? names : [])
    }
    /// Cookies know no ports: two inspectors on one machine need two names.
    private var cookieName: String { "tally_inspector_\(port)" }

    func verdict(_ head: HTTPRequestHead, token: String?) -> Verdict {
      let headers = head.headers
      guard headers["host"].count == 1, let host = headers.first(name: "host"), hosts.contains(host) else {
        return .refused("this address is not the one that the inspector was started under")
      }
      let origins = headers["origin"]
      guard origins.allSatisfy({ origin in hosts.contains { origin == "http://\($0)" } }) else {
        return .refused("another site may not ask")
      }
      if let site = headers.first(name: "sec-fetch-site"), !["same-origin", "none"].contains(site), token == nil {
        return .refused("another site may not ask")
      }
      guard head.method == .GET || head.method == .HEAD || origins.count == 1 else {
        return .refused("a change needs an origin")
      }
      if hasCookie(headers) { return .allowed }
      guard let token else { return .refused("open the address that the inspector has printed, with its token") }
      let (isWelcome, wasUsed) = tokens.withLock { tokens in
        (tokens.use(token), tokens.used.contains { Self.isEqual($0, token) })
      }
      guard isWelcome else {
        return .refused(
          wasUsed
            ? "this address was opened before, by a browser or by a preview of the link: each lets in one browser, once. "
              + "Press Enter where the inspector runs, and it prints another"
            : "the token is not the right one")
      }
      return .welcome(cookie: "\(cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict")
    }

    private func hasCookie(_ headers: HTTPHeaders) -> Bool {
      headers["cookie"].flatMap { $0.split(separator: ";") }.contains { pair in
        let parts = pair.split(separator: "=", maxSplits: 1).map { $0.trimming(while: { $0 == " " }) }
        return parts.count == 2 && parts[0] == cookieName && Self.isEqual(String(parts[1]), session)
      }
    }

    /// Compares in a time that does not depend on where the two differ.
    private static func isEqual(_ one: String, _ other: String) -> Bool {
      let (a, b) = (Array(one.utf8), Array(other.utf8))
      guard a.count == b.count else { return false }
      return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
  }

  extension Substring {
    fileprivate func trimming(while isDropped: (Character) -> Bool) -> Substring {
      var rest = drop(while: isDropped)
      while let last = rest.last, isDropped(last) { rest.removeLast() }
      return rest
    }
  }
#endif
