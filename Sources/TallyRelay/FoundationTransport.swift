#if !(HTTPClient && os(Linux))
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Makes requests with Foundation's `URLSession`: on Apple's platforms, and on Linux without the package trait
  /// `HTTPClient`.
  final class FoundationTransport: RelayTransport {
    private let transfer = FoundationTransfer()
    private let session: URLSession

    /// - Parameter idleTimeout: how long nothing may come, of all its requests.
    init(idleTimeout: Duration) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpShouldSetCookies = false
      configuration.httpCookieAcceptPolicy = .never
      configuration.urlCache = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpMaximumConnectionsPerHost = 16
      configuration.timeoutIntervalForRequest = Double(idleTimeout.components.seconds)
      session = URLSession(configuration: configuration, delegate: transfer, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    func answer(to request: RelayRequest, limit: Int) async throws -> RelayAnswer {
      let request = try Self.request(request)
      #if canImport(FoundationNetworking)
        // Where a connection that was kept open breaks under a body, Foundation on libcurl repeats the request without
        // it, and both sides wait. A new connection is not repeated, so each body gets one.
        guard request.httpBody == nil else {
          let session = URLSession(configuration: session.configuration, delegate: transfer, delegateQueue: nil)
          defer { session.finishTasksAndInvalidate() }
          return try await transfer.answer(to: request, in: session, limit: limit)
        }
      #endif
      return try await transfer.answer(to: request, in: session, limit: limit)
    }

    func parts(of request: RelayRequest, limit: Int) -> AsyncThrowingStream<RelayPart, any Error> {
      do {
        return transfer.parts(of: try Self.request(request), in: session, limit: limit)
      } catch {
        return AsyncThrowingStream { throw error }
      }
    }

    private static func request(_ request: RelayRequest) throws -> URLRequest {
      guard let url = URL(string: request.url) else { throw RelayTransportError.other("malformed address") }
      var outgoing = URLRequest(url: url)
      outgoing.httpMethod = request.method
      for (name, value) in request.fields { outgoing.setValue(value, forHTTPHeaderField: name) }
      outgoing.setValue(request.authorization, forHTTPHeaderField: "Authorization")
      outgoing.httpBody = request.body.map { Data($0) }
      return outgoing
    }

    /// Converts a `URLSession` error into a `RelayTransportError`, or a `CancellationError`.
    static func meaning(_ error: any Error) -> any Error {
      if error is RelayTransportError || error is CancellationError { return error }
      let code = (error as? URLError)?.code ?? URLError.Code(rawValue: (error as NSError).code) ?? .unknown
      return switch code {
      case .cancelled: CancellationError()
      case .timedOut: RelayTransportError.timedOut
      case .cannotFindHost, .dnsLookupFailed: RelayTransportError.noSuchHost
      case .cannotConnectToHost: RelayTransportError.refused
      case .networkConnectionLost: RelayTransportError.connectionLost
      case .notConnectedToInternet: RelayTransportError.noNetwork
      case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
        .serverCertificateNotYetValid, .secureConnectionFailed:
        RelayTransportError.untrusted
      default: RelayTransportError.other("error \(code.rawValue)")
      }
    }
  }

  extension RelayAnswer {
    init(_ response: HTTPURLResponse, _ body: [UInt8], isCut: Bool = false) {
      var fields: [String: String] = [:]
      for (name, value) in response.allHeaderFields { fields["\(name)".lowercased()] = "\(value)" }
      self.init(status: response.statusCode, fields: fields, body: body, isCut: isCut)
    }
  }
#endif
