#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  import TallyRelayServer
  import TallyWire
  import Testing

  /// Who may do what, and what everybody else is told.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RefusalTests {
    /// Who asks.
    private enum Asker: String, CaseIterable {
      case nobody, garbled, basic, unknown, expired, revoked, stranger, reader, writer, admin
    }

    /// What is asked for.
    private struct Ask: Sendable, CustomStringConvertible {
      let method: String
      let path: String
      var body: [UInt8] = []
      /// What a writer gets; a reader gets 403 where this is a write.
      let status: Int
      var isWrite = false
      /// Whether a writer gets 403 as well.
      var isForAdmins = false

      var description: String { "\(method) \(path)" }

      static let all = [
        Ask(method: "GET", path: "", status: 200),
        Ask(method: "GET", path: "/changes", status: 200),
        Ask(method: "GET", path: "/entries/there", status: 200),
        Ask(method: "GET", path: "/entries/missing", status: 404),
        Ask(method: "HEAD", path: "/uploads/missing", status: 404),
        Ask(method: "PUT", path: "/entries/there", body: [1, 2, 3], status: 200, isWrite: true),
        Ask(method: "PATCH", path: "/uploads/there", body: [1, 2, 3], status: 200, isWrite: true),
        Ask(method: "DELETE", path: "/entries/missing", status: 404, isWrite: true),
        Ask(
          method: "POST", path: "/entries", body: RelayWrites([.removal(name: "missing")]).bytes(), status: 200,
          isWrite: true),
        Ask(method: "POST", path: "/contents", body: RelayWanted(["there"]).bytes(), status: 200),
      ]
      /// Whoever may do this does it once.
      static let deletion = Ask(method: "DELETE", path: "", status: 204, isWrite: true, isForAdmins: true)
    }

    private func fields(_ token: String?, _ ask: Ask, scheme: String = "Bearer") -> [String: String] {
      var fields: [String: String] = [:]
      if let token { fields["Authorization"] = "\(scheme) \(token)" }
      if !ask.body.isEmpty { fields["Content-Digest"] = RelayDigest.field(SHA256.hash(ask.body)) }
      if ask.method == "PATCH" { (fields["Upload-Offset"], fields["Upload-Length"]) = ("0", "\(ask.body.count)") }
      return fields
    }

    @Test func everybodyGetsWhatTheyMay() async throws {
      try await RelayFixture.run { relay in
        let writer = try await relay.token()
        let space = writer.space
        let tokens: [Asker: String] = [
          .garbled: "tally1_short", .basic: writer.token, .unknown: "tally1_" + String(repeating: "A", count: 43),
          .expired: try await relay.token(space, expires: relay.now - 1).token,
          .revoked: try await revoked(in: space, relay), .stranger: try await relay.token().token,
          .reader: try await relay.token(space, .reader).token, .writer: writer.token,
          .admin: try await relay.token(space, .admin).token,
        ]
        let put = Ask.all[5]
        let first = try await RawHTTP.send(
          "PUT", "/v1/spaces/\(space)/entries/there", fields(writer.token, put), put.body, port: relay.port)
        #expect(first.status == 201)
        func expectAnswer(_ asker: Asker, _ ask: Ask) async throws {
          let answer = try await RawHTTP.send(
            ask.method, "/v1/spaces/\(space)\(ask.path)",
            fields(tokens[asker], ask, scheme: asker == .basic ? "Basic" : "Bearer"), ask.body, port: relay.port)
          let expected = expected(asker, ask)
          #expect(answer.status == expected.status, "\(asker) \(ask)")
          // It was asked to close the connection, and says that it does.
          #expect(answer.field("connection") == "close", "\(asker) \(ask)")
          if let problem = expected.problem { #expect(answer.problem == problem, "\(asker) \(ask)") }
          if expected.status == 401 { #expect(answer.field("www-authenticate") == "Bearer", "\(asker) \(ask)") }
        }
        for asker in Asker.allCases { for ask in Ask.all { try await expectAnswer(asker, ask) } }
        // The admin is the last who asks.
        for asker in Asker.allCases {
          #expect(try await relay.mailbox(writer).status().entries == 1, "before \(asker)")
          try await expectAnswer(asker, Ask.deletion)
        }
        let gone = await #expect(throws: RelayError.self) { try await relay.mailbox(writer).status() }
        #expect(gone?.code == .noSuchSpace)
      }
    }

    private func revoked(in space: String, _ relay: RelayFixture) async throws -> String {
      let token = try await relay.token(space)
      try await relay.store.revoke(token.id)
      return token.token
    }

    private func expected(_ asker: Asker, _ ask: Ask) -> (status: Int, problem: String?) {
      switch asker {
      case .nobody, .garbled, .basic, .unknown: (401, "unauthenticated")
      case .expired: (401, "tokenExpired")
      case .revoked: (401, "tokenRevoked")
      case .stranger: (404, "noSuchSpace")
      case .reader where ask.isWrite, .writer where ask.isForAdmins: (403, "forbidden")
      case .reader, .writer, .admin: (ask.status, nil)
      }
    }

    /// Whoever holds a token learns nothing about spaces that are not the token's: neither from what an answer says nor
    /// from how it says it.
    @Test func unknownAndForbiddenSpacesLookAlike() async throws {
      try await RelayFixture.run { relay in
        let (mine, theirs) = (try await relay.token(), try await relay.token())
        let unknown = String(repeating: "0", count: theirs.space.count)
        for ask in Ask.all + [
          Ask.deletion, Ask(method: "POST", path: "", status: 405), Ask(method: "GET", path: "/other", status: 404),
        ] {
          var answers: [RawHTTP.Answer] = []
          for space in [theirs.space, unknown] {
            answers.append(
              try await RawHTTP.send(
                ask.method, "/v1/spaces/\(space)\(ask.path)", fields(mine.token, ask), ask.body, port: relay.port))
          }
          #expect(answers[0] == answers[1], "\(ask)")
          #expect(answers[0].status == 404 && answers[0].problem == "noSuchSpace", "\(ask)")
        }
      }
    }

    @Test(
      arguments: [
        ("GET", "/changes?after=1", [:], 400, "badRequest"),
        ("GET", "/changes?limit=1001", [:], 400, "badRequest"),
        ("GET", "/changes?limit=-1", [:], 400, "badRequest"),
        ("GET", "/changes?wait=61", [:], 400, "badRequest"),
        ("GET", "/entries/.hidden", [:], 400, "badRequest"),
        ("GET", "/entries/a%2Fb", [:], 400, "badRequest"),
        ("PUT", "/entries/a", [:], 400, "digestMissing"),
        ("PUT", "/entries/a", ["Content-Digest": "sha-256=:AAAA:"], 400, "digestMissing"),
        ("PUT", "/entries/a", ["Content-Digest": RelayDigest.field(SHA256.hash([9]))], 422, "digestMismatch"),
        (
          "PUT", "/entries/a", ["Content-Length": "4194305", "Content-Digest": RelayDigest.field(SHA256.hash([]))], 413,
          "tooLarge"
        ),
        ("PATCH", "/uploads/a", ["Content-Digest": RelayDigest.field(SHA256.hash([]))], 400, "badRequest"),
        (
          "PATCH", "/uploads/a",
          ["Content-Digest": RelayDigest.field(SHA256.hash([])), "Upload-Offset": "0", "Upload-Length": "1073741825"],
          413,
          "tooLarge"
        ),
        (
          "PATCH", "/uploads/a",
          ["Content-Digest": RelayDigest.field(SHA256.hash([])), "Upload-Offset": "5", "Upload-Length": "9"], 409,
          "offsetMismatch"
        ),
        ("POST", "/entries/a", [:], 405, "methodNotAllowed"),
        ("GET", "/entries/a/b", [:], 404, "noSuchPath"),
        (
          "GET", "/changes",
          ["X-Long": String(repeating: "x", count: 16_000), "Y-Long": String(repeating: "y", count: 900)],
          431, "headersTooLarge"
        ),
      ] as [(String, String, [String: String], Int, String)])
    func malformedRequestsAreRefused(
      _ method: String, _ path: String, _ fields: [String: String], _ status: Int, _ problem: String
    ) async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let answer = try await RawHTTP.send(
          method, "/v1/spaces/\(token.space)\(path)", fields.merging(["Authorization": "Bearer \(token.token)"]) { $1 },
          port: relay.port)
        #expect(answer.status == status && answer.problem == problem, "\(answer)")
        #expect(try await relay.mailbox(token).status().entries == 0)
      }
    }

    @Test func slowAndCrowdedBodiesAreRefused() async throws {
      let body = [UInt8](repeating: 7, count: 1_000)
      let digest = RelayDigest.field(SHA256.hash(body))
      // No time for a body, and no room.
      let cases: [(problem: String, status: Int, change: @Sendable (inout RelaySettings) -> Void)] = [
        ("badRequest", 400, { ($0.limits.slowBody, $0.limits.slowestBytesPerSecond) = (.zero, .max) }),
        ("busy", 503, { $0.limits.bodyBytes = 999 }),
      ]
      for (problem, status, change) in cases {
        try await RelayFixture.run(.sqlite, change) { relay in
          let token = try await relay.token()
          let answer = try await RawHTTP.send(
            "PUT", "/v1/spaces/\(token.space)/entries/a",
            ["Authorization": "Bearer \(token.token)", "Content-Digest": digest], body, port: relay.port)
          #expect(answer.status == status && answer.problem == problem, "\(answer)")
        }
      }
    }

    private static let long = String(repeating: "x", count: 40_000)

    /// What never becomes a request is refused before the relay has a word in it, and looks like every other refusal.
    @Test(
      arguments: [
        ("nonsense\r\n\r\n", 400, "badRequest"),
        ("GET / HTTP/9.9\r\n\r\n", 400, "badRequest"),
        ("GET /\u{0} HTTP/1.1\r\n\r\n", 400, "badRequest"),
        ("\u{16}\u{3}\u{1}\r\n\r\n", 400, "badRequest"),
        ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "badRequest"),
        ("GET / HTTP/1.1\r\nHo st: a\r\n\r\n", 400, "badRequest"),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400, "badRequest"),
        ("GET / HTTP/1.1\r\nHost: a\r\nX-Long: \(long)\r\n\r\n", 431, "headersTooLarge"),
        ("GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", 431, "headersTooLarge"),
        ("GET / HTTP/1.1\r\n\(String(repeating: "X: y\r\n", count: 200))\r\n", 431, "headersTooLarge"),
      ])
    func whatIsNoRequestIsRefusedAsRequestsAre(_ text: String, _ status: Int, _ problem: String) async throws {
      try await RelayFixture.run { relay in
        let answer = RawHTTP.Answer(try await RawHTTP.exchange(Array(text.utf8), port: relay.port))
        #expect(answer.status == status && answer.problem == problem, "\(answer)")
        #expect(answer.field("content-type") == RelayMedia.problem && answer.field("connection") == "close")
        let body = try JSONDecoder().decode(RelayProblem.self, from: Data(answer.body))
        #expect(body.code.rawValue == problem && body.status == status)
        // It is counted, and the relay still serves.
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
        #expect(metrics.contains("tally_relay_problems_total{code=\"\(problem)\"} 1\n"), "\(metrics)")
        #expect(try await relay.mailbox(try await relay.token()).status().entries == 0)
      }
    }

    /// A request that ends within its header, and a body whose chunks are none.
    @Test func whatBreaksOffIsRefusedAsRequestsAre() async throws {
      try await RelayFixture.run { relay in
        let half = RawHTTP.Answer(
          try await RawHTTP.exchange(Array("GET / HTTP/1.1\r\nHo".utf8), port: relay.port, isLast: true))
        #expect(half.status == 400 && half.problem == "badRequest", "\(half)")
        let token = try await relay.token()
        let head =
          "PUT /v1/spaces/\(token.space)/entries/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token.token)\r\n"
          + "Content-Digest: \(RelayDigest.field(SHA256.hash([1])))\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunks = RawHTTP.Answer(try await RawHTTP.exchange(Array("\(head)no chunk\r\n".utf8), port: relay.port))
        #expect(chunks.status == 400 && chunks.problem == "badRequest", "\(chunks)")
        #expect(try await relay.mailbox(token).status().entries == 0)
      }
    }
  }
#endif
