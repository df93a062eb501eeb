#if Relay
  import Foundation
  import Tally
  import TallyRelay
  import TallyRelayProtocol
  import TallySync
  import Testing

  /// How much of an entry is under way at once, and so has to be sent again if the process is killed.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct PieceSizeTests {
    private static let mebibyte = 1 << 20

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    /// While the caller stores a piece, the next one comes, and no third: together they have a mebibyte. A download
    /// that the caller leaves asks for nothing more.
    @Test func onePieceIsAheadOfItsReader() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let content = bytes(3 * Self.mebibyte)
        _ = try await relay.mailbox(token).put(MailboxUpload(name: "a", bytes: content))
        let proxy = try CutProxy(to: relay.port, .init())
        defer { proxy.close() }
        let mailbox = try RelayMailbox("http://127.0.0.1:\(proxy.port)/s/\(token.space)", token: token.token)
        var read: [UInt8] = []
        for try await piece in try await mailbox.get("a", from: 0) {
          read += piece
          #expect(piece.count == RelayLimits.rangeBytes / 2)
          guard read.count < Self.mebibyte else { break }
          try await Looking.until("the next piece comes", within: .seconds(60)) { proxy.bytesDown > Self.mebibyte }
          try await Task.sleep(for: .milliseconds(300))
          #expect(proxy.bytesDown < Self.mebibyte + 8_192, "two pieces and their heads")
        }
        try await Task.sleep(for: .milliseconds(300))
        #expect(proxy.bytesDown < 3 * Self.mebibyte / 2 + 8_192, "the piece that was ahead is the last")
        for try await piece in try await mailbox.get("a", from: read.count) { read += piece }
        #expect(read == content)
      }
    }

    /// A file goes in pieces of a mebibyte, also one that a single request could have.
    @Test(arguments: [(1 << 20, 1), (7 << 19, 4), (9 << 20, 9)])
    func anUploadThatSaysSoHasSmallPieces(_ size: Int, _ pieces: Int) async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let proxy = try LimitedProxy(to: relay.port, limit: 4 << 20)
        defer { proxy.stop() }
        let mailbox = try RelayMailbox("http://127.0.0.1:\(proxy.port)/s/\(token.space)", token: token.token)
        let content = bytes(size)
        var upload = MailboxUpload(name: "a", bytes: content)
        upload.largestPiece = Self.mebibyte
        _ = try await mailbox.put(upload)
        let taken = proxy.taken.filter { $0 > 0 }
        #expect(taken.count == pieces && taken.reduce(0, +) == size && taken.allSatisfy { $0 <= Self.mebibyte })
        var read: [UInt8] = []
        for try await piece in try await mailbox.get("a", from: 0) { read += piece }
        #expect(read == content)
      }
    }
  }
#endif
