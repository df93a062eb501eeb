#if HTTPClient && os(Linux)
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  extension AsyncHTTPTransport {
    /// Runs a request, whose errors become the transport's.
    func translatingErrors<Value>(_ request: () async throws -> Value) async throws -> Value {
      do {
        return try await request()
      } catch {
        if Task.isCancelled || error is CancellationError { throw CancellationError() }
        throw Self.meaning(error)
      }
    }

    static func meaning(_ error: any Error) -> RelayTransportError {
      switch error {
      case let error as RelayTransportError: error
      case let error as HTTPClientError: meaning(error)
      case let error as NIOConnectionError: meaning(error)
      case let error as IOError: meaning(error)
      case let error as ChannelError: if case .connectTimeout = error { .timedOut } else { .connectionLost }
      // An answer that ends too early, in its header too; anything else is no answer.
      case HTTPParserError.invalidEOFState, HTTPParserError.closedConnection: .connectionLost
      case is HTTPParserError: .notHTTP
      case NIOSSLError.uncleanShutdown: .connectionLost
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .untrusted
      default: .other("\(type(of: error))")
      }
    }

    private static func meaning(_ error: HTTPClientError) -> RelayTransportError {
      switch error {
      case .remoteConnectionClosed, .uncleanShutdown, .cancelled, .requestStreamCancelled: .connectionLost
      case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout,
        .tlsHandshakeTimeout:
        .timedOut
      case .httpProxyHandshakeTimeout, .socksHandshakeTimeout, .invalidProxyResponse, .proxyAuthenticationRequired:
        .proxy
      default: .other(error.shortDescription)
      }
    }

    private static func meaning(_ error: NIOConnectionError) -> RelayTransportError {
      if let failure = error.connectionErrors.first { return meaning(failure.error) }
      return .noSuchHost
    }

    private static func meaning(_ error: IOError) -> RelayTransportError {
      switch error.errnoCode {
      case ECONNREFUSED: .refused
      case ENETDOWN, ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL: .noNetwork
      case ETIMEDOUT: .timedOut
      case ECONNRESET, ECONNABORTED, EPIPE, ENOTCONN: .connectionLost
      default: .other("errno \(error.errnoCode)")
      }
    }
  }
#endif
