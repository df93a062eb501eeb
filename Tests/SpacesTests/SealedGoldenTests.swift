#if Spaces
  import Foundation
  import TallyCRDT
  import TallySync
  import Testing

  @testable import TallySpaces

  /// The bytes, as another implementation of the ciphers writes them: Golden/sealed.py.
  @Suite struct SealedGoldenTests {
    private struct Golden: Decodable {
      struct Record: Decodable { var record, name, content: String }
      struct File: Decodable {
        var name, inner, content, body: String
        var count: Int
        var bytes: String?
      }
      var space, device: String
      var genesis: Record
      var files: [File]
    }

    private let golden: Golden
    private let recovery: MemberKeys
    private let device: MemberKeys

    init() throws {
      let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden/sealed.json")
      golden = try JSONDecoder().decode(Golden.self, from: Data(contentsOf: url))
      let bytes = { (value: UInt8) in [UInt8](repeating: value, count: 32) }
      recovery = try MemberKeys(signing: bytes(1), sealing: bytes(2))
      device = try MemberKeys(signing: bytes(3), sealing: bytes(4))
    }

    private func noise(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 251) } }

    @Test func idsAreThoseOfTheKeys() {
      let space = SpaceID.space(of: recovery.publicKeys.signing)
      #expect("\(space)" == golden.space && "\(MemberID(device.publicKeys, in: space))" == golden.device)
    }

    @Test func aRecordIsReadAndSealedAsTheOtherDoes() throws {
      let space = SpaceID.space(of: recovery.publicKeys.signing)
      let bytes = try #require(Hexadecimal.bytes(golden.genesis.record))
      let record = try SignedRecord(bytes)
      var set = SpaceRecordSet(space: space)
      #expect(set.add([record]).refused.isEmpty && set.records.count == 1)
      guard case .genesis(let genesis) = record.record.operation else { throw SpaceError(.malformed, "no genesis") }
      #expect(genesis.name == "Family" && genesis.suite == 1 && genesis.recovery == recovery.publicKeys)
      let log = SpaceLog(key: [UInt8](repeating: 5, count: 32))
      #expect(log.name(record.record.id).text(tag: log.tag) == golden.genesis.name)
      #expect(Hexadecimal.text(try log.seal(record)) == golden.genesis.content)
    }

    @Test func filesAreSealedAndOpenedAsTheOtherDoes() throws {
      let space = SpaceID.space(of: recovery.publicKeys.signing)
      let id = MemberID(device.publicKeys, in: space)
      let key = try #require(SpaceKey([UInt8](repeating: 6, count: 32), space: space))
      let tag = SpaceLog(key: [UInt8](repeating: 5, count: 32)).tag
      #expect(golden.files.count == 9)
      for golden in golden.files {
        let content = noise(golden.count)
        let whole = SpaceCrypto.digest(content)
        #expect(Hexadecimal.text(whole.bytes) == golden.content)
        guard case .file(let inner) = MailboxFileName.parse(golden.inner) else {
          throw SpaceError(.malformed, "a name")
        }
        let entry = try #require(SealedEntry(inner, byteCount: content.count))
        let seal = try SealedFile.seal(
          entry, key, first: Array(content[SealedFile.firstContent(of: entry)]), whole: whole, by: id, device)
        let name = try SealedName(entry, content: whole, by: id, signature: seal.signature, key: key)
        #expect(golden.name.utf8.count == 131)
        // CryptoKit draws its signatures, so only what was made with this one is compared.
        #if os(Linux)
          #expect(name.text(tag: tag) == golden.name)
          #expect(SealedName.parse(golden.name, tag: tag) == .file(name) && name.entry(key) == entry)
          let file = SealedFile(name, entry, key)
          #expect(file.content(ofPiece: 0) == SealedFile.firstContent(of: entry))
          let body = try (0..<file.pieces.pieceCount).flatMap { piece in
            try file.sealed(piece, seal, whole: whole) { Array(content[$0]) }
          }
          #expect(Hexadecimal.text(SpaceCrypto.digest(body).bytes) == golden.body, "\(golden.count) bytes")
        #endif
        guard let text = golden.bytes, let bytes = Hexadecimal.bytes(text),
          case .file(let other) = SealedName.parse(golden.name, tag: tag)
        else { continue }
        let opened = try #require(SealedFile(other, key))
          .open(first: bytes, members: [id: device.publicKeys.signing])
        #expect(opened.first == content && opened.device == id)
      }
    }
  }
#endif
