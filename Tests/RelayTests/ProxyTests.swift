#if Relay && HTTPClient && os(Linux)
  import Foundation
  import Synchronization
  import Testing

  @testable import TallyRelay

  /// Proxies that the environment names.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct ProxyTests {
    private static let cases: [(variables: [String: String], address: String, proxy: String?)] = [
      ([:], "http://relay.example/s/a", nil),
      (["http_proxy": "http://proxy:3128"], "http://relay.example", "http proxy 3128"),
      (["http_proxy": "proxy:3128"], "http://relay.example", "http proxy 3128"),
      (["http_proxy": "http://proxy"], "http://relay.example", "http proxy 1080"),
      (["http_proxy": "http://proxy:3128"], "https://relay.example", nil),
      (["HTTP_PROXY": "http://visitor:1"], "http://relay.example", nil),
      (["HTTPS_PROXY": "http://proxy:3128"], "https://relay.example", "http proxy 3128"),
      (["https_proxy": "", "all_proxy": "socks5h://[::1]"], "https://relay.example", "socks ::1 1080"),
      (["https_proxy": "http://ann:se%20cret@proxy:1"], "https://relay.example", "http proxy 1 ann:se cret"),
      (["all_proxy": "http://proxy:1", "no_proxy": "example"], "https://relay.example", nil),
      (["all_proxy": "http://proxy:1", "no_proxy": "localhost, .EXAMPLE"], "https://relay.Example", nil),
      (["all_proxy": "http://proxy:1", "no_proxy": "ample"], "https://relay.example", "http proxy 1"),
      (["all_proxy": "http://proxy:1", "NO_PROXY": "*"], "https://relay.example", nil),
      (["all_proxy": "http://proxy:1", "no_proxy": "::1"], "http://[::1]:8480", nil),
      (["all_proxy": "https://proxy:1"], "https://relay.example", "none that can be used"),
      (["all_proxy": "http://"], "https://relay.example", "none that can be used"),
      (["all_proxy": "http://proxy:0"], "https://relay.example", "none that can be used"),
    ]

    @Test(arguments: cases.indices) func theEnvironmentNamesAProxy(_ index: Int) {
      let (variables, address, expected) = Self.cases[index]
      let proxy: String?
      do {
        proxy = try ProxyEnvironment(variables).proxy(for: address).map { proxy in
          let credentials = proxy.credentials.map { " \($0.name):\($0.password)" } ?? ""
          return "\(proxy.kind) \(proxy.host) \(proxy.port)\(credentials)"
        }
      } catch {
        proxy = "none that can be used"
      }
      #expect(proxy == expected, "\(variables)")
    }

    private func request(_ url: String) -> RelayRequest {
      RelayRequest(method: "GET", url: url, token: BearerToken("secret"), idleTimeout: .seconds(20))
    }

    private func transport(_ server: ScriptedServer) -> AsyncHTTPTransport {
      AsyncHTTPTransport(time: RelayClient.Settings().time, environment: ["http_proxy": server.base])
    }

    /// The proxy is told where to, and the token goes through it to the relay.
    @Test func aRequestGoesThroughAProxy() async throws {
      let heads = Mutex<[String]>([])
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          heads.withLock { $0.append(request.head) }
          client.send(
            request.head.hasPrefix("CONNECT")
              ? "HTTP/1.1 200 OK\r\n\r\n" : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        }
      }
      defer { server.stop() }
      let answer = try await transport(server).answer(to: request("http://relay.invalid:8480/v1"), limit: 10)
      #expect(answer.body == Array("hi".utf8))
      let seen = heads.withLock { $0 }
      #expect(seen.count == 2 && seen[0].hasPrefix("CONNECT relay.invalid:8480 "))
      #expect(!seen[0].contains("secret") && seen[1].contains("Bearer secret"))
    }

    @Test(arguments: [403, 407, 502]) func aProxyThatRefusesIsAnError(_ status: Int) async throws {
      let server = try ScriptedServer { client, _ in
        while client.request() != nil { client.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n") }
      }
      defer { server.stop() }
      await #expect(throws: RelayTransportError.proxy) {
        try await transport(server).answer(to: request("http://relay.invalid:8480/v1"), limit: 10)
      }
    }
  }
#endif
