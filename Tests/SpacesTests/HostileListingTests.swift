#if Spaces
  import Synchronization
  import Tally
  import TallyCRDT
  import TallySync
  import Testing

  @testable import TallySpaces

  /// What a host can list, and what devices that are out can do with the keys that they had.
  @Suite(.serialized) struct HostileListingTests {
    /// Bo has taken in what Ann has put.
    private func scene(_ kind: MailboxKind) async throws -> HostileScene {
      let scene = try await HostileScene(kind, Samples.store("one"))
      try await scene.other.sync(through: scene.second)
      return scene
    }

    /// The key in use is enough for a name. If it counted, a device would take its own transactions for put.
    @Test(arguments: [MailboxItem.State.notDownloaded, .notAFile])
    func aNameAloneIsNotListed(_ state: MailboxItem.State) async throws {
      let scene = try await scene(.folder)
      let own = try scene.file.entry.name
      let forged = try scene.name(
        MailboxFileName(replica: own.replica, sequence: SealedEntry.largest, check: 1, kind: .delta))
      scene.place.show { $0 + [.init(name: forged, bytes: [], state: state)] }
      try Samples.insert("more", into: scene.one)
      #expect(try await scene.one.sync(through: scene.first).written.count == 1)
      #expect(try scene.one.summary().replica == own.replica)
      #expect(scene.first.status.notDownloaded == (state == .notDownloaded ? 1 : 0))
      #expect(scene.first.status.refused[forged] == (state == .notAFile ? .malformed : nil))
      try await scene.meet()
      #expect(try Samples.names(scene.other) == ["more", "one"])
    }

    /// A drive that has taken a file back from this device has it nevertheless.
    @Test func aFileThatWasVerifiedAndIsElsewhereIsListed() async throws {
      let scene = try await scene(.folder)
      try await scene.meet()
      let (name, file) = (try scene.shown.name, try scene.file)
      scene.place.show { files in
        files.map { $0.name == name ? .init(name: name, bytes: [], state: .notDownloaded) : $0 }
      }
      #expect(try await scene.one.sync(through: scene.first).written.isEmpty)
      let items = try await scene.first.changes(after: nil).items
      #expect(items.contains { $0.name == file.entry.name.text && $0.state == .notDownloaded })
      #expect(scene.first.status.notDownloaded == 0)
    }

    @Test(arguments: [MailboxKind.log, .folder])
    func aNameOfALaterVersionIsToldAndNotListed(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      scene.place.show { $0 + [.init(name: "tally3-00000000-x-y.s", bytes: [1])] }
      let report = try await scene.one.sync(through: scene.first)
      #expect(report.refused.isEmpty && scene.first.status.refused["tally3-00000000-x-y.s"] == .newerVersion)
    }

    /// A record of another version that no member has signed is refused like any other.
    @Test(arguments: [MailboxKind.log, .folder])
    func aRecordOfALaterVersionByAStrangerStopsNothing(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let word = try SignedRecord(
        .name(member: nil, "x"), in: scene.fixture.space, by: scene.ann.id, after: scene.ann.space.membership.heads,
        keys: scene.ann.keys)
      let forged = try SignedRecord([2] + word.bytes.dropFirst())
      let log = SpaceLog(key: scene.fixture.logKey)
      let file = HostileMailbox.File(
        name: log.name(forged.record.id).text(tag: log.tag), bytes: try log.seal(forged))
      scene.place.show { $0 + [file] }
      try Samples.insert("more", into: scene.one)
      #expect(try await scene.one.sync(through: scene.first).written.count == 1)
      #expect(scene.first.status.refused[file.name] == .wrongSignature)
    }

    // MARK: Records that a place loses

    @Test(arguments: [MailboxKind.log, .folder])
    func aRecordThatWasCutIsPutAgain(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let record = try #require(scene.place.truth.first { $0.name.hasSuffix(".m") })
      scene.place.damage(record.name) { Array($0.dropLast(1)) }
      try await scene.meet()
      #expect(scene.place.truth.first { $0.name == record.name }?.bytes == record.bytes)
    }

    @Test func aRecordThatWasChangedIsPutAgain() async throws {
      let scene = try await scene(.folder)
      let record = try #require(scene.place.truth.first { $0.name.hasSuffix(".m") })
      scene.place.damage(record.name) { $0.map { $0 ^ 1 } }
      try await scene.meet()
      #expect(scene.place.truth.first { $0.name == record.name }?.bytes == record.bytes)
      // A link or a placeholder in its place is no record either.
      for state in [MailboxItem.State.notAFile, .notDownloaded] {
        let news = try scene.ann.space.say(.name(member: nil, "\(state)"))
        let log = SpaceLog(key: scene.fixture.logKey)
        let name = log.name(news.record.id).text(tag: log.tag)
        scene.place.show { $0.filter { $0.name != name } + [.init(name: name, bytes: [], state: state)] }
        try await scene.one.sync(through: scene.first)
        #expect(scene.place.truth.contains { $0.name == name })
      }
    }

    // MARK: Room

    /// No more of what was not opened is in memory than some megabytes.
    @Test func recordsAreOpenedWhileOthersAreRead() async throws {
      let scene = try await scene(.folder)
      let tag = scene.ann.space.tag
      let junk = (0..<6).map { number in
        HostileMailbox.File(
          name: SealedName(key: nil, bytes: [UInt8](repeating: UInt8(number), count: 20)).text(tag: tag),
          bytes: [UInt8](repeating: 0, count: 1 << 20))
      }
      scene.place.show { $0 + junk }
      let seen = Mutex(0)
      let (first, names) = (scene.first, Set(junk.map(\.name)))
      scene.place.hooks.onGet = { name in
        if names.contains(name) { seen.withLock { $0 = first.status.refused.count } }
      }
      try await scene.one.sync(through: first)
      #expect(seen.withLock { $0 } >= 4 && first.status.refused.count == 6)
    }

    /// Nor are the beginnings of all files.
    @Test func filesAreVerifiedWhileOthersAreRead() async throws {
      let scene = try await scene(.folder)
      for number in 1...20 {
        _ = try await scene.first.put(scene.upload(UInt64(number), [UInt8](repeating: UInt8(number), count: 66_000)))
      }
      let noted = Mutex(0)
      let records = scene.bo.records
      let before = records.all.keys.count { $0.hasPrefix("file ") }
      scene.place.hooks.onGet = { _ in noted.withLock { $0 = records.all.keys.count { $0.hasPrefix("file ") } } }
      _ = try await scene.second.changes(after: nil)
      #expect(noted.withLock { $0 } >= before + 10)
    }

    /// What is gone is forgotten, and there is one signature of an upload at a time.
    @Test func notesDoNotGrowForEver() async throws {
      let scene = try await scene(.folder)
      for number in 1...8 { _ = try await scene.first.put(scene.upload(UInt64(number), [UInt8(number)])) }
      _ = try await scene.second.changes(after: nil)
      let count = { scene.bo.records.all.keys.count { $0.hasPrefix("file ") } }
      #expect(count() == 9)
      try await scene.place.remove(scene.place.truth.map(\.name).filter { $0.hasSuffix(".s") })
      _ = try await scene.second.changes(after: nil)
      #expect(count() == 0)
      scene.place.hooks.onPut = { if $0.hasSuffix(".s") { throw MailboxError(.unwritable, "full") } }
      for number in 11...15 {
        await #expect(throws: MailboxError.self) {
          _ = try await scene.second.put(scene.upload(UInt64(number), [UInt8(number)]))
        }
      }
      #expect(scene.bo.records.all.keys.count { $0.hasPrefix("seal ") } == 1)
    }

    // MARK: Nonces

    /// A name stands for one content and one signature, also where signatures are drawn at random: a host that keeps
    /// everything never has two bodies under one nonce.
    @Test(arguments: [MailboxKind.log, .folder]) func aNameHasOneContent(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let upload = scene.upload(1, [1, 2, 3])
      _ = try await scene.first.put(upload)
      let name = try scene.shown.name
      try await scene.place.remove([name])
      // Another upload takes the place of the signature that was noted.
      _ = try await scene.first.put(scene.upload(2, [4]))
      _ = try await scene.first.put(upload)
      let bodies = Dictionary(grouping: scene.place.history, by: \.name).mapValues { Set($0.map(\.bytes)).count }
      #expect(bodies.values.allSatisfy { $0 == 1 })
    }

    @Test func aNameIsMadeWithTheSignature() async throws {
      let scene = try await scene(.folder)
      let (file, members) = (try scene.file, scene.ann.space.view.members)
      let opened = try file.open(first: scene.shown.bytes, members: members)
      let seal = try SealedFile.seal(
        file.entry, file.key, first: opened.first, whole: opened.whole, by: scene.ann.id, scene.ann.keys)
      let name2 = { (signature: [UInt8]) in
        try SealedName(
          file.entry, content: opened.whole, by: scene.ann.id, signature: signature, key: file.key)
      }
      let foreign = try name2([UInt8](repeating: 9, count: 64))
      #expect(try name2(seal.signature) != foreign)
      // Its content under the other name, with a right signature.
      let other = SealedFile(foreign, file.entry, file.key)
      let body = try other.sealed(0, seal, whole: opened.whole) { Array(opened.first[$0]) }
      #expect { try other.open(first: body, members: members) } throws: { ($0 as? SpaceError)?.code == .malformed }
    }

    // MARK: At once

    /// A removal that comes while records are put: the file is sealed with a key from after it, whose record is there.
    @Test(arguments: [MailboxKind.log, .folder])
    func aKeyIsTakenWhenItsRecordsAreThere(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let old = try scene.key.id
      try scene.ann.space.say(.name(member: nil, "Us"))
      let (space, bo) = (scene.ann.space, scene.bo.id)
      let isDone = Mutex(false)
      scene.place.hooks.onPut = { name in
        let isFirst = isDone.withLock { done in
          defer { done = true }
          return !done
        }
        if isFirst, name.hasSuffix(".m") { try space.say(.remove(.init(devices: [bo]))) }
      }
      _ = try await scene.first.put(scene.upload(1, [1]))
      let file = try scene.file
      #expect(file.key.id != old && file.key.id == scene.ann.space.view.keyInUse)
      let there = Set(scene.place.truth.map(\.name))
      #expect(scene.ann.space.recordNames.keys.allSatisfy { there.contains($0.text(tag: space.tag)) })
    }

    @Test(arguments: [MailboxKind.log, .folder])
    func twoCallsForNewsGoOneAfterTheOther(_ kind: MailboxKind) async throws {
      let scene = try await scene(kind)
      let second = scene.second
      let counts = try await withThrowingTaskGroup(of: Int.self) { group -> [Int] in
        for _ in 0..<8 { group.addTask { try await second.changes(after: nil).items.count } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(counts == Array(repeating: 1, count: 8) && scene.place.mostCallers == 1)
    }

    @Test func aCallThatIsCancelledKeepsNoOtherWaiting() async throws {
      let turn = SealedTurn()
      let (stream, end) = AsyncStream.makeStream(of: Never.self)
      let first = Task { try await turn.run { for await _ in stream {} } }
      while !turn.isTaken { await Task.yield() }
      let waiting = Task { try await turn.run {} }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      end.finish()
      try await first.value
      try await turn.run {}
    }

    /// Four bytes could be met by trying names until a cursor fits other members.
    @Test func aCursorTellsMembersAndKeysBySixteenBytes() async throws {
      let scene = try await scene(.log)
      let cursor = try #require(try await scene.first.changes(after: nil).cursor)
      #expect(cursor.entry.split(separator: "~").last?.count == 32)
      try scene.ann.space.say(.remove(.init(devices: [scene.bo.id])))
      #expect(try await scene.first.changes(after: cursor).isListing)
    }
  }

  extension HostileScene {
    fileprivate func meet() async throws {
      try await one.sync(through: first)
      try await other.sync(through: second)
    }

    fileprivate var key: SpaceKey {
      get throws {
        let view = ann.space.view
        return try #require(view.keys.first { $0.id == view.keyInUse })
      }
    }

    /// A name under the key in use, of a file that does not exist.
    fileprivate func name(_ inner: MailboxFileName) throws -> String {
      let entry = try #require(SealedEntry(inner, byteCount: 100))
      let signature = [UInt8](repeating: 0, count: 64)
      return try SealedName(
        entry, content: SpaceCrypto.digest([1]), by: bo.id, signature: signature, key: try key
      ).text(tag: ann.space.tag)
    }

    /// An upload that is none of a store's.
    fileprivate func upload(_ number: UInt64, _ bytes: [UInt8]) -> MailboxUpload {
      let name = MailboxFileName(
        replica: ReplicaID(high: 1, low: 2), sequence: number, check: number, kind: .delta)
      return MailboxUpload(name: name.text, bytes: bytes)
    }
  }
#endif
