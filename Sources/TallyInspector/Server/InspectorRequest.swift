#if Inspector
  import Foundation
  import NIOCore
  import NIOHTTP1
  import TallyInspection

  /// A request, whole.
  struct InspectorRequest: Sendable {
    /// The most bytes of a body: two reports to compare.
    static let bodyLimit = 8 << 20

    var head: HTTPRequestHead
    /// The body; nil if it was larger than the limit, or was not read.
    var body: [UInt8]?
    /// The path, percent-encoding undone; nil if it is malformed.
    var path: String?
    /// The parameters behind the path. Of two with one name the last counts.
    var parameters: [String: String] = [:]
    /// Whether all parameters can be decoded. One that is no UTF-8 must not count as one that is not there.
    var isWellFormed = true

    /// Reads the head of the next request of a connection; nil at its end.
    init?(_ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator) async throws {
      guard case .head(let head)? = try await parts.next() else { return nil }
      self.head = head
      let pieces = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      path = pieces.first.flatMap { String($0).removingPercentEncoding }
      for pair in pieces.dropFirst().first?.split(separator: "&") ?? [] {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
          $0.replacing("+", with: " ").removingPercentEncoding
        }
        guard let name = parts[0], let value = parts.count == 2 ? parts[1] : "" else {
          isWellFormed = false
          continue
        }
        parameters[name] = value
      }
    }

    /// Whether a body is to come.
    var hasBody: Bool {
      head.headers.contains(name: "Transfer-Encoding") || head.headers["content-length"].contains { $0 != "0" }
    }

    /// Reads the body, which only who is let in has kept in memory.
    mutating func readBody(
      _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    ) async throws {
      var bytes: [UInt8]? = []
      while let part = try await parts.next() {
        if case .end = part { break }
        guard case .body(let buffer) = part, let count = bytes?.count else { continue }
        if count + buffer.readableBytes > Self.bodyLimit {
          bytes = nil
        } else {
          bytes?.append(contentsOf: buffer.readableBytesView)
        }
      }
      body = bytes
    }
  }

  /// What is answered: a whole response, or events for as long as the page listens.
  enum InspectorAnswer: Sendable {
    case whole(InspectorResponse)
    case stream(AsyncStream<String>)
  }

  /// A response.
  struct InspectorResponse: Sendable {
    var status: HTTPResponseStatus
    var type = "application/json"
    var body: [UInt8]
    var cookie: String?
    /// Whether the connection is closed after it.
    var closes = false
    /// Whether it is a value of a store's, which may be anything that calls itself a picture.
    var isPicture = false

    /// What every response says. Nothing is loaded from anywhere else, nothing may frame the pages, nothing is kept.
    static let headers = HTTPHeaders([
      (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
          + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
      ),
      ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
      ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
      ("Cache-Control", "no-store"),
    ])

    private static let picturePolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

    init(_ status: HTTPResponseStatus = .ok, json: Data) { (self.status, body) = (status, Array(json)) }

    init(_ status: HTTPResponseStatus = .ok, type: String, _ body: [UInt8]) {
      (self.status, self.type, self.body) = (status, type, body)
    }

    /// A picture of a store's.
    init(picture: PictureType, _ body: [UInt8]) {
      (status, type, self.body, isPicture) = (.ok, picture.rawValue, body, true)
    }

    func write(to outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>, isHead: Bool) async throws {
      var headers = Self.headers
      headers.add(name: "Content-Type", value: isPicture ? type : type + "; charset=utf-8")
      // Opened by itself, it can do nothing either.
      if isPicture { headers.replaceOrAdd(name: "Content-Security-Policy", value: Self.picturePolicy) }
      headers.add(name: "Content-Length", value: "\(body.count)")
      if let cookie { headers.add(name: "Set-Cookie", value: cookie) }
      if closes { headers.add(name: "Connection", value: "close") }
      try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
      if !isHead, !body.isEmpty { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
      try await outbound.write(.end(nil))
    }
  }
#endif
