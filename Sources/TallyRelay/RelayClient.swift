import Foundation
import TallyRelayProtocol
import TallyWire

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(CryptoKit)
  import CryptoKit
#endif

/// Talks to one relay with one token. Several mailboxes may share it.
///
/// It is made of Foundation alone, so an app that uses a relay builds nothing more.
public final class RelayClient: Sendable {
  /// How a client behaves.
  public struct Settings: Sendable {
    /// How long to wait for an answer, beside what a request itself waits for news.
    public var timeout: Duration = .seconds(60)
    /// Whether to ask for news request by request from the start. Otherwise the relay's stream of events is followed,
    /// as long as that works.
    public var usesLongPolling = false
    /// How long a stream of events stays open when nobody waits for news: an engine that syncs waits again soon.
    public var linger: Duration = .seconds(30)
    /// How long a stream of events may say nothing, not even at its beginning. Whoever keeps words back on the way is
    /// noticed so, and after two such streams there is long polling for an hour.
    public var longestSilence: Duration = .seconds(45)
    /// How long one request waits for news. Then the next one does.
    public var longPoll: Duration = .seconds(30)
    /// How often a request is made again that the relay was too busy for. One that broke off is made again once.
    public var retries = 5
    /// How long to wait before trying again, if the relay does not say.
    public var pause: Duration = .milliseconds(250)
    /// The longest time that a relay may ask to wait; beyond that it is an error.
    public var longestPause: Duration = .seconds(30)
    /// Waits, for tests that do not.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The time since any moment.
    package var time: @Sendable () -> Duration = {
      let start = ContinuousClock.now
      return { ContinuousClock.now - start }
    }()

    /// The usual settings.
    public init() {}
  }

  /// The relay's address, without a slash at the end.
  public let relay: String
  let settings: Settings
  private let token: BearerToken
  private let transfer = RelayTransfer()
  private let session: URLSession

