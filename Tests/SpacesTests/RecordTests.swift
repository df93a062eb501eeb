#if Spaces
  import Testing

  @testable import TallySpaces

  /// The bytes of records, and their signatures.
  @Suite struct RecordTests {
    /// One record of each kind, in order, of two devices.
    private static func samples() throws -> (fixture: SpaceFixture, records: [SignedRecord], ann: MemberKeys) {
      let fixture = try SpaceFixture()
      let (ann, bo, link) = (MemberKeys(), MemberKeys(), MemberKeys())
      var records = [fixture.genesis]
      let id = { (keys: MemberKeys) in MemberID(keys.publicKeys, in: fixture.space) }
      let heads = { Membership(of: records.map(\.record)).heads }
      let say = { (operation: SpaceRecord.Operation) in
        records.append(
          try SignedRecord(operation, in: fixture.space, by: id(ann), after: heads(), keys: ann))
      }
      records.append(try fixture.join(ann, by: fixture.genesis.record.id, with: fixture.recovery, after: heads()))
      try say(.invite(.init(keys: link.publicKeys, use: .oneDevice)))
      let invitation = records[2].record.id
      records.append(try fixture.join(bo, by: invitation, with: link, after: heads(), name: "Bo’s phone"))
      try say(.close(invitation: invitation))
      let wrapped = SpaceRecord.WrappedKey(key: ModelSet.digest(1, 0), sealed: [UInt8](repeating: 1, count: 48))
      let sealed = SpaceRecord.SealedKey(
        receiver: id(bo), encapsulated: [UInt8](repeating: 2, count: 32), sealed: [UInt8](repeating: 3, count: 48))
      try say(.key(.init(key: ModelSet.digest(2, 0), receivers: [sealed], older: [wrapped])))
      try say(.wrap(under: ModelSet.digest(2, 0), [wrapped]))
      try say(.give(key: ModelSet.digest(2, 0), sealed))
      try say(.name(member: id(ann), "Ann’s Mac"))
      try say(.name(member: nil, "Us"))
      try say(.gather)
      try say(.remove(.init(devices: [id(bo)], kept: [ModelSet.digest(3, 0), ModelSet.digest(4, 0)])))
      return (fixture, records, ann)
    }

    @Test func everyKindComesBack() throws {
      let (fixture, records, _) = try Self.samples()
      var numbers: Set<UInt8> = []
      for record in records {
        #expect(try SignedRecord(record.bytes) == record)
        numbers.insert(record.record.operation.number)
      }
      #expect(numbers == Set(1...9).union([12]))
      var set = SpaceRecordSet(space: fixture.space)
      let outcome = set.add(records.reversed())
      #expect(outcome.added.count == records.count && outcome.refused.isEmpty && set.earlyCount == 0)
      #expect(set.membership == Membership(of: records.map(\.record)))
    }

    /// Nothing of a record can be changed by anybody who has not its author's keys.
    @Test func everyFlippedBitIsRefused() throws {
      let (fixture, records, _) = try Self.samples()
      var refused = 0
      for (index, record) in records.enumerated() {
        var set = SpaceRecordSet(space: fixture.space)
        _ = set.add(records[..<index])
        for bit in stride(from: index % 5, to: record.bytes.count * 8, by: 5) {
          var bytes = record.bytes
          bytes[bit / 8] ^= 1 << UInt8(bit % 8)
          guard let changed = try? SignedRecord(bytes) else {
            refused += 1
            continue
          }
          var copy = set
          let result = copy.add([changed])
          #expect(result.added.isEmpty, "bit \(bit) of record \(index)")
          // One that names something else waits for it, and says nothing.
          #expect(result.refused.count + copy.earlyCount == 1 && copy.membership == set.membership)
          refused += 1
        }
      }
      #expect(refused > 3_000)
    }

    @Test func whatIsCutOrGoesOnIsRefused() throws {
      for record in try Self.samples().records {
        for count in 0..<record.bytes.count {
          #expect(throws: SpaceError.self) { try SignedRecord(Array(record.bytes.prefix(count))) }
        }
        #expect(throws: SpaceError.self) { try SignedRecord(record.bytes + [0]) }
      }
    }

    @Test func listsMustBeInOrder() throws {
      let (fixture, records, ann) = try Self.samples()
      let last = records[records.count - 1]
      // The two files that the removal keeps, the other way round, signed by its author.
      var bytes = Array(last.bytes.dropLast(64))
      let (first, second) = (Array(bytes.suffix(64).prefix(32)), Array(bytes.suffix(32)))
      bytes.replaceSubrange(bytes.count - 64..<bytes.count, with: second + first)
      let signed = Array("tally record 1".utf8) + fixture.space.bytes + bytes
      let error = #expect(throws: SpaceError.self) { try SignedRecord(bytes + (try ann.signature(of: signed))) }
      #expect(error?.code == .malformed)
    }

    /// A record of a later version, signed.
    private static func later(_ record: SignedRecord, in space: SpaceID, by keys: MemberKeys) throws -> SignedRecord {
      var bytes = Array(record.bytes.dropLast(64))
      bytes[0] = 2
      return try SignedRecord(bytes + keys.signature(of: Array("tally record 1".utf8) + space.bytes + bytes))
    }

    /// Of another version only the content is unknown. Its author is checked, so a stranger stops nothing.
    @Test func laterVersionsCountByTheirAuthors() throws {
      let (fixture, records, ann) = try Self.samples()
      let name = try SignedRecord(
        .name(member: nil, "x"), in: fixture.space, by: records[1].record.author, after: [records[1].record.id],
        keys: ann)
      let (forged, signed) = (
        try Self.later(name, in: fixture.space, by: MemberKeys()), try Self.later(name, in: fixture.space, by: ann)
      )
      var set = SpaceRecordSet(space: fixture.space)
      let refused = set.add(records + [forged]).refused
      #expect(refused[forged.record.id]?.code == .wrongSignature && !set.membership.hasNewer)
      #expect(set.add([signed]).refused.isEmpty && set.membership.hasNewer)
      #expect(throws: SpaceError.self) { try SignedRecord([0] + name.bytes.dropFirst()) }
    }

    @Test func anUnknownOperationCountsByItsAuthor() throws {
      let (fixture, records, ann) = try Self.samples()
      // An operation that is not known is a record like any other, of which nothing is known.
      let newer = try SignedRecord(
        .newer(200), in: fixture.space, by: records[1].record.author, after: [records[1].record.id], keys: ann)
      var set = SpaceRecordSet(space: fixture.space)
      #expect(set.add(records + [newer]).refused.isEmpty && set.membership.hasNewer)
    }

    /// The records after it can be checked, since its keys are read.
    @Test func anInvitationToARoleOfALaterVersionIsARecord() throws {
      let (fixture, records, ann) = try Self.samples()
      let (link, cy) = (MemberKeys(), MemberKeys())
      var set = SpaceRecordSet(space: fixture.space)
      _ = set.add(records)
      let invite = try SignedRecord(
        .invite(.init(keys: link.publicKeys, use: .init(rawValue: 9), role: 1)), in: fixture.space,
        by: records[1].record.author, after: set.membership.heads, keys: ann)
      let join = try fixture.join(cy, by: invite.record.id, with: link, after: [invite.record.id])
      let word = try SignedRecord(
        .name(member: nil, "x"), in: fixture.space, by: join.record.author, after: [join.record.id], keys: cy)
      #expect(try SignedRecord(invite.bytes) == invite)
      #expect(set.add([word, join, invite]).refused.isEmpty && set.records.count == records.count + 3)
      #expect(set.membership.hasNewer && !set.membership.present.contains(join.record.author))
    }

    @Test func signaturesAreOfOneSpaceAndOneAuthor() throws {
      let (fixture, records, ann) = try Self.samples()
      var set = SpaceRecordSet(space: fixture.space)
      _ = set.add(records)
      let heads = set.membership.heads
      let (author, stranger) = (records[1].record.author, MemberKeys())
      let elsewhere = try SignedRecord(
        .name(member: nil, "x"), in: try SpaceFixture().space, by: author, after: heads, keys: ann)
      let others = try SignedRecord(
        .name(member: nil, "x"), in: fixture.space, by: author, after: heads, keys: stranger)
      let unknown = try SignedRecord(
        .name(member: nil, "x"), in: fixture.space, by: MemberID(stranger.publicKeys, in: fixture.space),
        after: heads, keys: stranger)
      let uninvited = try fixture.join(stranger, by: fixture.genesis.record.id, with: stranger, after: heads)
      let codes = [elsewhere, others, unknown, uninvited].map { set.add([$0]).refused.values.first?.code }
      #expect(codes == [.wrongSignature, .wrongSignature, .unknownAuthor, .wrongSignature])
    }

    /// Whether a record is taken must not depend on what else has come: its author has to be among those before it.
    @Test func anAuthorMustHaveJoinedBefore() throws {
      let (fixture, records, ann) = try Self.samples()
      var set = SpaceRecordSet(space: fixture.space)
      _ = set.add(records)
      let early = try SignedRecord(
        .name(member: nil, "x"), in: fixture.space, by: records[1].record.author, after: [fixture.genesis.record.id],
        keys: ann)
      #expect(set.add([early]).refused.values.first?.code == .unknownAuthor)
    }
  }
#endif
