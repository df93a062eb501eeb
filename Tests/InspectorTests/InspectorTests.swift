#if Inspector
  import Foundation
  import Tally
  import TallyInspection
  import TallyInspector
  import TallyStore
  import TallySync
  import Testing

  /// The server: who is let in, what is answered, what may be changed.
  @Suite(.serialized, .timeLimit(.minutes(5))) struct InspectorTests {
    static let schema = Schema([
      EntitySchema("Book", .text("title"), .integer("pages", default: 0), .blob("cover"))
    ])

    /// An inspector of a store in memory, and a client that is let in.
    private struct House {
      let store: Store
      let inspector: Inspector
      let client: RawClient
      let token: String
      let cookie: String

      init(allowsWrites: Bool = false) async throws {
        store = try Store(inMemory: InspectorTests.schema)
        try await store.write {
          try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
        }
        var settings = Inspector.Settings()
        (settings.name, settings.allowsWrites, settings.logger.logLevel) = ("phone", allowsWrites, .critical)
        inspector = Inspector(store, nil, settings)
        let address = try await inspector.serve()
        let url = try #require(URLComponents(string: address))
        client = RawClient(port: try #require(url.port))
        token = try #require(url.queryItems?.first { $0.name == "token" }?.value)
        let welcome = try await client.get("/?token=\(token)", cookie: "")
        let header = try #require(welcome.headers["set-cookie"])
        #expect(header.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
        cookie = String(header.prefix { $0 != ";" })
      }
    }

    @Test func theTokenLetsInOnceAndTheCookieFromThenOn() async throws {
      let house = try await House()
      let client = house.client
      #expect(try await client.get("/?token=\(house.token)", cookie: "").status == 403)
      #expect(try await client.get("/", cookie: "").status == 403)
      #expect(try await client.get("/?token=\(house.token)", cookie: house.cookie).status == 200)
      #expect(try await client.get("/", cookie: "x=y; \(house.cookie)").body.contains("<main id=\"main\""))
      #expect(try await client.get("/api/stores", cookie: house.cookie + "0").status == 403)
      #expect(try await client.get("/api/stores?token=\(house.token)", cookie: "").status == 403)
      for wrong in ["", "0", String(house.token.dropLast()), house.token.uppercased() + "0"] {
        #expect(try await client.get("/?token=\(wrong)", cookie: "").status == 403)
      }
      await house.inspector.close()
    }

    @Test func aFreshAddressLetsInAnotherBrowser() async throws {
      let house = try await House()
      func token(_ address: String) throws -> String {
        let url = try #require(URLComponents(string: address))
        #expect(url.port == house.client.port)
        return try #require(url.queryItems?.first { $0.name == "token" }?.value)
      }
      let (second, third) = (try token(house.inspector.newAddress()), try token(house.inspector.newAddress()))
      #expect(Set([house.token, second, third]).count == 3)
      // In any order, each once; who is in stays in.
      for fresh in [third, second] {
        let welcome = try await house.client.get("/?token=\(fresh)", cookie: "")
        #expect(welcome.status == 200 && welcome.headers["set-cookie"] != nil)
        let again = try await house.client.get("/?token=\(fresh)", cookie: "")
        #expect(again.status == 403 && again.headers["set-cookie"] == nil)
        #expect(again.body.contains("this address was opened before") && again.body.contains("Press Enter"))
      }
      #expect(try await house.client.get("/", cookie: house.cookie).status == 200)
      let wrong = try await house.client.get("/?token=\(String(second.reversed()))", cookie: "")
      #expect(wrong.status == 403 && wrong.body.contains("the token is not the right one"))
      await house.inspector.close()
      #expect(throws: Inspector.Failure.self) { try house.inspector.newAddress() }
    }

    @Test func otherHostsAndSitesAreRefused() async throws {
      let house = try await House()
      let (client, cookie) = (house.client, house.cookie)
      func ask(_ host: String, _ extra: String = "", method: String = "GET") async throws -> Int {
        try await client.send(
          "\(method) /api/stores HTTP/1.1\r\n\(host)Cookie: \(cookie)\r\n\(extra)Connection: close\r\n\r\n"
        ).status
      }
      let own = "Host: 127.0.0.1:\(client.port)\r\n"
      #expect(try await ask(own) == 200)
      #expect(try await ask("Host: localhost:\(client.port)\r\n") == 200)
      // DNS rebinding: the name of a site that is made to lead to this machine.
      for host in [
        "Host: evil.example:\(client.port)\r\n", "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1.evil.example:\(client.port)\r\n", "", own + own,
      ] {
        #expect([400, 403].contains(try await ask(host)), "\(host)")
      }
      #expect(try await ask(own, "Origin: http://127.0.0.1:\(client.port)\r\n") == 200)
      for origin in ["http://evil.example", "null", "https://127.0.0.1:\(client.port)", "http://127.0.0.1:1"] {
        #expect(try await ask(own, "Origin: \(origin)\r\n") == 403, "\(origin)")
        #expect(
          try await client.post("/api/query", "{\"store\":0,\"sql\":\"SELECT 1\"}", cookie: cookie, origin: origin)
            .status
            == 403)
      }
      #expect(try await ask(own, "Sec-Fetch-Site: cross-site\r\n") == 403)
      #expect(try await ask(own, "Sec-Fetch-Site: same-site\r\n") == 403)
      #expect(try await ask(own, "Sec-Fetch-Site: same-origin\r\n") == 200)
      // What changes something names its origin.
      #expect(try await ask(own, "Content-Length: 0\r\n", method: "POST") == 403)
      await house.inspector.close()
    }

    @Test func everyAnswerKeepsOthersOut() async throws {
      let house = try await House()
      for path in ["/", "/app.js", "/style.css", "/api/stores", "/nothing", "/api/nothing"] {
        let answer = try await house.client.get(path, cookie: house.cookie)
        let policy = try #require(answer.headers["content-security-policy"])
        #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe") && !policy.contains("http"))
        #expect(answer.headers["x-content-type-options"] == "nosniff" && answer.headers["cache-control"] == "no-store")
      }
      await house.inspector.close()
    }

    @Test func aBlobIsServedAsThePictureThatItIsAndNothingElse() async throws {
      let house = try await House()
      let png = "89504e470d0a1a0a"
      try await house.store.write { db in
        try db.execute(
          sql: """
            UPDATE Book SET cover = x'\(png)00ff';
            INSERT INTO Book(id, cover) VALUES('Book|~|page', CAST('<svg onload="alert(1)"/>' AS BLOB)),
              ('Book|~|long', CAST(x'\(png)' || zeroblob(4 << 20) AS BLOB)), ('Book|~|none', NULL)
            """)
      }
      func ask(_ name: String, _ field: String = "cover", cookie: String? = nil) async throws -> RawClient.Answer {
        let path = "/api/picture?store=0&name=Book%7C~%7C\(name)&field=\(field)"
        return try await house.client.get(path, cookie: cookie ?? house.cookie)
      }
      let picture = try await ask("a")
      #expect(picture.status == 200 && picture.headers["content-length"] == "10")
      #expect(picture.headers["content-type"] == "image/png")
      #expect(picture.headers["x-content-type-options"] == "nosniff")
      #expect(
        picture.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox")
      #expect(picture.headers["cross-origin-resource-policy"] == "same-origin")
      for (name, field, status, code) in [
        ("page", "cover", 404, "noPicture"), ("none", "cover", 404, "noPicture"), ("a", "title", 404, "noPicture"),
        ("a", "nothing", 404, "noPicture"), ("nobody", "cover", 404, "noPicture"), ("long", "cover", 413, "tooLong"),
        ("a", "", 400, "malformed"),
      ] {
        let answer = try await ask(name, field)
        #expect(answer.status == status && answer.body.contains("\"\(code)\""), "\(name) \(field): \(answer.body)")
        #expect(answer.headers["content-type"] == "application/json; charset=utf-8")
      }
      #expect(try await ask("a", cookie: "").status == 403)
      // A record that was deleted still shows what it held.
      try await house.store.write { try $0.execute(sql: "DELETE FROM Book WHERE id = 'Book|~|a'") }
      #expect(try await ask("a").status == 200)
      await house.inspector.close()
    }

    @Test func rowsComeInTheOrderThatWasAskedFor() async throws {
      let house = try await House()
      try await house.store.write {
        try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|b', 'zoo'), ('Book|~|c', NULL)")
      }
      func names(_ parameters: String) async throws -> [String] {
        let answer = try await house.client.get("/api/rows?type=Book&\(parameters)", cookie: house.cookie)
        #expect(answer.status == 200, "\(answer.body)")
        return answer.body.matches(of: /"name":"Book\|~\|(.)"/).map { String($0.output.1) }
      }
      #expect(try await names("") == ["c", "b", "a"])
      #expect(try await names("sort=title") == ["a", "b", "c"])
      #expect(try await names("sort=title&descending=1") == ["b", "a", "c"])
      #expect(try await names("sort=id&limit=2&after=1") == ["b", "c"])
      for (parameters, status) in [("sort=nothing", 422), ("sort=title&hidden=1", 400), ("sort=title&after=x", 400)] {
        let answer = try await house.client.get("/api/rows?type=Book&\(parameters)", cookie: house.cookie)
        #expect(answer.status == status, "\(parameters): \(answer.body)")
      }
      await house.inspector.close()
    }

    @Test func pathsLeadNowhereElse() async throws {
      let house = try await House()
      for path in [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/app.js/..", "/app.js%00", "/App.js",
        "/.%2e/app.js", "/%c0%ae", "/api/../app.js", "/index.html",
      ] {
        let answer = try await house.client.get(path, cookie: house.cookie)
        #expect([400, 404].contains(answer.status), "\(path)")
        #expect(!answer.body.contains("root:"))
      }
      await house.inspector.close()
    }

    @Test func nothingChangesUnlessItWasAllowed() async throws {
      let house = try await House()
      let before = try house.store.vector
      for path in ["record/delete", "record/restore", "conflicts/restore", "conflicts/dismiss"] {
        let answer = try await house.client.post(
          "/api/\(path)", "{\"store\":0,\"name\":\"Book|~|a\",\"id\":\"\"}", cookie: house.cookie)
        #expect(answer.status == 403 && answer.body.contains("\"readOnly\""), "\(path)")
      }
      let query = try await house.client.post(
        "/api/query", "{\"store\":0,\"sql\":\"DELETE FROM Book\"}", cookie: house.cookie)
      #expect(query.status == 400)
      #expect(try house.store.vector == before)
      await house.inspector.close()
    }

    @Test func whatWasAllowedChangesTheStore() async throws {
      let house = try await House(allowsWrites: true)
      func count() throws -> Int? { try house.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Book") } }
      let wish = "{\"store\":0,\"name\":\"Book|~|a\"}"
      #expect(try await house.client.post("/api/record/delete", wish, cookie: house.cookie).status == 200)
      #expect(try count() == 0)
      #expect(try await house.client.post("/api/record/restore", wish, cookie: house.cookie).status == 200)
      #expect(try count() == 1)
      #expect(
        try await house.client.post("/api/record/restore", wish, cookie: house.cookie).body.contains("notDeleted"))
      await house.inspector.close()
    }

    @Test func malformedQuestionsAreAnsweredWithACode() async throws {
      let house = try await House()
      for path in [
        "record", "record?name=x", "rows", "rows?type=Nothing", "rows?type=Book&after=x", "rows?type=Book&store=9",
        "timeline?replica=x", "timeline?store=-1", "diff?first=0&second=7", "search?q=a&from=x", "storage?store=x",
        "nothing", "rows?type=Book&text=%ff", "rows?type=Book&text=%", "rows?type=Book&%ff=x", "rows?type=%c3",
        "search?q=%ff", "record?name=%ed%a0%80", "rows?type=Book&text=\(String(repeating: "x", count: 1_001))",
        "search?q=\(String(repeating: "x", count: 1_001))",
      ] {
        let answer = try await house.client.get("/api/\(path)", cookie: house.cookie)
        #expect(
          (400..<500).contains(answer.status) && answer.body.hasPrefix("{\"error\":{\"code\":"),
          "\(path): \(answer.body)")
      }
      for body in ["", "{", "[]", "{\"store\":\"x\"}", String(repeating: "x", count: 9 << 20)] {
        let answer = try await house.client.post("/api/query", body, cookie: house.cookie)
        #expect([400, 413].contains(answer.status), "\(body.prefix(20))")
      }
      await house.inspector.close()
    }

    /// A store that cannot be read is said to be that, and those beside it answer.
    @Test func aBadStoreHidesNothingOfTheOthers() async throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-bad-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let bad = try Store(path: folder.appendingPathComponent("bad.tally").path, schema: Self.schema)
      let good = try Store(inMemory: Self.schema)
      for store in [good, bad] {
        try await store.write { try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')") }
      }
      var settings = Inspector.Settings()
      settings.logger.logLevel = .critical
      let room = InspectorRoom(
        [InspectedStore("bad", bad), InspectedStore("good", good)], settings,
        unreadable: [("worse", "it is no database")])
      let inspector = Inspector(room)
      let url = try #require(URLComponents(string: try await inspector.serve()))
      let client = RawClient(port: try #require(url.port))
      let welcome = try await client.get("/?\(try #require(url.query))", cookie: "")
      let cookie = String(try #require(welcome.headers["set-cookie"]).prefix { $0 != ";" })
      // The inspector may still be reading for the first page.
      while true {
        do {
          try bad.close()
          break
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
          try await Task.sleep(for: .milliseconds(10))
        }
      }
      let record = try await client.get("/api/record?name=Book%7C~%7Ca", cookie: cookie)
      #expect(record.status == 200)
      #expect(record.body.contains("\"code\":\"unreadable\"") && record.body.contains("\"code\":\"visible\""))
      // What could not even be opened has its place behind the others.
      #expect(record.body.components(separatedBy: "\"code\":\"unreadable\"").count == 3)
      #expect(record.body.contains("it is no database"))
      let search = try await client.get("/api/search?q=a", cookie: cookie)
      #expect(search.status == 200 && search.body.contains("Book|~|a"))
      #expect(search.body.contains("\"failures\":[{\"message\":"))
      for path in ["rows?store=1&type=Book", "conflicts?store=1", "stores", "timeline?store=1"] {
        #expect(try await client.get("/api/\(path)", cookie: cookie).status == 200, "\(path)")
      }
      await inspector.close()
    }

    @Test func aFilterWithANulIsTakenAsItIs() async throws {
      let house = try await House()
      try await house.store.write {
        try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|nul', 'Em' || char(0) || 'ma')")
      }
      for (text, names) in [("m%00M", ["nul"]), ("ma", ["a", "nul"]), ("m%00x", []), ("%00", ["nul"])] {
        let rows = try await house.client.get("/api/rows?type=Book&text=\(text)", cookie: house.cookie)
        let search = try await house.client.get("/api/search?q=\(text)&from=0:0:", cookie: house.cookie)
        for answer in [rows, search] {
          #expect(answer.status == 200, "\(text)")
          for name in ["a", "nul"] {
            #expect(answer.body.contains("\"Book|~|\(name)\"") == names.contains(name), "\(text): \(answer.body)")
          }
        }
      }
      await house.inspector.close()
    }

    @Test func aPlaceThatNoPageHasGivenIsRefused() async throws {
      let house = try await House()
      try await house.store.write { try $0.execute(sql: "DELETE FROM Book") }
      let least = Int64.min
      for (path, status) in [
        ("rows?type=Book&hidden=1&after=\(least)", 400), ("rows?type=Book&after=\(least)", 400),
        ("rows?type=Book&hidden=1&after=\(least + 1)", 200), ("rows?type=Book&hidden=1&after=x", 400),
        ("rows?type=Book&column=-1", 400), ("rows?type=Book&column=\(Int64.max)", 200),
        ("rows?type=Book&limit=\(Int64.max)", 200), ("rows?type=Book&store=\(Int64.max)", 404),
        ("search?q=a&from=0:1:\(least)", 422), ("search?q=a&from=0:1:\(least + 1)", 200),
        ("search?q=a&from=\(Int64.max):\(Int64.max):1", 200), ("timeline?before=-1", 400),
        ("timeline?before=\(Int64.max)", 200), ("log?after=-1", 400), ("log?after=\(Int64.max)", 200),
        ("diff?first=0&second=0&from=1:\(String(repeating: "0", count: 32)):1:\(Int64.max):\(Int64.max):1", 200),
      ] {
        let answer = try await house.client.get("/api/\(path)", cookie: house.cookie)
        #expect(answer.status == status, "\(path): \(answer.body)")
      }
      await house.inspector.close()
    }

    @Test func aPortIsTriedBeforeThereIsAnInspector() async throws {
      let house = try await House()
      let port = house.client.port
      let failure = await #expect(throws: Inspector.Failure.self) { try await Inspector.checkPort(port) }
      #expect(failure?.description == "the inspector cannot listen on port \(port): Address already in use")
      await house.inspector.close()
      try await Inspector.checkPort(port)
      let address = try await house.inspector.serve(port: port)
      #expect(address.contains(":\(port)/"))
      await house.inspector.close()
    }

    @Test func aStoreThatSomebodyElseWritesToIsBusy() async throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-busy-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appendingPathComponent("a.tally").path
      var options = StoreOptions()
      options.busyTimeout = 0
      let (store, other) = (try Store(path: path, schema: Self.schema, options: options), try Store(existing: path))
      try await store.write { try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')") }
      var settings = Inspector.Settings()
      (settings.allowsWrites, settings.logger.logLevel) = (true, .critical)
      let inspector = Inspector(store, nil, settings)
      let url = try #require(URLComponents(string: try await inspector.serve()))
      let client = RawClient(port: try #require(url.port))
      let welcome = try await client.get("/?\(try #require(url.query))", cookie: "")
      let cookie = String(try #require(welcome.headers["set-cookie"]).prefix { $0 != ";" })
      // Whoever writes holds the lock until the answer is here.
      let (steps, feed) = AsyncStream.makeStream(of: Void.self)
      let answered = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        #expect(throws: Never.self) {
          try other.write { db in
            try db.execute(sql: "UPDATE Book SET pages = 1")
            feed.yield()
            answered.wait()
          }
        }
        feed.finish()
      }
      var step = steps.makeAsyncIterator()
      await step.next()
      let wish = "{\"store\":0,\"name\":\"Book|~|a\"}"
      defer { answered.signal() }
      let answer = try await client.post("/api/record/delete", wish, cookie: cookie)
      #expect(answer.status == 503 && answer.body.contains("\"code\":\"busy\""), "\(answer.body)")
      answered.signal()
      await step.next()
      await inspector.close()
    }

    @Test func aSwitchThatIsNotThereIsRefused() async throws {
      let controls = InspectorControls(
        list: { [.init("relay", group: "relay", "Running", isOn: true)] }, perform: { _, _ in })
      let inspector = Inspector(InspectorRoom([], Inspector.Settings(), controls))
      let url = try #require(URLComponents(string: try await inspector.serve()))
      let client = RawClient(port: try #require(url.port))
      let welcome = try await client.get("/?\(try #require(url.query))", cookie: "")
      let cookie = String(try #require(welcome.headers["set-cookie"]).prefix { $0 != ";" })
      #expect(try await client.post("/api/controls", "{\"id\":\"relay\",\"isOn\":true}", cookie: cookie).status == 200)
      #expect(try await client.post("/api/controls", "{\"id\":\"relays\",\"isOn\":true}", cookie: cookie).status == 404)
      await inspector.close()
    }

    @Test func eventsAreRead() async throws {
      let house = try await House()
      #expect(try await house.client.post("/api/events", "", cookie: house.cookie).status == 405)
      await house.inspector.close()
    }

    @Test func aPageHearsOfEachChange() async throws {
      let house = try await House()
      let (store, client, cookie) = (house.store, house.client, house.cookie)
      let heard = try await client.follow("/api/events", cookie: cookie, until: "event: change") {
        try store.write { try $0.execute(sql: "UPDATE Book SET pages = 4") }
      }
      #expect(heard.contains("data: {\"store\":0}"))
      await house.inspector.close()
    }

    /// Whoever writes a lot pays for a look now and then, and not for each commit.
    @Test func aBusyStoreIsLookedAtTenTimesASecondAtMost() async throws {
      let house = try await House()
      let begun = ContinuousClock.now
      for pages in 1...1_000 { try await house.store.write { try $0.execute(sql: "UPDATE Book SET pages = \(pages)") } }
      let log = try await house.client.get("/api/log", cookie: house.cookie)
      let seconds = (ContinuousClock.now - begun) / .seconds(1)
      let looks = log.body.split(separator: "\"source\":\"store\"").count - 1
      #expect(Double(looks) <= seconds * 10 + 2)
      await house.inspector.close()
    }

    @Test func closingFreesThePortAndServingTwiceIsRefused() async throws {
      let house = try await House()
      await #expect(throws: Inspector.Failure.self) { try await house.inspector.serve() }
      await house.inspector.close()
      await house.inspector.close()
      await #expect(throws: RawClient.Failure.self) { try await house.client.get("/", cookie: house.cookie) }
      let address = try await house.inspector.serve(port: house.client.port)
      #expect(address.hasPrefix("http://127.0.0.1:\(house.client.port)/?token="))
      // What was given out before counts no more.
      #expect(try await house.client.get("/", cookie: house.cookie).status == 403)
      await house.inspector.close()
    }
  }
#endif
