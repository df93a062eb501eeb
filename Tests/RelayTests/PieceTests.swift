#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyWire
  import Testing

  /// The pieces of an upload, and of a download.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct PieceTests {
    private func send(
      _ piece: [UInt8], at offset: Int, of length: Int, _ name: String, _ token: RelayStore.NewToken, _ port: Int
    ) async throws -> RawHTTP.Answer {
      let fields = [
        "Authorization": "Bearer \(token.token)", "Content-Digest": RelayDigest.field(SHA256.hash(piece)),
        "Upload-Offset": "\(offset)", "Upload-Length": "\(length)",
      ]
      return try await RawHTTP.send("PATCH", "/v1/spaces/\(token.space)/uploads/\(name)", fields, piece, port: port)
    }

    /// What a relay stores beside each piece does not count for the quota, so pieces are not as small as one likes.
    @Test(arguments: StorageKind.available) func smallPiecesAreRefused(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token(quota: 1 << 20)
        for number in 0..<10 {
          let answer = try await send([1], at: 0, of: 100, "name-\(number)", token, relay.port)
          #expect(answer.status == 400 && answer.problem == "badRequest" && answer.text.contains("4096"))
        }
        #expect(try await relay.mailbox(token).status().bytes == 0)
        let least = [UInt8](repeating: 1, count: RelayLimits.pieceBytes)
        let less = Array(least.dropLast())
        #expect(try await send(less, at: 0, of: 4_097, "a", token, relay.port).status == 400)
        #expect(try await send(least, at: 0, of: 4_097, "a", token, relay.port).status == 204)
        // An empty one asks where the relay stands.
        let question = try await send([], at: 0, of: 4_097, "a", token, relay.port)
        #expect(question.status == 409 && question.field("upload-offset") == "4096")
        #expect(try await send([1], at: 4_096, of: 4_097, "a", token, relay.port).status == 201)
        #expect(try await send([1], at: 0, of: 1, "b", token, relay.port).status == 201)
        #expect(try await relay.mailbox(token).status().entries == 2)
      }
    }

    /// An entry is removed and put again with other bytes while it is read: no reader gets a part of each.
    @Test(arguments: StorageKind.available) func aDownloadHasOneContent(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        let (old, new) = ([UInt8](repeating: 1, count: 2 << 20), [UInt8](repeating: 2, count: 2 << 20))
        _ = try await mailbox.put(MailboxUpload(name: "a", bytes: old))
        let read = Mutex([UInt8]())
        let error = await #expect(throws: (any Error).self) {
          for try await piece in try await mailbox.get("a", from: 0) {
            read.withLock { $0 += piece }
            guard read.withLock({ $0.count }) == piece.count else { continue }
            try await mailbox.remove(["a"])
            _ = try await mailbox.put(MailboxUpload(name: "a", bytes: new))
          }
        }
        // It asks for the rest before the entry is put again, or after that.
        let (isGone, isOther) = (
          (error as? MailboxError)?.code == .noSuchFile, (error as? RelayError)?.code == .damaged
        )
        #expect(isGone || isOther, "\(error as Any)")
        let part = read.withLock { $0 }
        #expect(part.count < old.count && part.allSatisfy { $0 == 1 })
        var again: [UInt8] = []
        for try await piece in try await mailbox.get("a", from: 0) { again += piece }
        #expect(again == new)
      }
    }

    /// A download ends with its token, however slowly it goes.
    @Test func aDownloadEndsWithItsToken() async throws {
      try await RelayFixture.run {
        $0.limits.tokenPause = .milliseconds(50)
      } _: { relay in
        let (writer, size) = (try await relay.token(), 64 << 20)
        let space = try #require(try await relay.store.bearer(writer.token)).space
        let piece = [UInt8](repeating: 7, count: 4 << 20)
        for offset in stride(from: 0, to: size, by: piece.count) {
          _ = try await relay.store.put(piece: piece, at: offset, of: size, "large", in: space, after: nil)
        }
        for isRevoked in [false, true] {
          let reader = try await relay.token(writer.space, .reader)
          let request = Array(
            """
            GET /v1/spaces/\(reader.space)/entries/large HTTP/1.1\r\nHost: a\r\n\
            Authorization: Bearer \(reader.token)\r\nConnection: close\r\n\r\n
            """.utf8)
          let peer = try await RawHTTP.onThread { [port = relay.port] in
            let peer = try RawHTTP.connect(port)
            try RawHTTP.sendAll(request, peer)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            guard recv(peer, &buffer, buffer.count, 0) > 0 else { throw RawHTTP.Failure(call: "recv", number: errno) }
            return peer
          }
          defer { close(peer) }
          if isRevoked { try await relay.store.revoke(reader.id) }
          try await Task.sleep(for: .milliseconds(200))
          let rest = try await RawHTTP.onThread {
            var (sum, buffer) = (0, [UInt8](repeating: 0, count: 1 << 16))
            while true {
              let count = recv(peer, &buffer, buffer.count, 0)
              guard count > 0 else { return sum }
              sum += count
            }
          }
          #expect(isRevoked ? rest < size / 2 : rest > size - (1 << 17), "\(rest)")
        }
      }
    }
  }
#endif
