import Foundation

/// The HTTP layer of a relay client: it makes the requests. There is one for each library that speaks HTTP, and
/// nothing above knows which.
///
/// A transport follows no redirection, since the token would go with it, keeps no cookies, caches nothing, and takes in
/// no more of an answer than was asked for: a server that sends without an end costs nothing. It throws
/// `RelayTransportError`, or `CancellationError` if the task is cancelled, which ends a request at once.
protocol RelayTransport: Sendable {
  /// Makes a request and takes in its answer, whose body may have at most `limit` bytes.
  /// - Returns: the answer, with any status. Of a part that was asked for (206), what came before the connection broke
  ///   is as good as the rest, and is returned as cut.
  func answer(to request: RelayRequest, limit: Int) async throws -> RelayAnswer

  /// Makes a request whose answer goes on: its head, then its bytes as they come. A caller that stops reading ends it.
  /// At most `limit` parts may wait to be read; with more the request ends with an error.
  func parts(of request: RelayRequest, limit: Int) -> AsyncThrowingStream<RelayPart, any Error>
}

/// A piece of an answer that goes on.
enum RelayPart: Sendable {
  /// Comes first, with an empty body.
  case head(RelayAnswer)
  case bytes([UInt8])
}

/// A request, as values.
struct RelayRequest: Sendable {
  var method: String
  var url: String
  /// Fields of the header, beside the token and what the transport adds.
  var fields: [String: String] = [:]
  /// Goes into the header, and is never printed.
  var token: BearerToken
  var body: [UInt8]?
  /// The time for which nothing may come and nothing go.
  var idleTimeout: Duration

  var authorization: String { "Bearer \(token.text)" }
}

/// Why a request has no answer, in words that no library adds to: theirs may quote the request.
enum RelayTransportError: Error, Sendable, Hashable {
  case noSuchHost
  case refused
  case noNetwork
  /// No encrypted connection to a server that can be trusted.
  case untrusted
  case timedOut
  /// It goes on, and takes too long for what has come.
  case tooSlow
  case connectionLost
  /// The proxy between here and the relay, which was asked to pass requests on, does not.
  case proxy
  /// The server that answers does not speak HTTP.
  case notHTTP
  /// The server that answers asks for a password, where that is all that is known of its answer.
  case asksForPassword
  /// The body is longer than the limit.
  case tooLong
  /// Parts come faster than they are read.
  case tooFast
  /// Anything else, by the library's own number or name for it.
  case other(String)
}

/// Which transport a client takes.
enum RelayTransports {
  /// Makes the transport for a client with these settings.
  static func make(_ settings: RelayClient.Settings) -> any RelayTransport {
    #if HTTPClient && os(Linux)
      AsyncHTTPTransport(time: settings.time, environment: ProcessInfo.processInfo.environment)
    #else
      FoundationTransport(idleTimeout: settings.idleTimeout)
    #endif
  }
}
