import Foundation
import Synchronization
import TallyRelayProtocol
import TallyWire

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// A client for one relay with one token. Several mailboxes may share it.
///
/// It needs only Foundation, so an app that uses a relay builds nothing more. On Linux, where faults in Foundation's
/// HTTP client can end the process, the package trait `HTTPClient` replaces it with AsyncHTTPClient.
public final class RelayClient: Sendable {
  /// The limits and timeouts of a client's requests.
  public struct Settings: Sendable {
    /// The time to wait for an answer, in addition to the time for which a request itself waits for news: no
    /// more than this time plus `longPoll` may pass without data in either direction. With AsyncHTTPClient, an answer
    /// must also be complete after this time plus a second for each KiB.
    public var timeout: Duration = .seconds(60)
    /// Whether to use long polling for new entries from the start. Otherwise the client follows the relay's stream of
    /// events for as long as that works.
    public var usesLongPolling = false
    /// The time for which a stream of events stays open while no call waits for new entries: an engine that syncs soon
    /// waits again.
    public var linger: Duration = .seconds(30)
    /// The longest time for which a stream of events may be silent, even at its beginning. This detects an
    /// intermediary that holds data back; after two such streams, the client uses long polling for an hour.
    public var longestSilence: Duration = .seconds(45)
    /// The time for which one long-polling request waits for new entries, before the next request takes over.
    public var longPoll: Duration = .seconds(30)
    /// The number of times to repeat a request for which the relay was too busy. A request that broke off is repeated
    /// once.
    public var retries = 5
    /// The time to wait before trying again, if the relay does not specify one.
    public var pause: Duration = .milliseconds(250)
    /// The longest time that a relay may ask to wait; beyond that it is an error.
    public var longestPause: Duration = .seconds(30)
    /// The time for which nothing may come of a request that may wait for news.
    var idleTimeout: Duration { timeout + longPoll }
    /// Waits, for tests that do not.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The time since any moment.
    package var time: @Sendable () -> Duration = {
      let start = ContinuousClock.now
      return { ContinuousClock.now - start }
    }()

    /// Creates the default settings, which suit most apps.
    public init() {}
  }

  /// The relay's address, without a trailing slash.
  public let relay: String
  let settings: Settings
  private let token: BearerToken
  private let transport: any RelayTransport
  private let limit = Mutex(RelayLimits.bodyBytes)
  private let batches = Mutex(Batches.unknown)

  /// Whether the relay takes several entries in one request.
  enum Batches: Sendable {
    /// It has not said anything yet.
    case unknown
    /// It takes so many.
    case upTo(Int)
    /// It is an older one, or something before it passes on no such request.
    case single
  }

  /// Creates a client for one relay and one token. Nothing is sent until a mailbox makes a request.
  ///
  /// ```swift
  /// let client = RelayClient("https://relay.example", token: token)
  /// let mailbox = try RelayMailbox(space: "3f2a", on: client)
  /// ```
  ///
  /// Several mailboxes, for spaces that the token opens, can share it.
  /// - Parameters:
  ///   - relay: `https://HOST`, perhaps with a path. Over plain HTTP anyone on the path can read the token and the
  ///     content.
  ///   - token: the token, as printed by `tally relay token`.
  ///   - settings: the times to wait and the number of attempts; the default settings suit most apps.
  public convenience init(_ relay: String, token: String, _ settings: Settings = Settings()) {
    self.init(relay, token: token, settings, RelayTransports.make(settings))
  }

  /// A client whose requests are made by something else, for tests.
  init(_ relay: String, token: String, _ settings: Settings, _ transport: any RelayTransport) {
    self.relay = relay.hasSuffix("/") ? String(relay.dropLast()) : relay
    self.token = BearerToken(token)
    self.settings = settings
    self.transport = transport
  }

  /// Returns the status of a space, as the relay reports it.
  /// - Throws: `RelayError`, `CancellationError`.
  public func status(of space: String) async throws -> RelaySpaceStatus {
    let answer = try await send("GET", space, "", limit: RelayLimits.problemBytes)
    guard answer.status == 200 else { throw RelayError(answer) }
    do {
      return try JSONDecoder().decode(RelaySpaceStatus.self, from: Data(answer.body))
    } catch {
      throw RelayError(.notARelay, "not a relay: the space status cannot be read")
    }
  }

  // MARK: Bodies

  /// The maximum number of bytes in one request after a proxy before the relay has refused a larger one with a status
  /// 413 of its own; nil as long as none has. Larger content is sent in several requests, each of which costs a round
  /// trip. The proxy's limit should be 4 MiB: `client_max_body_size 4m` in nginx, whose default is 1 MiB.
  ///
  /// It applies to all mailboxes of the client, for the lifetime of the client.
  public var bodyLimit: Int? {
    let limit = largestBody
    return limit < RelayLimits.bodyBytes ? limit : nil
  }

  /// The most bytes that go in one request.
  var largestBody: Int { limit.withLock { $0 } }

  /// The smallest limit that is tried. A server that takes less in a request takes no header either.
  private static let smallestBody = 4 << 10

