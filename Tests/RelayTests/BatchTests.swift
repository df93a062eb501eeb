#if Relay
  import Foundation
  import Synchronization
  import Tally
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyWire
  import Testing

  /// Several entries in one request.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct BatchTests {
    private func content(_ name: String, _ count: Int = 100) -> [UInt8] {
      let seed = name.utf8.reduce(7) { $0 &* 31 &+ Int($1) }
      return (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ seed) }
    }

    private func upload(_ name: String, _ count: Int = 100) -> MailboxUpload {
      MailboxUpload(name: name, bytes: content(name, count))
    }

    private func post(
      _ path: String, _ body: [UInt8], _ token: RelayStore.NewToken, _ relay: RelayFixture,
      _ more: [String: String] = [:]
    ) async throws -> RawHTTP.Answer {
      let fields = [
        "Authorization": "Bearer \(token.token)", "Content-Digest": RelayDigest.field(SHA256.hash(body)),
      ].merging(more) { $1 }
      return try await RawHTTP.send("POST", "/v1/spaces/\(token.space)\(path)", fields, body, port: relay.port)
    }

    private func write(_ writes: [RelayWrites.Write], _ token: RelayStore.NewToken, _ relay: RelayFixture) async throws
      -> [RelayResults.Result]
    {
      let answer = try await post("/entries", RelayWrites(writes).bytes(), token, relay)
      #expect(answer.status == 200, "\(answer.head) \(answer.text)")
      #expect(answer.field("content-type") == "application/vnd.tally.results")
      return try RelayResults(answer.body).results
    }

    private func names(_ mailbox: RelayMailbox) async throws -> [String] {
      var (names, cursor): ([String], MailboxCursor?) = ([], nil)
      for _ in 0..<1_000 {
        let page = try await mailbox.changes(after: cursor)
        names += page.items.map(\.name)
        cursor = page.cursor
        if !page.hasMore { break }
      }
      return names
    }

    /// How many requests of a kind the relay has answered.
    private func count(_ route: String, _ relay: RelayFixture) -> Int {
      relay.log.count { $0.contains(" route=\(route) ") }
    }

    // MARK: The protocol

    /// Each is done as if it had come alone, one after the other, and what became of it stands in its place; the same
    /// request again changes nothing.
    @Test(arguments: StorageKind.available) func eachStandsOrFailsAlone(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token(quota: 400_000)
        let mailbox = try relay.mailbox(token)
        _ = try await mailbox.put(upload("there"))
        let writes: [RelayWrites.Write] = [
          .put(name: "a", content: content("a")), .put(name: "there", content: [9]),
          .put(name: "b", content: content("b", 100_000)), .removal(name: "missing"),
          // More than there is room for; what comes after it is put all the same.
          .put(name: "large", content: content("large", 350_000)), .put(name: "c", content: content("c")),
          .put(name: "a", content: content("a")), .removal(name: "there"),
          .put(name: "there", content: content("there", 5)), .put(name: "empty", content: []),
        ]
        let first = try await write(writes, token, relay)
        #expect(
          first == [
            .put(position: 2), .known(position: 1), .put(position: 3), .refused(.noSuchEntry, retryAfter: nil),
            .refused(.quotaExceeded, retryAfter: nil), .put(position: 4), .known(position: 2), .removed,
            .put(position: 6), .put(position: 7),
          ])
        let status = try await mailbox.status()
        #expect(
          status.entries == 5 && status.bytes == 100 + 100_000 + 100 + 5 + 0 + 7 * 256 && status.head.hasPrefix("7."))
        let again = try await write(Array(writes[..<7]), token, relay)
        #expect(
          again == [
            .known(position: 2), .known(position: 6), .known(position: 3), .refused(.noSuchEntry, retryAfter: nil),
            .refused(.quotaExceeded, retryAfter: nil), .known(position: 4), .known(position: 2),
          ])
        #expect(try await mailbox.status().head == status.head)
        for (name, size) in [("a", 100), ("b", 100_000), ("c", 100), ("there", 5), ("empty", 0)] {
          var read: [UInt8] = []
          for try await piece in try await mailbox.get(name, from: 0) { read += piece }
          #expect(read == content(name, size), "\(name)")
        }
        let cursor = try #require(try await mailbox.changes(after: nil).cursor)
        #expect("\(cursor)" == status.head)
      }
    }

    /// Who has put alone goes on after what was put.
    @Test(arguments: StorageKind.available) func theCursorGoesOnIfNothingElseHasCome(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let start = try await mailbox.changes(after: nil).cursor
        func batch(_ names: String..., after cursor: MailboxCursor?) async throws -> MailboxCursor? {
          let uploads = names.map { MailboxUpload(name: $0, bytes: content($0), after: cursor) }
          let receipts = try await mailbox.put(uploads).map { try $0.get() }
          #expect(receipts.dropLast().allSatisfy { $0.cursor == nil })
          return receipts.last?.cursor
        }
        let first = try await batch("a", "b", "c", after: start)
        let head = try await mailbox.changes(after: nil).cursor
        #expect(first != nil && first == head)
        #expect(try await mailbox.changes(after: first).items.isEmpty)
        _ = try await relay.mailbox(token).put(upload("other"))
        #expect(try await batch("d", "e", after: first) == nil)
        #expect(try await mailbox.changes(after: first).items.map(\.name) == ["other", "d", "e"])
      }
    }

    /// A relay's own quota is met at the same entry as a space's, and what is there already needs no room.
    @Test(arguments: StorageKind.available) func aQuotaEndsInTheMiddle(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.limits.spaceBytes = 10_000
      } _: { relay in
        for token in [try await relay.token(), try await relay.token(quota: 10_000)] {
          let writes = (0..<5).map { RelayWrites.Write.put(name: "e\($0)", content: content("e", 3_000)) }
          let full = RelayResults.Result.refused(.quotaExceeded, retryAfter: nil)
          let expected: [RelayResults.Result] = [
            .put(position: 1), .put(position: 2), .put(position: 3), full, full,
          ]
          #expect(try await write(writes, token, relay) == expected)
          let again = try await write(writes + [.put(name: "small", content: [1])], token, relay)
          #expect(
            again == [.known(position: 1), .known(position: 2), .known(position: 3), full, full, full])
          // Removing makes room within the same request.
          let third = try await write(
            [.removal(name: "e0"), .put(name: "e3", content: content("e", 2_000))], token, relay)
          #expect(third.first == .removed)
          if case .put = third.last {} else { Issue.record("\(third)") }
        }
      }
    }

    @Test func whatIsNoBatchIsRefused() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let reader = try await relay.token(token.space, .reader)
        let one = RelayWrites([.put(name: "a", content: [1])]).bytes()
        let many = RelayWrites((0..<257).map { .removal(name: "n\($0)") }).bytes()
        for (body, path, who, status, problem) in [
          (Array("nothing".utf8), "/entries", token, 400, "badRequest"), (many, "/entries", token, 400, "badRequest"),
          (one, "/contents", token, 400, "badRequest"), (one, "/entries", reader, 403, "forbidden"),
          (one + [0], "/entries", token, 400, "badRequest"),
        ] {
          let answer = try await post(path, body, who, relay)
          #expect(answer.status == status && answer.problem == problem, "\(answer.head)")
        }
        let changed = try await post(
          "/entries", one, token, relay, ["Content-Digest": RelayDigest.field(SHA256.hash([1]))])
        #expect(changed.status == 422 && changed.problem == "digestMismatch")
        for (method, path) in [("GET", "/entries"), ("PUT", "/contents"), ("DELETE", "/entries")] {
          let answer = try await RawHTTP.send(
            method, "/v1/spaces/\(token.space)\(path)", ["Authorization": "Bearer \(token.token)"], port: relay.port)
          #expect(answer.status == 405 && answer.problem == "methodNotAllowed")
        }
        #expect(try await relay.mailbox(token).status().entries == 0)
        #expect(try await relay.mailbox(reader).contents(of: ["a", "b"]).isEmpty)
      }
    }

    /// Small contents come together, each in its place; what does not fit is asked for again.
    @Test(arguments: StorageKind.available) func contentsComeTogether(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        // A token has a sixteenth: three or four of the contents.
        $0.limits.answerBytes = 16 * 300_000
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        for number in 0..<9 { _ = try await mailbox.put(upload("e\(number)", 60_000)) }
        _ = try await mailbox.put(upload("large", 70_000))
        _ = try await mailbox.put(upload("empty", 0))
        func ask(_ names: [String]) async throws -> [RelayContents.Content] {
          let answer = try await post("/contents", RelayWanted(names).bytes(), token, relay)
          #expect(answer.status == 200 && answer.field("content-type") == "application/vnd.tally.contents")
          return try RelayContents(answer.body).contents
        }
        #expect(
          try await ask(["empty", "missing", "e3", "large"]) == [
            .whole([]), .missing, .whole(content("e3", 60_000)), .elsewhere(byteCount: 70_000),
          ])
        var (rest, rounds) = ((0..<9).map { "e\($0)" }, 0)
        while !rest.isEmpty, rounds < 9 {
          let contents = try await ask(rest)
          var left: [String] = []
          for (name, found) in zip(rest, contents) {
            if found == .whole(content(name, 60_000)) { continue }
            #expect(found == .elsewhere(byteCount: 60_000))
            left.append(name)
          }
          #expect(left.count < rest.count)
          (rest, rounds) = (left, rounds + 1)
        }
        #expect(rest.isEmpty && (3...9).contains(rounds))
      }
    }

    /// Entries of a batch cost a token what so many requests would, roughly: sixteen count as one.
    @Test func manyEntriesCountAsSeveralRequests() async throws {
      try await RelayFixture.run {
        ($0.limits.requestsPerSecond, $0.limits.requestBurst) = (0.001, 20)
      } _: { relay in
        let token = try await relay.token()
        let many = (0..<256).map { RelayWrites.Write.put(name: "n\($0)", content: [1]) }
        _ = try await write(many, token, relay)
        // Sixteen of twenty are used up.
        for _ in 0..<4 { _ = try await write([.removal(name: "missing")], token, relay) }
        let answer = try await post("/entries", RelayWrites(many).bytes(), token, relay)
        #expect(answer.status == 429 && answer.problem == "tooManyRequests")
      }
    }

    // MARK: The client

    /// Some hundreds of entries, a few of them large or there already, and one that cannot be read.
    @Test(arguments: StorageKind.available) func manyEntriesTakeFewRequests(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        struct Broken: Error {}
        let mailbox = try relay.mailbox(try await relay.token())
        _ = try await mailbox.put(upload("e7"))
        var uploads = (0..<600).map { upload("e\($0)", $0 % 100 == 50 ? 70_000 : 200) }
        uploads[300] = upload("e300", 5 << 20)
        uploads[400] = MailboxUpload(name: "e400", byteCount: 100) { _, _ in throw Broken() }
        uploads[401] = MailboxUpload(name: "../no", bytes: [1])
        let results = try await mailbox.put(uploads)
        for (index, result) in results.enumerated() {
          switch (index, result) {
          case (400, .failure(let error)): #expect(error is Broken)
          case (401, .failure(let error)): #expect((error as? MailboxError)?.code == .invalidName)
          case (_, .success): break
          case (_, .failure(let error)): Issue.record("\(index): \(error)")
          }
        }
        let put = (0..<600).filter { $0 != 400 && $0 != 401 }.map { "e\($0)" }
        #expect(Set(try await names(mailbox)) == Set(put))
        #expect(count("writeEntries", relay) <= 6 && count("putEntry", relay) <= 4)
        let gone = (0..<600).map { "e\($0)" }
        try await mailbox.remove(gone)
        #expect(try await mailbox.status().entries == 0)
        #expect(count("removeEntry", relay) == 0 && count("writeEntries", relay) <= 9)
      }
    }

    /// A relay that knows no batches is asked once, and not at all once a page was seen.
    @Test func anOlderRelayGetsOneByOne() async throws {
      try await RelayFixture.run { relay in
        let old = try OlderRelay(before: relay.port)
        let token = try await relay.token()
        let mailbox = try RelayMailbox("http://127.0.0.1:\(old.port)/s/\(token.space)", token: token.token)
        let uploads = (0..<5).map { upload("e\($0)") }
        for result in try await mailbox.put(uploads) { _ = try result.get() }
        #expect(old.refusals == 1)
        for result in try await mailbox.put(uploads) { _ = try result.get() }
        #expect(try await mailbox.contents(of: ["e1", "e2"]).isEmpty)
        try await mailbox.remove(["e0", "e1"])
        #expect(old.refusals == 1)
        #expect(try await names(mailbox) == ["e2", "e3", "e4"])

        // Another client hears at its first page that there are none.
        let next = try RelayMailbox("http://127.0.0.1:\(old.port)/s/\(token.space)", token: token.token)
        _ = try await next.changes(after: nil)
        for result in try await next.put([upload("f"), upload("g")]) { _ = try result.get() }
        #expect(old.refusals == 1)
        // And when the relay is a newer one, with the next page.
        old.isOlder = false
        _ = try await next.changes(after: nil)
        for result in try await next.put([upload("h"), upload("i")]) { _ = try result.get() }
        #expect(count("writeEntries", relay) == 1)
        old.stop()
      }
    }

    /// A client of before makes a request for each entry.
    @Test func aProxyThatTakesLessGetsSmallerBatches() async throws {
      try await RelayFixture.run { relay in
        let proxy = try LimitedProxy(to: relay.port, limit: 20_000)
        let token = try await relay.token()
        var settings = RelayClient.Settings()
        settings.sleep = { _ in }
        let mailbox = try RelayMailbox("http://127.0.0.1:\(proxy.port)/s/\(token.space)", token: token.token, settings)
        let uploads = (0..<60).map { upload("e\($0)", $0 == 30 ? 50_000 : 1_000) }
        for result in try await mailbox.put(uploads) { _ = try result.get() }
        #expect(try await names(mailbox).count == 60)
        #expect(proxy.taken.allSatisfy { $0 <= 20_000 } && mailbox.bodyLimit ?? .max <= 20_000)
        #expect(count("writeEntries", relay) < 15)
        proxy.stop()
      }
    }

    /// The answer is lost, and the client makes the request again: everything is there once.
    @Test func aLostAnswerPutsNothingTwice() async throws {
      try await RelayFixture.run { relay in
        let lossy = try OlderRelay(before: relay.port)
        (lossy.isOlder, lossy.answersLost) = (false, 1)
        let token = try await relay.token()
        var settings = RelayClient.Settings()
        settings.sleep = { _ in }
        let mailbox = try RelayMailbox("http://127.0.0.1:\(lossy.port)/s/\(token.space)", token: token.token, settings)
        for result in try await mailbox.put((0..<20).map { upload("e\($0)") }) { _ = try result.get() }
        #expect(count("writeEntries", relay) == 2)
        let status = try await relay.mailbox(token).status()
        #expect(status.entries == 20 && status.head.hasPrefix("20."))
        lossy.stop()
      }
    }

    // MARK: A pass

    /// What a listing leaves out is read by few requests.
    @Test func aDeviceThatWasAwayReadsManyEntriesTogether() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let writer = try Scores.store("s0", noise: 45_000)
        let replica = try #require(try writer.summary().replica)
        var uploads = [try MailboxUpload(delta: try writer.delta(), by: replica)]
        for number in 1..<120 {
          let before = try writer.vector
          try Scores.insert("s\(number)", noise: 45_000, into: writer)
          uploads.append(try MailboxUpload(delta: try writer.delta(since: before), by: replica))
        }
        for result in try await mailbox.put(uploads) { _ = try result.get() }
        let store = try Scores.store("new")
        let report = try await store.sync(through: mailbox)
        #expect(report.taken.count == 120 && report.pending.isEmpty)
        let expected = (0..<120).map { "s\($0)" } + ["new"]
        #expect(Set(try Scores.names(store)) == Set(expected))
        #expect(count("readEntry", relay) == 0)
        #expect((1...6).contains(count("readEntries", relay)))
      }
    }
  }
#endif
