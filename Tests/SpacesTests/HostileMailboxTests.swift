#if Spaces
  import Tally
  import TallySync
  import Testing

  @testable import TallySpaces

  /// What a host can do to a sealed place, and what comes of it: nothing, or a word of it.
  @Suite(.serialized) struct HostileMailboxTests {
    /// Bo is to take in so many items.
    private func scene(_ kind: MailboxKind, items: Int = 1) async throws -> HostileScene {
      let one = try Samples.store()
      try Samples.insertNoise(items, into: one)
      return try await HostileScene(kind, one)
    }

    @Test(arguments: [MailboxKind.log, .folder]) func aChangedBitIsRefused(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let file = try scene.shown
      for index in [0, file.bytes.count / 2, file.bytes.count - 1] {
        scene.place.show { files in
          files.map { shown in
            guard shown.name == file.name else { return shown }
            var bytes = shown.bytes
            bytes[index] ^= 0x10
            return .init(name: shown.name, bytes: bytes)
          }
        }
        _ = try await scene.other.sync(through: scene.second)
        #expect(scene.second.status.refused[file.name] == .malformed)
      }
      try await scene.expectNothing()
    }

    @Test(arguments: [MailboxKind.log, .folder]) func whatIsCutIsRefused(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let file = try scene.shown
      scene.place.show { files in
        files.map { $0.name == file.name ? .init(name: $0.name, bytes: Array($0.bytes.dropLast(1))) : $0 }
      }
      try await scene.expectNothing()
    }

    @Test(arguments: [MailboxKind.log, .folder]) func aFileUnderAnotherNameDoesNotOpen(_ kind: MailboxKind) async throws
    {
      let scene = try await scene(kind)
      let old = try scene.shown
      try Samples.insert("more", into: scene.one)
      try await scene.one.sync(through: scene.first)
      let new = try scene.shown
      #expect(old.name != new.name)
      scene.place.show { files in
        files.map { file in
          file.name == old.name
            ? .init(name: file.name, bytes: new.bytes)
            : file.name == new.name ? .init(name: file.name, bytes: old.bytes) : file
        }
      }
      try await scene.expectNothing()
    }

    @Test(arguments: [MailboxKind.log, .folder]) func aNameThatWasChangedDoesNotOpen(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let file = try scene.shown
      var letters = Array(file.name.utf8)
      letters[60] = letters[60] == UInt8(ascii: "a") ? UInt8(ascii: "b") : UInt8(ascii: "a")
      let other = String(decoding: letters, as: UTF8.self)
      scene.place.show { files in
        files.map { $0.name == file.name ? .init(name: other, bytes: $0.bytes) : $0 }
      }
      try await scene.expectNothing(.malformed, other)
    }

    @Test(arguments: [MailboxKind.log, .folder]) func filesOfAnotherSpaceAreNothing(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let stranger = try await self.scene(kind)
      let strange = stranger.place.truth
      scene.place.show { _ in strange }
      try await scene.expectNothing(nil)
      #expect(scene.second.status.waitsForKey == 0)
    }

    /// Pieces of a file are in their order, each of that file, up to its end; also for a host that has the key, with a
    /// device that was removed.
    @Test(arguments: [MailboxKind.log, .folder]) func aPieceThatWasChangedWithTheKeyIsFound(_ kind: MailboxKind)
      async throws
    {
      let scene = try await scene(kind, items: 600)
      let (shown, file) = (try scene.shown, try scene.file)
      #expect(file.pieces.pieceCount > 2)
      // The middle piece is sealed anew, with another content.
      let range = file.pieces.sealedRange(ofPiece: 1)
      var plain = try #require(file.pieces.open(shown.bytes[range], piece: 1))
      plain[1_000] ^= 1
      let forged = try file.pieces.seal(plain, piece: 1)
      scene.place.show { files in
        files.map { file in
          guard file.name == shown.name else { return file }
          var bytes = file.bytes
          bytes.replaceSubrange(range, with: forged)
          return .init(name: file.name, bytes: bytes)
        }
      }
      let download = Task {
        var content: [UInt8] = []
        for try await piece in try await scene.second.get(file.entry.name.text, from: 0) { content += piece }
        return content.count
      }
      await #expect(throws: MailboxError.self) { try await download.value }
      try await scene.expectNothing(nil)
    }

    @Test(arguments: [MailboxKind.log, .folder]) func piecesInAnotherOrderAreRefused(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind, items: 600)
      let file = try scene.shown
      let size = SealedPieces.sealedPieceBytes
      scene.place.show { files in
        files.map { shown in
          guard shown.name == file.name else { return shown }
          var bytes = shown.bytes
          let (one, two) = (Array(bytes[size..<2 * size]), Array(bytes[2 * size..<min(bytes.count, 3 * size)]))
          if one.count == two.count {
            bytes.replaceSubrange(size..<3 * size, with: two + one)
          } else {
            bytes[size] ^= 1
          }
          return .init(name: shown.name, bytes: bytes)
        }
      }
      try await scene.expectNothing(nil)
    }

    @Test(arguments: [MailboxKind.log, .folder]) func fewerFilesAreOnlyADelay(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      scene.place.show { files in files.filter { $0.name.hasSuffix(".m") } }
      try await scene.expectNothing(nil)
    }

    /// Without the record of a key its files wait, and say so.
    @Test(arguments: [MailboxKind.log, .folder]) func aRecordThatIsHeldBackIsWaitedFor(_ kind: MailboxKind) async throws
    {
      let scene = try await scene(kind)
      scene.place.show { files in files.filter { $0.name.hasSuffix(".s") } }
      _ = try await scene.other.sync(through: scene.second)
      #expect(scene.second.status.waitsForKey > 0)
      try await scene.expectNothing(nil)
      #expect(scene.second.status.waitsForKey == 0)
    }

    @Test(arguments: [MailboxKind.log, .folder]) func aRecordThatWasChangedIsRefused(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let known = Set(scene.bo.space.recordNames.keys.map { $0.text(tag: scene.bo.space.tag) })
      let record = try #require(scene.place.truth.first { $0.name.hasSuffix(".m") && !known.contains($0.name) })
      scene.place.show { files in
        files.map { file in
          file.name == record.name
            ? .init(name: file.name, bytes: file.bytes.map { $0 ^ 1 }) : file
        }
      }
      try await scene.expectNothing(.malformed, record.name)
    }

    /// A host that goes back shows what it had; everything is put again.
    @Test(arguments: [MailboxKind.log, .folder]) func aPlaceThatWasSetBackIsFilledAgain(_ kind: MailboxKind)
      async throws
    {
      let scene = try await scene(kind)
      let names = scene.place.truth.map(\.name)
      try await scene.place.remove(names)
      scene.place.show { $0 }
      for _ in 0..<2 {
        try await scene.one.sync(through: scene.first)
        try await scene.other.sync(through: scene.second)
      }
      #expect(try Samples.names(scene.other) == Samples.names(scene.one))
      #expect(Set(scene.place.truth.map(\.name)).isSuperset(of: names.filter { $0.hasSuffix(".m") }))
    }

    /// The key alone signs nothing.
    @Test(arguments: [MailboxKind.log, .folder]) func aFileOfAStrangerWithTheKeyIsRefused(_ kind: MailboxKind)
      async throws
    {
      let scene = try await scene(kind)
      let (shown, file) = (try scene.shown, try scene.file)
      let opened = try file.open(first: shown.bytes, members: scene.ann.space.view.members)
      let stranger = MemberKeys()
      // In Ann's name, and in its own.
      for (device, code) in [
        (scene.ann.id, SpaceError.Code.wrongSignature),
        (MemberID(stranger.publicKeys, in: scene.fixture.space), .sealerNotPresent),
      ] {
        let seal = try SealedFile.seal(
          file.entry, file.key, first: opened.first, whole: opened.whole, by: device, stranger)
        let forged = try file.sealed(0, seal, whole: opened.whole) { Array(opened.first[$0]) }
        scene.place.show { files in
          files.map { $0.name == shown.name ? .init(name: $0.name, bytes: forged) : $0 }
        }
        _ = try await scene.other.sync(through: scene.second)
        #expect(scene.second.status.refused[shown.name] == code)
      }
      try await scene.expectNothing(nil)
    }
  }

  extension HostileScene {
    /// Bo's store takes in nothing, and its own space is as it was; afterwards the host is honest, and all is well.
    fileprivate func expectNothing(_ code: SpaceError.Code? = .malformed, _ name: String? = nil) async throws {
      let members = bo.space.membership
      _ = try await other.sync(through: second)
      #expect(try Samples.names(other).isEmpty && bo.space.membership.present == members.present)
      if let code { #expect(second.status.refused[try name ?? shown.name] == code) }
      place.show { $0 }
      for _ in 0..<2 {
        try await other.sync(through: second)
        try await one.sync(through: first)
      }
      #expect(try Samples.names(other) == Samples.names(one) && !Samples.names(one).isEmpty)
      #expect(second.status.refused.isEmpty)
    }
  }
#endif
