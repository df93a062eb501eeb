#if Spaces
  import Tally
  import TallySync
  import TallyTesting
  import Testing

  @testable import TallySpaces

  /// Stores that sync through sealed places, while members come and go.
  @Suite(.serialized) struct SealedPassTests {
    private static let places: [@Sendable () -> any Mailbox] = [
      { MemoryMailbox() }, { MemoryLog(pageSize: 3) }, { MemoryLog(inlineBytes: 1 << 16) },
    ]

    /// Everything that a place holds.
    private func held(_ place: any Mailbox) async throws -> [UInt8] {
      var (bytes, cursor): ([UInt8], MailboxCursor?) = ([], nil)
      while true {
        let page = try await place.changes(after: cursor)
        for item in page.items {
          bytes += Array(item.name.utf8)
          for try await piece in try await place.get(item.name, from: 0) { bytes += piece }
        }
        guard page.hasMore else { return bytes }
        cursor = page.cursor
      }
    }

    @Test(arguments: 0..<3) func storesMeetAndTheHostSeesNothing(_ kind: Int) async throws {
      let (fixture, place) = (try SpaceFixture(), Self.places[kind]())
      let ann = try fixture.device("canary Ann")
      let bo = try fixture.device("canary Bo", knowing: ann)
      let (one, other) = (try Samples.store("canary milk"), try Samples.store("canary bread"))
      let (first, second) = (try ann.sealed(place), try bo.sealed(place))
      for _ in 0..<2 {
        try await one.sync(through: first)
        try await other.sync(through: second)
      }
      #expect(try Samples.names(one) == ["canary bread", "canary milk"])
      #expect(try Samples.names(other) == ["canary bread", "canary milk"])
      let bytes = try await held(place)
      for word in ["canary", "tally1", "Item", "Family"] {
        #expect(bytes.firstRange(of: Array(word.utf8)) == nil, "a host sees \(word)")
      }
      #expect(first.status == SealedMailbox.Status() && second.status == SealedMailbox.Status())
    }

    @Test(arguments: 0..<3) func anotherProcessReadsNothingAgain(_ kind: Int) async throws {
      let (fixture, place) = (try SpaceFixture(), CountingMailbox(Self.places[kind]()))
      let ann = try fixture.device()
      let store = try Samples.store("milk")
      for name in ["a", "b", "c"] {
        try Samples.insert(name, into: store)
        try await store.sync(through: try ann.sealed(place))
      }
      try await store.sync(through: try ann.sealed(place))
      place.reset()
      let report = try await store.sync(
        through: try SealedMailbox(place, of: try fixture.reopened(ann), memory: ann.records))
      #expect(place.bytesRead == 0 && report.written.isEmpty && report.taken.isEmpty)
    }

    /// Records, and what was verified, are in the store; its keys are not.
    @Test func aStoreKeepsWhatIsNoSecret() async throws {
      let (fixture, place, keys) = (try SpaceFixture(), CountingMailbox(MemoryMailbox()), MemberKeys())
      let (store, secrets) = (try Samples.store("milk"), TestMemory())
      let open = {
        let memory = StoreSpaceMemory(store)
        let space = try SealedSpace(
          fixture.space, logKey: fixture.logKey, device: keys, records: memory, secrets: secrets)
        return (space, try SealedMailbox(place, of: space, memory: memory))
      }
      let (space, first) = try open()
      try space.add([
        fixture.genesis,
        try fixture.join(
          keys, by: fixture.genesis.record.id, with: fixture.recovery, after: [fixture.genesis.record.id]),
      ])
      for _ in 0..<2 { try await store.sync(through: first) }
      place.reset()
      let (again, second) = try open()
      #expect(again.membership == space.membership && again.view.keyInUse != nil)
      let report = try await store.sync(through: second)
      #expect(place.bytesRead == 0 && report.written.isEmpty)
      // Nothing that opens a file is among the notes.
      let notes = try StoreSpaceMemory(store).values()
      for key in again.view.keys { #expect(!notes.values.contains { $0.firstRange(of: key.secret) != nil }) }
      #expect(notes.count > 3)
    }

    /// A file of several pieces goes as a whole, and its end cannot be changed by who has its key.
    @Test(arguments: 0..<3) func aLargeFileArrives(_ kind: Int) async throws {
      let (fixture, place) = (try SpaceFixture(), Self.places[kind]())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let (one, other) = (try Store(inMemory: Samples.schema), try Store(inMemory: Samples.schema))
      try Samples.insertNoise(600, into: one)
      try ann.space.add(bo.space.records)
      try await one.sync(through: try ann.sealed(place))
      let report = try await other.sync(through: try bo.sealed(place))
      #expect(report.bytesRead > 3 * SealedPieces.pieceBytes)
      #expect(try Samples.names(other) == Samples.names(one))
    }

    // MARK: Members

    @Test(arguments: 0..<3) func aRemovedDeviceReadsNothingNewAndPutsNothing(_ kind: Int) async throws {
      let (fixture, place) = (try SpaceFixture(), Self.places[kind]())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let (one, other) = (try Samples.store("one"), try Samples.store("other"))
      let (first, second) = (try ann.sealed(place), try bo.sealed(place))
      for _ in 0..<2 {
        try await one.sync(through: first)
        try await other.sync(through: second)
      }
      let before = ann.space.membership.usable
      try ann.space.say(.remove(.init(devices: [bo.id])))
      try Samples.insert("secret", into: one)
      try await one.sync(through: first)
      #expect(ann.space.membership.usable.isDisjoint(with: before) && ann.space.view.keyInUse != nil)
      // It hears of it, puts nothing, and has no key for what is new.
      try Samples.insert("late", into: other)
      await #expect { try await other.sync(through: second) } throws: { ($0 as? SpaceError)?.code == .notPresent }
      #expect(second.status.waitsForKey > 0 && bo.space.view.keyInUse == nil)
      #expect(try Samples.names(other) == ["late", "one", "other"])
      try await one.sync(through: first)
      #expect(try Samples.names(one) == ["one", "other", "secret"])
    }

    /// With the host's help a removed device seals as if it knew nothing.
    @Test(arguments: 0..<3) func whatARemovedDeviceSealsLaterIsNotListed(_ kind: Int) async throws {
      let (fixture, place) = (try SpaceFixture(), Self.places[kind]())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let (one, other) = (try Samples.store("one"), try Samples.store("other"))
      let (first, second) = (try ann.sealed(place), try bo.sealed(place))
      for _ in 0..<2 {
        try await one.sync(through: first)
        try await other.sync(through: second)
      }
      // Bo's device sees an older place, and what it puts there is shown to Ann's.
      let hidden = MemoryMailbox()
      let unaware = try SealedMailbox(hidden, of: bo.space, memory: TestMemory())
      try Samples.insert("forged", into: other)
      try await other.sync(through: unaware)
      try ann.space.say(.remove(.init(devices: [bo.id])))
      for file in hidden.files { _ = try await place.put(MailboxUpload(name: file.name, bytes: file.bytes)) }
      try await one.sync(through: first)
      #expect(try Samples.names(one) == ["one", "other"])
      #expect(first.status.leftBehind[bo.id] ?? 0 > 0)
      // What had been taken before is passed on by who has it.
      let cy = try fixture.device(knowing: ann)
      let third = try Samples.store()
      let sealed = try cy.sealed(place)
      for _ in 0..<2 {
        try await third.sync(through: sealed)
        try await one.sync(through: first)
      }
      #expect(try Samples.names(third) == ["one", "other"])
    }

    /// Every cursor is of a membership, also in a place through which nothing was heard of the change.
    @Test func aRemovalThatCameThroughOnePlaceCountsInAnother() async throws {
      let fixture = try SpaceFixture()
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      try ann.space.add(bo.space.records)
      let (one, other) = (try Samples.store("one"), try Samples.store("other"))
      let (near, far) = (try ann.sealed(MemoryLog(name: "near")), MemoryLog(name: "far"))
      let first = try ann.sealed(far)
      for _ in 0..<2 {
        try await other.sync(through: try bo.sealed(far))
        try await one.sync(through: first)
      }
      #expect(try Samples.names(one) == ["one", "other"])
      try ann.space.say(.remove(.init(devices: [bo.id])))
      try await one.sync(through: near)
      #expect(try await one.sync(through: first).written.count == 1)
      #expect(first.status.leftBehind[bo.id] ?? 0 > 0)
    }

    /// What could not be read is not behind the cursor of another process.
    @Test func whatCouldNotBeReadComesAgain() async throws {
      let (fixture, log) = (try SpaceFixture(), MemoryLog())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      try ann.space.add(bo.space.records)
      let (one, other) = (try Samples.store("one"), try Samples.store())
      try await one.sync(through: try ann.sealed(log))
      try bo.space.add(ann.space.records)
      log.faults.cutAfter = 10
      #expect(try await other.sync(through: try bo.sealed(log)).taken.isEmpty)
      log.faults.cutAfter = nil
      let again = try SealedMailbox(log, of: try fixture.reopened(bo), memory: bo.records)
      try await other.sync(through: again)
      #expect(try Samples.names(other) == ["one"])
    }

    @Test func aRemovalKeepsFiles() async throws {
      let (fixture, place) = (try SpaceFixture(), MemoryMailbox())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let (one, other) = (try Samples.store("one"), try Samples.store("other"))
      try await one.sync(through: try ann.sealed(place))
      try await other.sync(through: try bo.sealed(place))
      let first = try ann.sealed(place)
      try await one.sync(through: first)
      let kept = first.listing.withLock { $0.verified.values.filter { $0.device == bo.id }.map(\.file) }
      #expect(!kept.isEmpty)
      try ann.space.say(.remove(.init(devices: [bo.id], kept: kept)))
      let report = try await one.sync(through: first)
      // Nothing is put again, since all of it counts.
      #expect(report.written.isEmpty && first.status.leftBehind.isEmpty)
    }

    @Test func aNewcomerOpensWhatWasSealedBeforeItCame() async throws {
      let (fixture, place) = (try SpaceFixture(), MemoryMailbox())
      let ann = try fixture.device()
      let one = try Samples.store("one")
      try await one.sync(through: try ann.sealed(place))
      let bo = try fixture.device(knowing: ann)
      let (other, second) = (try Samples.store("other"), try bo.sealed(place))
      try await other.sync(through: second)
      // Its words had opened nothing: somebody who has the key has to see it come.
      #expect(second.status.waitsForKey > 0)
      try await one.sync(through: try ann.sealed(place))
      try await other.sync(through: second)
      try await one.sync(through: try ann.sealed(place))
      #expect(try Samples.names(other) == ["one", "other"] && Samples.names(one) == ["one", "other"])
      #expect(second.status.waitsForKey == 0)
    }

    /// The keys that an invitation gives are open to the device that comes by it, whoever is away.
    @Test func anInvitationGivesKeysWhileTheInviterIsAway() async throws {
      let (fixture, place) = (try SpaceFixture(), MemoryMailbox())
      let (ann, link) = (try fixture.device(), MemberKeys())
      let one = try Samples.store("one")
      let invitation = try ann.space.say(.invite(.init(keys: link.publicKeys, use: .oneDevice)))
      // The key that is made after it is sealed for the invitation as well.
      try await one.sync(through: try ann.sealed(place))
      let (keys, records, secrets) = (MemberKeys(), TestMemory(), TestMemory())
      let space = try SealedSpace(
        fixture.space, logKey: fixture.logKey, device: keys, invitation: link, records: records, secrets: secrets)
      try space.add(ann.space.records)
      try space.add([try fixture.join(keys, by: invitation.record.id, with: link, after: space.membership.heads)])
      let bo = SpaceFixture.Device(space: space, keys: keys, records: records, secrets: secrets)
      let other = try Samples.store("other")
      let second = try bo.sealed(place)
      try await other.sync(through: second)
      #expect(try Samples.names(other) == ["one", "other"] && second.status.waitsForKey == 0)
    }

    // MARK: What was set back

    @Test func aDeviceThatWasSetBackSealsNothing() async throws {
      let (fixture, place) = (try SpaceFixture(), MemoryMailbox())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let backup = ann.records.all
      try ann.space.say(.remove(.init(devices: [bo.id])))
      // Its store is restored, without what it had said; its keys are not, and remember that.
      ann.records.all = backup
      let space = try fixture.reopened(ann)
      let store = try Samples.store("one")
      let sealed = try SealedMailbox(place, of: space, memory: ann.records)
      await #expect { try await store.sync(through: sealed) } throws: { ($0 as? SpaceError)?.code == .behind }
      #expect(try place.list(prefix: "tally").allSatisfy { $0.name.hasSuffix(".m") })
      // Another device that has the record puts it, and then all goes on.
      try space.add(ann.space.records)
      try await store.sync(through: sealed)
      #expect(try place.list(prefix: "tally").contains { $0.name.hasSuffix(".s") })
    }

    @Test func recordsAreWrittenDownBeforeTheyCount() async throws {
      let (fixture, place) = (try SpaceFixture(), MemoryMailbox())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let (one, other) = (try Samples.store("one"), try Samples.store("other"))
      try await one.sync(through: try ann.sealed(place))
      let before = bo.space.membership
      bo.secrets.isBroken = true
      let second = try bo.sealed(place)
      await #expect(throws: TestMemory.Broken.self) { try await other.sync(through: second) }
      #expect(bo.space.membership == before)
      #expect(try Samples.names(other) == ["other"])
      bo.secrets.isBroken = false
      try await other.sync(through: second)
      #expect(try fixture.reopened(bo).membership == bo.space.membership)
    }

    @Test func aNewerRecordStopsSealingAndNotReading() async throws {
      let (fixture, place) = (try SpaceFixture(), MemoryMailbox())
      let ann = try fixture.device()
      let bo = try fixture.device(knowing: ann)
      let (one, other) = (try Samples.store("one"), try Samples.store())
      try ann.space.add(bo.space.records)
      try await one.sync(through: try ann.sealed(place))
      try ann.space.say(.newer(99))
      #expect(try await one.sync(through: try ann.sealed(place)).written.isEmpty)
      try await other.sync(through: try bo.sealed(place))
      #expect(try Samples.names(other) == ["one"])
      try Samples.insert("other", into: other)
      let second = try bo.sealed(place)
      await #expect { try await other.sync(through: second) } throws: { ($0 as? SpaceError)?.code == .newerVersion }
    }
  }
#endif
