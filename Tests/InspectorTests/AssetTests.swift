#if Inspector
  import Foundation
  import Tally
  import TallyInspector
  import TallyStore
  import Testing

  /// The files that fields name: which of them the server sends, and what the pages are told of them.
  @Suite(.serialized, .timeLimit(.minutes(5))) struct AssetTests {
    private static let schema = Schema([EntitySchema("Book", .text("title"), .asset("cover"))])
    /// Bytes that begin as a picture, and are text: an answer that is read as text is still the same.
    private static let gif = Data("GIF89a and more".utf8)

    /// An inspector of a store in a file, and of one in memory behind it, and a client that is let in.
    private final class House {
      let url: URL
      let store: Store
      let inspector: Inspector
      let client: RawClient
      let cookie: String

      init() async throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-covers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        store = try Store(path: url.appendingPathComponent("a.tally").path, schema: AssetTests.schema)
        let memory = try Store(inMemory: AssetTests.schema)
        var settings = Inspector.Settings()
        settings.logger.logLevel = .critical
        inspector = Inspector(
          InspectorRoom([InspectedStore("phone", store), InspectedStore("memory", memory)], settings))
        let address = try #require(URLComponents(string: try await inspector.serve()))
        client = RawClient(port: try #require(address.port))
        let welcome = try await client.get("/?\(try #require(address.query))", cookie: "")
        cookie = String(try #require(welcome.headers["set-cookie"]).prefix { $0 != ";" })
      }

      deinit { try? FileManager.default.removeItem(at: url) }

      func file(of name: AssetName) throws -> URL { try #require(try store.assets.url(of: name)) }

      /// Asks for a file by what is a name, or is not, with percent-encoding where it needs any.
      func ask(_ name: String, store: Int = 0, cookie: String? = nil) async throws -> RawClient.Answer {
        try await client.get("/api/asset?store=\(store)&name=\(name)", cookie: cookie ?? self.cookie)
      }

      func expect(
        _ name: String, store: Int = 0, _ status: Int, _ code: String, at location: SourceLocation = #_sourceLocation
      ) async throws {
        let answer = try await ask(name, store: store)
        #expect(
          answer.status == status && answer.body.contains("\"code\":\"\(code)\""), "\(name): \(answer.body)",
          sourceLocation: location)
        #expect(answer.headers["content-type"] == "application/json; charset=utf-8", sourceLocation: location)
      }
    }

    @Test func aPictureIsServedAsWhatItsBytesAre() async throws {
      let house = try await House()
      let pictures: [(Data, String, String)] = [
        (Self.gif, "gif", "image/gif"), (Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), "png", "image/png"),
        (Data([0xFF, 0xD8, 0xFF, 0xE0]), "jpg", "image/jpeg"), (Data([0xFF, 0xD8, 0xFF]), "jpeg", "image/jpeg"),
        (Data("RIFF0000WEBP".utf8), "webp", "image/webp"), (Self.gif, "png", "image/gif"),
      ]
      for (bytes, type, media) in pictures {
        let name = try house.store.assets.add(bytes, type: type)
        let answer = try await house.ask(name.text)
        #expect(answer.status == 200 && answer.headers["content-length"] == "\(bytes.count)", "\(type): \(answer.body)")
        #expect(answer.headers["content-type"] == media)
        #expect(answer.headers["x-content-type-options"] == "nosniff")
        #expect(answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox")
        #expect(answer.headers["cross-origin-resource-policy"] == "same-origin")
        #expect(answer.headers["cache-control"] == "no-store")
        #expect(bytes != Self.gif || answer.body == "GIF89a and more")
        #expect(try await house.ask(name.text, cookie: "").status == 403)
      }
      await house.inspector.close()
    }

    /// What could do something in a page is not sent, whatever its bytes are and whatever it calls itself.
    @Test func nothingButAPictureIsServed() async throws {
      let house = try await House()
      for (text, type) in [
        ("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "svg"), ("<p>page</p>", "html"),
        ("GIF89a", "svg"), ("GIF89a", "html"), ("GIF89a", "txt"), ("<script>alert(1)</script>", "png"), ("", "gif"),
      ] {
        let name = try house.store.assets.add(Data(text.utf8), type: type)
        try await house.expect(name.text, 404, "noPicture")
      }
      await house.inspector.close()
    }

    /// Only what reads as a name becomes a path.
    @Test func whatIsNoNameIsRefused() async throws {
      let house = try await House()
      let name = try house.store.assets.add(Self.gif, type: "gif").text
      try Data("secret".utf8).write(to: house.url.appendingPathComponent("a.tally-assets/secret.gif"))
      let digits = String(repeating: "0", count: 61)
      for wrong in [
        "", "..", "../a.tally", "%2e%2e%2fa.tally", "secret.gif", "/etc/passwd", "sha256-secret.6.gif",
        "sha256-../\(digits).15.gif", "sha256-%2e%2e%2f\(digits).15.gif", name + "/../../a.tally", name + "%00",
        name.uppercased(), name + ".gif", name.replacingOccurrences(of: ".gif", with: "./gif"),
        name.replacingOccurrences(of: ".15.", with: ".015."), name.replacingOccurrences(of: ".15.", with: ".-15."),
      ] {
        try await house.expect(wrong, 400, "malformed")
      }
      try await house.expect(name, store: 9, 404, "noSuchStore")
      let written = try await house.client.post("/api/asset", "{}", cookie: house.cookie)
      #expect(written.status == 404 && written.body.contains("noSuchPath"))
      #expect(try await house.ask(name).status == 200)
      await house.inspector.close()
    }

    /// A file that is not here, not whole, or a link to another is not sent; neither is one that is too long.
    @Test func aFileThatIsNotHereIsMissing() async throws {
      let house = try await House()
      let hash = String(repeating: "0", count: 64)
      try await house.expect("sha256-\(hash).15.gif", 404, "missing")
      try await house.expect("sha256-\(hash).\(32 << 20).gif", 404, "missing")
      try await house.expect("sha256-\(hash).\((32 << 20) + 1).gif", 413, "tooLong")
      try await house.expect("sha256-\(hash).15.gif", store: 1, 422, "inMemory")
      let name = try house.store.assets.add(Self.gif, type: "gif")
      let file = try house.file(of: name)
      try Self.gif.dropLast().write(to: file)
      try await house.expect(name.text, 404, "missing")
      let other = house.url.appendingPathComponent("other.gif")
      try Self.gif.write(to: other)
      try FileManager.default.removeItem(at: file)
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
      try await house.expect(name.text, 404, "missing")
      await house.inspector.close()
    }

    @Test func aFileThatIsDamagedIsNotSent() async throws {
      let house = try await House()
      let name = try house.store.assets.add(Self.gif, type: "gif")
      var bytes = Self.gif
      bytes[bytes.count - 1] ^= 1
      try bytes.write(to: try house.file(of: name))
      try await house.expect(name.text, 422, "wrongContent")
      await house.inspector.close()
    }

    /// One is read at a time, and a page that asks for many gets them all.
    @Test func manyPicturesAreAllSent() async throws {
      let house = try await House()
      let (client, cookie) = (house.client, house.cookie)
      let names = try (0..<8).map { try house.store.assets.add(Self.gif + Data("\($0)".utf8), type: "gif").text }
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for name in names {
          group.addTask { try await client.get("/api/asset?name=\(name)", cookie: cookie).status }
        }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 8))
      await house.inspector.close()
    }

    @Test func aRecordSaysWhetherItsFileIsHere() async throws {
      let house = try await House()
      let (gif, page) = (
        try house.store.assets.add(Self.gif, type: "gif"), try house.store.assets.add(Data("<p>".utf8), type: "html")
      )
      try await house.store.write { db in
        for (key, name) in [("gif", gif), ("page", page)] {
          try db.execute(sql: "INSERT INTO Book(id, cover) VALUES(?, ?)", arguments: ["Book|~|\(key)", name])
        }
        try db.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|none', 'Emma')")
      }
      func record(_ key: String) async throws -> String {
        try await house.client.get("/api/record?name=Book%7C~%7C\(key)", cookie: house.cookie).body
      }
      #expect(try await record("gif").contains("\"file\":{\"bytes\":15,\"isHere\":true,\"isPicture\":true}"))
      #expect(try await record("page").contains("\"file\":{\"bytes\":3,\"isHere\":true,\"isPicture\":false}"))
      #expect(try await !record("none").contains("\"file\""))
      try FileManager.default.removeItem(at: try house.file(of: gif))
      #expect(try await record("gif").contains("\"file\":{\"bytes\":15,\"isHere\":false,\"isPicture\":true}"))
      await house.inspector.close()
    }
  }
#endif
