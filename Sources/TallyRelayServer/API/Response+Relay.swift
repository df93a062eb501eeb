#if Relay
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  extension HTTPField.Name {
    static let relayAfter = relay(RelayHeader.after)
    static let relayCursor = relay(RelayHeader.cursor)
    static let relayPosition = relay(RelayHeader.position)
    static let relayBatch = relay(RelayHeader.batch)
    static let relayProblem = relay(RelayHeader.problem)
    static let uploadOffset = relay(RelayHeader.uploadOffset)
    static let uploadLength = relay(RelayHeader.uploadLength)
    static let contentDigest = relay(RelayHeader.contentDigest)

    static func relay(_ name: String) -> HTTPField.Name {
      guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no field's name") }
      return name
    }
  }

  extension Response {
    /// Fields of an answer, in the order in which they are sent.
    typealias Fields = [(name: HTTPField.Name, value: String)]

    /// An answer without a body.
    init(_ status: HTTPResponse.Status, _ fields: Fields = []) {
      self.init(status: status, headers: Self.headers(fields))
      if status == .noContent { headers[.contentLength] = nil }
    }

    /// An answer that is whole.
    init(_ status: HTTPResponse.Status, _ media: String, _ bytes: [UInt8], _ fields: Fields = []) {
      self.init(status, media, ByteBuffer(bytes: bytes), fields)
    }

    /// The same, of bytes that are in a buffer already.
    init(_ status: HTTPResponse.Status, _ media: String, _ bytes: ByteBuffer, _ fields: Fields = []) {
      var headers = Self.headers(fields)
      headers.append(HTTPField(name: .contentType, value: media))
      self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    /// Creates the response for a problem.
    init(_ problem: RelayProblem, isHead: Bool) throws {
      var fields: Fields = []
      if let seconds = problem.retryAfter { fields.append((.retryAfter, "\(seconds)")) }
      fields.append((.relayProblem, problem.code.rawValue))
      if problem.status == 401 { fields.append((.wwwAuthenticate, "Bearer")) }
      let bytes = try problem.json()
      self.init(HTTPResponse.Status(code: problem.status), RelayMedia.problem, isHead ? [] : bytes, fields)
    }

    /// Says that the connection ends with this answer if the request asks for that (RFC 9112, section 9.6). The server
    /// closes it without a word otherwise, and behind a proxy that passes the answer on, a client keeps the connection
    /// for its next request and finds it broken.
    mutating func noteEnd(after request: Request) {
      let options = request.headers[.connection]?.lowercased().split(separator: ",") ?? []
      guard options.contains(where: { $0.filter { !$0.isWhitespace } == "close" }) else { return }
      headers[.connection] = "close"
    }

    private static func headers(_ fields: Fields) -> HTTPFields {
      var headers = HTTPFields()
      headers.reserveCapacity(fields.count + 3)
      headers.append(HTTPField(name: .cacheControl, value: "no-store"))
      for (name, value) in fields { headers.append(HTTPField(name: name, value: value)) }
      return headers
    }
  }
#endif
