#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayProtocol
  import TallySync
  import Testing

  /// Entries that are removed and put again while they are read: no download has parts of two, and relays of several
  /// versions keep none from its end.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct ReplacedEntryTests {
    private let token = "tally1_" + String(repeating: "A", count: 43)

    private func mailbox(_ server: ScriptedServer) throws -> RelayMailbox {
      var settings = RelayClient.Settings()
      settings.sleep = { _ in }
      return try RelayMailbox("\(server.base)/s/abc", token: token, settings)
    }

    /// An entry of the same size that takes the place of another between two parts, and one that is shorter.
    @Test(arguments: [false, true]) func partsOfTwoEntriesAreNotMixed(isShorter: Bool) async throws {
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          let first = Int(request.head.components(separatedBy: "bytes=")[1].prefix { $0.isNumber }) ?? 0
          if isShorter, first > 0 {
            client.send(
              "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */5\r\nContent-Length: 0\r\n\r\n")
          } else {
            client.send(
              "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(first + 9)/20\r\n"
                + "ETag: \"\(first).a\"\r\nContent-Length: 10\r\n\r\n0123456789")
          }
        }
      }
      defer { server.stop() }
      let read = Mutex(0)
      let error = await #expect(throws: RelayError.self) {
        for try await piece in try await mailbox(server).get("a", from: 0) { read.withLock { $0 += piece.count } }
      }
      #expect(error?.code == .damaged)
      #expect(read.withLock { $0 } == 10)
    }

    /// Relays of two versions answer in turn, of which the older one has the name alone as the tag, and a proxy weakens
    /// tags. All have one entry.
    @Test(arguments: [["\"7.a\"", "\"a\""], ["\"a\"", "\"7.a\""], ["W/\"7.a\"", "\"7.a\""], ["", "\"7.a\""]])
    func relaysOfTwoVersionsAreOneRelay(_ tags: [String]) async throws {
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          let first = Int(request.head.components(separatedBy: "bytes=")[1].prefix { $0.isNumber }) ?? 0
          let tag = tags[first / 10 % 2]
          client.send(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(first + 9)/40\r\n"
              + (tag.isEmpty ? "" : "ETag: \(tag)\r\n") + "Content-Length: 10\r\n\r\n0123456789")
        }
      }
      defer { server.stop() }
      var count = 0
      for try await piece in try await mailbox(server).get("a", from: 0) { count += piece.count }
      #expect(count == 40)
    }

    /// Nor if the older relay stands between two answers that know which entry they are of.
    @Test func anOlderRelayBetweenTwoAnswersHidesNoOtherEntry() async throws {
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          let first = Int(request.head.components(separatedBy: "bytes=")[1].prefix { $0.isNumber }) ?? 0
          let tag = ["\"7.a\"", "\"a\"", "\"8.a\""][min(2, first / 10)]
          client.send(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(first + 9)/40\r\n"
              + "ETag: \(tag)\r\nContent-Length: 10\r\n\r\n0123456789")
        }
      }
      defer { server.stop() }
      let read = Mutex(0)
      let error = await #expect(throws: RelayError.self) {
        for try await piece in try await mailbox(server).get("a", from: 0) { read.withLock { $0 += piece.count } }
      }
      #expect(error?.code == .damaged && read.withLock { $0 } == 20)
    }

    /// A download that broke off goes on where it was, and still knows of which entry its bytes are.
    @Test(arguments: [false, true]) func aResumedDownloadKnowsItsEntry(isReplaced: Bool) async throws {
      let requests = Mutex(0)
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          let first = Int(request.head.components(separatedBy: "bytes=")[1].prefix { $0.isNumber }) ?? 0
          let number = requests.withLock { count in
            count += 1
            return count
          }
          // The second answer never comes.
          guard number != 2 else { return }
          client.send(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(first + 9)/20\r\n"
              + "ETag: \"\(isReplaced && number > 2 ? 8 : 7).a\"\r\nContent-Length: 10\r\n\r\n0123456789")
        }
      }
      defer { server.stop() }
      let pieces = try await mailbox(server).get("a", from: 0)
      var iterator = pieces.makeAsyncIterator()
      #expect(iterator is any ResumablePieces)
      #expect(try await iterator.next()?.count == 10)
      var last: [UInt8]?
      var errors: [RelayError.Code] = []
      for _ in 0..<3 where last == nil {
        do { last = try await iterator.next() } catch let error as RelayError { errors.append(error.code) }
      }
      #expect(isReplaced ? last == nil && errors.last == .damaged : last?.count == 10)
    }
  }
#endif
