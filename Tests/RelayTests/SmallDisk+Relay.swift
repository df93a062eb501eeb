#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire
  import Testing

  /// The tool's relay, with its file on this disk.
  extension SmallDisk {
    /// The tool's output for a token that it has made.
    struct Token: Decodable {
      let space: String
      let token: String
      let id: String

      func ask(_ method: String, _ name: String, _ port: Int) async throws -> RawHTTP.Answer {
        try await RawHTTP.ask(method, name, of: space, token, port)
      }
    }

    var file: String { "\(folder.path)/relay.sqlite" }

    /// Starts it; returns it and its port.
    func start() async throws -> (RelayProcess, Int) {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", file, "--listen", "127.0.0.1:0", in: try RelayFixture.newFolder())
      return (relay, try #require(Int(line.split(separator: ":").last ?? "")))
    }

    func tool(_ verb: String, _ more: String...) async throws -> Tool.Outcome {
      try await Tool.run(["relay", verb, "--data", file] + more, in: try RelayFixture.newFolder())
    }

    func token(space: String = "new", role: String = "writer") async throws -> Token {
      let made = try await tool("token", "--json", "--space", space, "--role", role)
      return try JSONDecoder().decode(Token.self, from: Data(made.output.utf8))
    }
  }

  extension RawHTTP {
    /// What `ask` puts.
    static let body = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    /// Puts, gets or deletes an entry of a space.
    static func ask(_ method: String, _ name: String, of space: String, _ token: String, _ port: Int) async throws
      -> Answer
    {
      var fields = ["Authorization": "Bearer \(token)"]
      if method == "PUT" { fields["Content-Digest"] = RelayDigest.field(SHA256.hash(body)) }
      return try await send(
        method, "/v1/spaces/\(space)/entries/\(name)", fields, method == "PUT" ? body : [], port: port)
    }
  }
#endif