  /// Whether an answer to a body of that size is a proxy's, which takes no body as large, so that a smaller one is to
  /// be tried. The relay itself says what is wrong, and takes all that the protocol allows.
  func triesSmallerBodies(after answer: RelayAnswer, byteCount: Int) -> Bool {
    guard RelayError.isOfProxy(answer), byteCount > Self.smallestBody else { return false }
    // Powers of two, as most limits are: 3 MiB, 2 MiB, 1 MiB.
    let half = 1 << (Int.bitWidth - 1 - (byteCount - 1).leadingZeroBitCount)
    limit.withLock { $0 = min($0, max(half, Self.smallestBody)) }
    return true
  }

  // MARK: Batches

  /// How many entries go in one request; 1 if the relay takes no more. One that has said nothing yet is asked.
  var largestBatch: Int {
    switch batches.withLock({ $0 }) {
    case .unknown: RelayLimits.batchEntries
    case .upTo(let count): min(max(count, 1), RelayLimits.batchEntries)
    case .single: 1
    }
  }

  /// The same for names alone, where a proxy takes less in a request.
  var largestBatchOfNames: Int { max(1, min(largestBatch, largestBody / RelayWrites.overhead)) }

  /// What has been learned of how much goes in one request.
  var limits: [Int] { [largestBatch, largestBody] }

  /// Notes what a page or a stream of events says of that, each time: a relay may be replaced by another version.
  func noteBatches(_ answer: RelayAnswer) {
    guard answer.status == 200 else { return }
    let count = answer.field(RelayHeader.batch).flatMap(Int.init)
    batches.withLock { $0 = count.map { .upTo($0) } ?? .single }
  }

  /// Whether an answer to a batch says that there is no such request here, so that entries go one by one until a page
  /// says otherwise.
  func refusesBatches(_ answer: RelayAnswer) -> Bool {
    let problem = answer.field(RelayHeader.problem).map { RelayProblem.Code(rawValue: $0) }
    switch (answer.status, problem) {
    case (404, .some(.noSuchPath)), (404, nil), (405, _), (501, _): break
    default: return false
    }
    batches.withLock { $0 = .single }
    return true
  }

  // MARK: Requests

  /// Makes a request, and makes it again if the relay was too busy or the connection broke: every request may be made
  /// twice.
  /// - Returns: the relay's answer, unless it was too busy to the end.
  func send(
    _ method: String, _ space: String, _ path: String, fields: [String: String] = [:], body: [UInt8]? = nil, limit: Int
  ) async throws -> RelayAnswer {
    let request = try request(method, space, path, fields, body)
    var (tries, breaks) = (0, 0)
    while true {
      let error: RelayError
      do {
        let answer = try await transport.answer(to: request, limit: limit)
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

  /// Hands out a space's events, until the stream ends or breaks. `onWord` is called whenever anything comes, including
  /// what keeps the stream alive.
  func events(
    of space: String, _ query: String, onWord: @escaping @Sendable () async -> Void,
    onEvent: (RelayEvent) async -> Void
  ) async throws {
    let request = try request("GET", space, "/events\(query)", ["Accept": RelayMedia.events], nil)
    var parser = EventStreamParser()
    var isOpen = false
    do {
      for try await part in transport.parts(of: request, limit: 256) {
        switch part {
        case .head(let answer):
          guard answer.status == 200 else { throw RelayError(answer) }
          noteBatches(answer)
          guard answer.field("content-type")?.hasPrefix(RelayMedia.events) == true else {
            throw RelayError(.notARelay, "not a relay: no event stream")
          }
          isOpen = true
        case .bytes(let bytes):
          guard isOpen else { throw RelayError(.notARelay, "not a relay: the answer is not HTTP") }
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
  ) throws -> RelayRequest {
    let url = "\(relay)/v1/spaces/\(space)\(path)"
    guard URL(string: url) != nil else { throw RelayError(.unreachable, "the relay's address is malformed") }
    // Anything else could end the field and begin another.
    guard token.text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw RelayError(.unauthenticated, "the token has characters that no token has")
    }
    var request = RelayRequest(
      method: method, url: url, fields: fields, token: token, body: body, idleTimeout: settings.idleTimeout)
    if let body {
      request.fields["Content-Type"] = request.fields["Content-Type"] ?? RelayMedia.entry
      request.fields[RelayHeader.contentDigest] = RelayDigest.field(Self.digest(body))
    }
    return request
  }

  /// Returns the meaning of an error of the transport; nil if it is the end of a task.
  private static func failure(_ error: any Error) throws -> RelayError? {
    if error is CancellationError { return nil }
    if let error = error as? RelayError { return error }
    if Task.isCancelled { throw CancellationError() }
    return RelayError(error as? RelayTransportError ?? .other("\(type(of: error))"))
  }

  static func digest(_ bytes: [UInt8]) -> [UInt8] {
    #if canImport(CryptoKit)
      Array(CryptoKit.SHA256.hash(data: bytes))
    #else
      TallyWire.SHA256.hash(bytes)
    #endif
  }
}
