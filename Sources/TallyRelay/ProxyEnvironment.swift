#if HTTPClient && os(Linux)
  import Foundation

  /// The proxies that the environment names, as libcurl reads it, and with it Foundation on Linux: `http_proxy` in
  /// small letters only, since a web server passes a visitor's `Proxy` field on as `HTTP_PROXY`; `https_proxy`,
  /// `all_proxy` and `no_proxy` in either.
  ///
  /// All connections go through by `CONNECT`, plain ones too.
  struct ProxyEnvironment {
    /// A proxy.
    struct Proxy: Sendable, Hashable {
      enum Kind: Sendable, Hashable { case http, socks }
      struct Credentials: Sendable, Hashable { var name, password: String }

      var kind: Kind
      var host: String
      var port: Int
      var credentials: Credentials?
    }

    private let variables: [String: String]

    init(_ variables: [String: String]) { self.variables = variables }

    /// The proxy for an address; nil for none.
    /// - Throws: `RelayTransportError.proxy` if one is named that cannot be used: nothing goes past it.
    func proxy(for address: String) throws -> Proxy? {
      guard let parts = URLComponents(string: address), let host = parts.host?.lowercased(), !isExempt(host) else {
        return nil
      }
      let names = parts.scheme?.lowercased() == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
      guard let text = value(names + ["all_proxy", "ALL_PROXY"]) else { return nil }
      return try Self.proxy(text)
    }

    private func value(_ names: [String]) -> String? {
      names.lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
    }

    /// `no_proxy` is a list of hosts and domains, or `*`.
    private func isExempt(_ host: String) -> Bool {
      let host = host.trimmingCharacters(in: ["[", "]"])
      let list = value(["no_proxy", "NO_PROXY"])?.lowercased() ?? ""
      return list.split(whereSeparator: { ", \t".contains($0) }).contains { entry in
        let name = entry.drop { $0 == "." }.trimmingCharacters(in: ["[", "]"])
        return entry == "*" || !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
      }
    }

    private static func proxy(_ text: String) throws -> Proxy {
      guard let parts = URLComponents(string: text.contains("://") ? text : "http://\(text)"),
        let host = parts.host?.trimmingCharacters(in: ["[", "]"]), !host.isEmpty, (1...65_535).contains(parts.port ?? 1)
      else { throw RelayTransportError.proxy }
      let port = parts.port ?? 1_080
      switch (parts.scheme?.lowercased(), parts.user) {
      case ("http", let user?):
        let credentials = Proxy.Credentials(name: user, password: parts.password ?? "")
        return Proxy(kind: .http, host: host, port: port, credentials: credentials)
      case ("http", nil): return Proxy(kind: .http, host: host, port: port)
      case ("socks5", nil), ("socks5h", nil): return Proxy(kind: .socks, host: host, port: port)
      default: throw RelayTransportError.proxy
      }
    }
  }
#endif
