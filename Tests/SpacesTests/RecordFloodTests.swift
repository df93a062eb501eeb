#if Spaces
  import Testing

  @testable import TallySpaces

  /// Floods of records, by strangers who have the log key and by devices that are out. Rooms are small here.
  @Suite struct RecordFloodTests {
    /// Ann and Bo have come by the words.
    private struct Scene {
      let fixture: SpaceFixture
      let ann = MemberKeys()
      let bo = MemberKeys()
      let joins: [SignedRecord]
      var set: SpaceRecordSet

      init(_ room: SpaceRoom) throws {
        fixture = try SpaceFixture()
        let genesis = fixture.genesis.record.id
        let first = try fixture.join(ann, by: genesis, with: fixture.recovery, after: [genesis])
        joins = [
          fixture.genesis, first,
          try fixture.join(bo, by: genesis, with: fixture.recovery, after: [first.record.id]),
        ]
        set = SpaceRecordSet(space: fixture.space, own: nil, room: room)
        _ = set.add(joins)
      }

      func id(_ keys: MemberKeys) -> MemberID { MemberID(keys.publicKeys, in: fixture.space) }

      func say(
        _ keys: MemberKeys, _ operation: SpaceRecord.Operation, after heads: Set<SpaceDigest>? = nil
      ) throws -> SignedRecord {
        try SignedRecord(
          operation, in: fixture.space, by: id(keys), after: heads ?? [joins[2].record.id], keys: keys)
      }

      /// Different records that say nothing, by default in the time before anything else.
      func names(_ keys: MemberKeys, _ count: Int, after heads: Set<SpaceDigest>? = nil) throws -> [SignedRecord] {
        try (0..<count).map { try say(keys, .name(member: nil, "\($0)"), after: heads) }
      }

      func remove(_ device: MemberKeys, by keys: MemberKeys, after heads: Set<SpaceDigest>? = nil) throws
        -> SignedRecord
      {
        try say(keys, .remove(.init(devices: [id(device)])), after: heads)
      }
    }

    private static func room(members: Int = 12, out: Int = 4, all: Int = 60, early: Int = 8) -> SpaceRoom {
      SpaceRoom(members: members, out: out, all: all, early: early, earlyBytes: 1 << 20)
    }

    @Test func aSpaceHasSoManyRecords() throws {
      var scene = try Scene(Self.room())
      let records = try scene.names(scene.ann, 11)
      var outcome = scene.set.add(records[..<6])
      #expect(outcome.refused.isEmpty)
      outcome = scene.set.add(records[6...])
      #expect(scene.set.records.count == 12 && outcome.refused.count == 2)
      #expect(outcome.refused.values.allSatisfy { $0.code == .tooManyRecords })
      #expect(outcome.postponed == Set(outcome.refused.keys))
    }

    /// What cannot be checked gives way to what a member has signed, and to what that names.
    @Test func recordsOfStrangersDisplaceNoMembers() throws {
      var scene = try Scene(Self.room())
      let missing = try scene.say(scene.bo, .name(member: nil, "missing"))
      let between = try scene.say(scene.bo, .name(member: nil, "between"), after: [missing.record.id])
      let late = try scene.say(scene.ann, .name(member: nil, "late"), after: [between.record.id])
      let nowhere: Set = [ModelSet.digest(77, 0)]
      let flood = try scene.names(MemberKeys(), 20, after: nowhere)
      let refused = scene.set.add(flood).refused
      #expect(scene.set.earlyCount == 8 && refused.count == 12)
      _ = scene.set.add([late])
      #expect(scene.set.earlyCount == 8)
      let outcome = scene.set.add([between, missing])
      #expect(outcome.added.map(\.record.id) == [missing, between, late].map(\.record.id))
    }

    /// Nor do records in a member's name, which that has not signed.
    @Test func recordsInAMembersNameAreCheckedBeforeTheyWait() throws {
      var scene = try Scene(Self.room())
      let forged = try SignedRecord(
        .name(member: nil, "x"), in: scene.fixture.space, by: scene.id(scene.ann), after: [ModelSet.digest(77, 0)],
        keys: MemberKeys())
      #expect(scene.set.add([forged]).refused[forged.record.id]?.code == .wrongSignature)
      #expect(scene.set.earlyCount == 0)
    }

    /// A device waits for what leads to its own join before anything else.
    @Test func aNewcomerIsNotKeptOutByAFlood() throws {
      let scene = try Scene(Self.room())
      var set = SpaceRecordSet(space: scene.fixture.space, own: scene.id(scene.bo), room: Self.room())
      _ = set.add(try scene.names(MemberKeys(), 20, after: [ModelSet.digest(77, 0)]))
      _ = set.add([scene.joins[2]])
      _ = set.add([scene.joins[1]])
      #expect(set.add([scene.joins[0]]).added.count == 3)
    }

    @Test func aDeviceThatIsOutTakesNoRoomOfMembers() throws {
      var scene = try Scene(Self.room())
      let removal = try scene.remove(scene.bo, by: scene.ann)
      _ = scene.set.add([removal])
      let before = scene.set.membership
      // In its own time it can say all this, and most of it means nothing.
      let names = try scene.names(scene.bo, 20)
      let outcome = scene.set.add(names)
      #expect(outcome.added.isEmpty && outcome.refused.values.allSatisfy { $0.code == .authorNotPresent })
      #expect(scene.set.membership == before)
      // What means something has a room of its own, of which the join takes one.
      let joins = try (0..<9).map { number in
        try scene.fixture.join(
          scene.bo, by: scene.fixture.genesis.record.id, with: scene.fixture.recovery,
          after: [scene.joins[2].record.id], name: "\(number)")
      }
      #expect(scene.set.add(joins).added.count == 3)
      #expect(scene.set.add(try scene.names(scene.ann, 9, after: [removal.record.id])).added.count == 9)
    }

    /// As long as a device is in, it can take the members' room. Its removal is taken all the same, and frees it.
    @Test func aRemovalEndsAFlood() throws {
      var scene = try Scene(Self.room())
      _ = scene.set.add(try scene.names(scene.bo, 20))
      let word = try scene.say(scene.ann, .name(member: nil, "word"))
      #expect(scene.set.records.count == 12 && scene.set.add([word]).postponed == [word.record.id])
      #expect(scene.set.add([try scene.remove(scene.bo, by: scene.ann)]).added.count == 1)
      #expect(scene.set.add([word]).added.count == 1)
    }

    /// Two devices hear of a removal at different times, and then have the same records.
    @Test func whatAMembersRecordNamesIsTaken() throws {
      var scene = try Scene(Self.room())
      var other = scene.set
      let removal = try scene.remove(scene.bo, by: scene.ann)
      let flood = try scene.names(scene.bo, 3)
      _ = scene.set.add(flood + [removal])
      _ = other.add([removal])
      #expect(Set(other.add(flood).refused.values.map(\.code)) == [.authorNotPresent])
      let word = try scene.say(scene.ann, .name(member: nil, "word"), after: scene.set.membership.heads)
      _ = scene.set.add([word])
      #expect(other.add([word]).added.isEmpty)
      #expect(other.add(flood).added.count == 4)
      #expect(other.membership == scene.set.membership)
    }

    /// What was taken once is taken when a process begins anew.
    @Test func whatWasKeptHasRoom() throws {
      var scene = try Scene(Self.room())
      _ = scene.set.add(try scene.names(scene.bo, 20))
      _ = scene.set.add([try scene.remove(scene.bo, by: scene.ann)])
      var again = SpaceRecordSet(space: scene.fixture.space, own: nil, room: Self.room())
      again.restore(Array(scene.set.records.values))
      #expect(again.records == scene.set.records && again.membership == scene.set.membership)
    }

    /// More of them than one record may name do not keep a device from saying anything.
    @Test func manyHeadsAreGathered() throws {
      let fixture = try SpaceFixture()
      let ann = try fixture.device("Ann")
      let bo = try fixture.device("Bo", knowing: ann)
      try ann.space.add(bo.space.records)
      let heads = ann.space.membership.heads
      let flood = try (0..<SpaceLimits.parents + 5).map { number in
        try SignedRecord(
          .name(member: nil, "\(number)"), in: fixture.space, by: bo.id, after: heads, keys: bo.keys)
      }
      try ann.space.add(flood)
      let removal = try ann.space.say(.remove(.init(devices: [bo.id])))
      #expect(ann.space.membership.removed == [bo.id] && ann.space.membership.heads == [removal.record.id])
    }
  }
#endif
