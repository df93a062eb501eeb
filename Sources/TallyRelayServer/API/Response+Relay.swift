#if Relay
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  extension HTTPField.Name {
    static let relayAfter = relay(RelayHeader.after)
    static let relayCursor = relay(RelayHeader.cursor)
    static let relayPosition = relay(RelayHeader.position)
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
    /// An answer without a body.
    init(_ status: HTTPResponse.Status, _ fields: [HTTPField.Name: String] = [:]) {
      self.init(status: status, headers: Self.headers(fields))
      if status == .noContent { headers[.contentLength] = nil }
    }

    /// An answer that is whole.
    init(_ status: HTTPResponse.Status, _ media: String, _ bytes: [UInt8], _ fields: [HTTPField.Name: String] = [:]) {
      var headers = Self.headers(fields)
      headers[.contentType] = media
      self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// What a problem looks like.
    init(_ problem: RelayProblem, isHead: Bool) throws {
      var fields: [HTTPField.Name: String] = [.relayProblem: problem.code.rawValue]
      if let seconds = problem.retryAfter { fields[.retryAfter] = "\(seconds)" }
      if problem.status == 401 { fields[.wwwAuthenticate] = "Bearer" }
      let bytes = try problem.json()
      self.init(HTTPResponse.Status(code: problem.status), RelayMedia.problem, isHead ? [] : bytes, fields)
    }

    private static func headers(_ fields: [HTTPField.Name: String]) -> HTTPFields {
      var headers: HTTPFields = [.cacheControl: "no-store"]
      for (name, value) in fields.sorted(by: { $0.key.canonicalName < $1.key.canonicalName }) { headers[name] = value }
      return headers
    }
  }
#endif