  /// A client.
  /// - Parameters:
  ///   - relay: `https://HOST`, perhaps with a path. Over plain HTTP whoever is on the way can read token and content.
  ///   - token: as `tally relay token` has printed it.
  public init(_ relay: String, token: String, _ settings: Settings = Settings()) {
    self.relay = relay.hasSuffix("/") ? String(relay.dropLast()) : relay
    self.token = BearerToken(token)
    self.settings = settings
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpMaximumConnectionsPerHost = 16
    let seconds = Double((settings.timeout + settings.longPoll).components.seconds)
    configuration.timeoutIntervalForRequest = seconds
    session = URLSession(configuration: configuration, delegate: transfer, delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  /// What the relay says of a space.
  /// - Throws: `RelayError`, `CancellationError`.
  public func status(of space: String) async throws -> RelaySpaceStatus {
    let answer = try await send("GET", space, "", limit: RelayLimits.problemBytes)
    guard answer.status == 200 else { throw RelayError(answer) }
    do {
      return try JSONDecoder().decode(RelaySpaceStatus.self, from: Data(answer.body))
    } catch {
      throw RelayError(.notARelay, "what answers is no relay: the status is no status")
    }
  }

  // MARK: Requests

  /// Makes a request, and makes it again if the relay was too busy or the connection broke: every request may be made
  /// twice.
  /// - Returns: whatever the relay answered, unless it was too busy to the end.
  func send(
    _ method: String, _ space: String, _ path: String, fields: [String: String] = [:], body: [UInt8]? = nil, limit: Int
  ) async throws -> RelayAnswer {
    let request = try request(method, space, path, fields, body)
    var (tries, breaks) = (0, 0)
    while true {
      let error: RelayError
      do {
        let answer = try await answer(to: request, limit: limit)
        guard [429, 502, 503, 504].contains(answer.status) else { return answer }
        error = RelayError(answer)
      } catch {
        guard let failure = try Self.failure(error) else { throw error }
        guard failure.code == .unreachable, breaks < min(1, settings.retries) else { throw failure }
        breaks += 1
        try await settings.sleep(settings.pause)
        continue
      }
      let pause = error.retryAfter ?? settings.pause * (1 << min(tries, 6))
      guard tries < settings.retries, error.code == .busy, pause <= settings.longestPause else { throw error }
      tries += 1
      try await settings.sleep(pause)
    }
  }

  private func answer(to request: URLRequest, limit: Int) async throws -> RelayAnswer {
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

  /// A space's events, until the stream ends or breaks.
  /// - Parameter onWord: is told whenever anything comes, also what keeps the stream alive.
  func events(
    of space: String, _ query: String, onWord: @escaping @Sendable () async -> Void,
    onEvent: (RelayEvent) async -> Void
  ) async throws {
    let request = try request("GET", space, "/events\(query)", ["Accept": RelayMedia.events], nil)
    var parser = EventStreamParser()
    var isOpen = false
    do {
      for try await part in transfer.parts(of: request, in: session, limit: 256) {
        switch part {
        case .head(let answer):
          guard answer.status == 200 else { throw RelayError(answer) }
          guard answer.field("content-type")?.hasPrefix(RelayMedia.events) == true else {
            throw RelayError(.notARelay, "what answers is no relay: events are none")
          }
          isOpen = true
        case .bytes(let bytes):
          guard isOpen else { throw RelayError(.notARelay, "what answers does not speak HTTP") }
          await onWord()
          for event in try parser.parse(bytes) {
            guard let event = RelayEvent(kind: event.kind, id: event.id, data: event.data) else { continue }
            await onEvent(event)
          }
        }
      }
      try Task.checkCancellation()
    } catch {
      throw try Self.failure(error) ?? error
    }
  }

  private func request(
    _ method: String, _ space: String, _ path: String, _ fields: [String: String], _ body: [UInt8]?
  ) throws -> URLRequest {
    guard let url = URL(string: "\(relay)/v1/spaces/\(space)\(path)") else {
      throw RelayError(.unreachable, "the relay's address is malformed")
    }
    // Anything else could end the field and begin another.
    guard token.text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw RelayError(.unauthenticated, "the token has characters that no token has")
    }
    var request = URLRequest(url: url)
    request.httpMethod = method
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    request.setValue("Bearer \(token.text)", forHTTPHeaderField: "Authorization")
    if let body {
      request.httpBody = Data(body)
      request.setValue(RelayMedia.entry, forHTTPHeaderField: "Content-Type")
      request.setValue(RelayDigest.field(Self.digest(body)), forHTTPHeaderField: RelayHeader.contentDigest)
    }
    return request
  }

  /// What an error of the session means. Its words are not passed on, since they may quote the request.
  private static func failure(_ error: any Error) throws -> RelayError? {
    if error is CancellationError { return nil }
    if let error = error as? RelayError { return error }
    let code = (error as? URLError)?.code ?? URLError.Code(rawValue: (error as NSError).code) ?? .unknown
    if code == .cancelled || Task.isCancelled { throw CancellationError() }
    return RelayError(.unreachable, "the relay cannot be reached: \(words(code))")
  }

  private static func words(_ code: URLError.Code) -> String {
    switch code {
    case .timedOut: "it does not answer"
    case .cannotFindHost, .dnsLookupFailed: "no such host"
    case .cannotConnectToHost: "nobody listens there"
    case .networkConnectionLost: "the connection broke"
    case .notConnectedToInternet: "there is no network"
    case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
      .serverCertificateNotYetValid, .secureConnectionFailed:
      "its certificate does not hold"
    default: "error \(code.rawValue)"
    }
  }

  static func digest(_ bytes: [UInt8]) -> [UInt8] {
    #if canImport(CryptoKit)
      Array(CryptoKit.SHA256.hash(data: bytes))
    #else
      TallyWire.SHA256.hash(bytes)
    #endif
  }
}
