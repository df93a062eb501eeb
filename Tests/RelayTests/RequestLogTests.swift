#if Relay
  import Foundation
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import Testing

  /// How much those without a token can have written into the log.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RequestLogTests {
    private static func log(_ format: RelaySettings.LogFormat, _ state: RelayFixture.State) -> RelayRequestLog {
      var settings = RelaySettings(address: .init(host: "127.0.0.1", port: 0))
      settings.logFormat = format
      settings.log = { state.note($0) }
      return RelayRequestLog(settings, key: Array(repeating: 0, count: 32), now: { state.now })
    }

    /// Refused requests have some lines a second, requests with a token all of theirs; none goes without being counted.
    @Test func refusalsDoNotFillTheLog() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        func ask(_ token: String?) async throws -> Int {
          let fields = token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
          return try await RawHTTP.send("GET", "/v1/spaces/a", fields, port: relay.port).status
        }
        func lines(_ part: String) -> Int { relay.log.filter { $0.contains(part) }.count }
        for number in 0..<35 { #expect(try await ask(number % 2 == 0 ? nil : "tally1_unknown") == 401) }
        #expect(lines(" status=401 ") == 20)
        // What needs a token is written however much there is, and says nothing of the rest within the second.
        for _ in 0..<15 { #expect(try await ask(token.token) == 404) }
        #expect(lines(" status=404 ") == 15 && lines(" leftOut=") == 0)

        relay.now += 1
        #expect(try await ask(token.token) == 404)
        #expect(lines(" leftOut=") == 1 && lines(" status=404 ") == 16)
        // Before the line that it comes with.
        #expect(relay.log.dropLast().last?.hasSuffix(" leftOut=15") == true, "\(relay.log)")
        // Another second has as many lines of its own.
        for _ in 0..<21 { #expect(try await ask(nil) == 401) }
        #expect(lines(" status=401 ") == 40)
        relay.now += 1
        #expect(try await ask(nil) == 401)
        #expect(relay.log.dropLast().last?.hasSuffix(" leftOut=1") == true, "\(relay.log)")
        #expect(lines(" status=401 ") == 41)
      }
    }

    /// The same for what never became a request, in either form of a line; a clock that is set back holds nothing up.
    @Test(arguments: RelaySettings.LogFormat.allCases)
    func whatIsNoRequestDoesNotFillTheLog(_ format: RelaySettings.LogFormat) throws {
      let state = RelayFixture.State()
      let log = Self.log(format, state)
      let start = state.now
      for _ in 0..<800 { log.note(refusal: RelayProblem(.badRequest, "this is no request")) }
      #expect(state.log.count == 20)
      state.now = start - 5
      log.fault("something")
      #expect(state.log.count == 22)
      let line = state.log[20]
      switch format {
      case .json:
        let members = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(members["leftOut"] as? Int == 780 && members["time"] as? String == "2027-01-15T08:00:00Z")
        #expect(members.count == 2)
      case .text: #expect(line == "time=2027-01-15T08:00:00Z leftOut=780")
      }
      log.note(refusal: RelayProblem(.headersTooLarge, "the header is too large"))
      #expect(state.log.count == 23)
      // Requests are numbered whether they have a line or not.
      #expect(state.log[22].contains(format == .json ? "\"request\":801," : " request=801 "), "\(state.log[22])")
    }
  }
#endif
