#if HTTPClient && os(Linux)
  import AsyncHTTPClient
  import NIOCore
  import Synchronization

  /// The HTTP clients of this process: one, and one for each proxy that is named. Each stays until the process ends, so
  /// none is shut down while requests are under way, and an exit waits for nothing.
  enum HTTPClients {
    private static let clients = Mutex<[ProxyEnvironment.Proxy?: HTTPClient]>([:])

    static func client(through proxy: ProxyEnvironment.Proxy?) -> HTTPClient {
      clients.withLock { clients in
        if let client = clients[proxy] { return client }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration(proxy))
        clients[proxy] = client
        return client
      }
    }

    private static func configuration(_ proxy: ProxyEnvironment.Proxy?) -> HTTPClient.Configuration {
      var configuration = HTTPClient.Configuration()
      configuration.proxy = proxy.map { proxy in
        switch proxy.kind {
        case .http:
          let authorization = proxy.credentials.map {
            HTTPClient.Authorization.basic(username: $0.name, password: $0.password)
          }
          return .server(host: proxy.host, port: proxy.port, authorization: authorization)
        case .socks: return .socksServer(host: proxy.host, port: proxy.port)
        }
      }
      // The token would go with it.
      configuration.redirectConfiguration = .disallow
      // A bomb would come out of it larger than the limit.
      configuration.decompression = .disabled
      // A stream of events shares no connection with what others ask for.
      configuration.httpVersion = .http1Only
      configuration.http1_1ConnectionDebugInitializer = HeaderGuard.guardConnection
      // Spaces appear in no traces.
      configuration.tracing.tracer = nil
      // An attempt that begins while there is no network keeps the wrong source address, and cannot succeed later.
      configuration.timeout.connect = .seconds(10)
      // The caller decides whether to ask again.
      configuration.connectionPool.retryConnectionEstablishment = false
      // Relays close connections that say nothing after a minute, and proxies perhaps sooner.
      configuration.connectionPool.idleTimeout = .seconds(30)
      // Each space that is followed holds one. What is put and got takes one at a time.
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1_024
      return configuration
    }
  }
#endif
