#if Spaces
  /// The records of a space that a device has, all with signatures that were checked.
  ///
  /// Records that come before those that they name wait in a bounded room, in which a record that a member has signed
  /// displaces the others, and say nothing yet. A device that is out can go on to sign: its records then take none of
  /// the members' room, and those that mean nothing are not taken at all. Records that a member's record names are
  /// excepted, since that record could never count without them.
  package struct SpaceRecordSet: Sendable {
    package let space: SpaceID
    /// The records, by their ids.
    package private(set) var records: [SpaceDigest: SignedRecord] = [:]
    /// The records that came too early.
    private var early: EarlyRecords
    /// What the records mean.
    package private(set) var membership = Membership()
    private var room: SpaceRoom
    private let own: MemberID?
    /// The devices that are out, with those that came by their invitations since the membership was last computed.
    private var out: Set<MemberID> = []
    private var outCount = 0
    /// Whether `membership` lacks records.
    private var isBehind = false

    package init(space: SpaceID) { self.init(space: space, own: nil) }

    /// `own` is this device, whose join tells which of the records that wait are worth waiting for.
    init(space: SpaceID, own: MemberID?, room: SpaceRoom = SpaceRoom()) {
      (self.space, self.own, self.room, early) = (space, own, room, EarlyRecords(room))
    }

    /// The public keys of a device, an invitation or the recovery words.
    package private(set) var keys: [MemberID: SpaceRecord.PublicKeys] = [:]
    /// The ids of invitations, by their records; that of the genesis is the one of the recovery words.
    package private(set) var invitations: [SpaceDigest: MemberID] = [:]
    /// The number of records that wait for others.
    package var earlyCount: Int { early.count }
    /// Numbers of which one changes when a record that was postponed may be taken.
    var progress: [Int] { [records.count, early.wantedCount] }

    /// The outcome of adding records.
    package struct Outcome: Sendable {
      /// Those that count from now on, also if they had come before.
      package var added: [SignedRecord] = []
      /// The ids of those that were refused, with the reasons.
      package var refused: [SpaceDigest: SpaceError] = [:]
      /// Of these, the ones that may be taken another time: when a member's record names them, or when there is room.
      package var postponed: Set<SpaceDigest> = []
    }

    /// Adds records, in any order. The records that were refused leave nothing behind.
    package mutating func add(_ new: some Sequence<SignedRecord>) -> Outcome {
      var outcome = Outcome()
      for record in new where records[record.record.id] == nil && !early.contains(record.record.id) {
        take(record, &outcome)
      }
      update()
      return outcome
    }

    /// Adds what this device has kept: there was room for it before.
    mutating func restore(_ kept: some Sequence<SignedRecord>) {
      let usual = room
      room = SpaceRoom(members: .max, out: .max, all: .max, early: .max, earlyBytes: .max)
      early.room = room
      _ = add(kept)
      room = usual
      early.room = usual
    }

    /// Computes the meaning of what was added.
    private mutating func update() {
      guard isBehind else { return }
      membership = Membership(of: records.values.map(\.record))
      isBehind = false
      out = membership.removed.union(membership.excluded)
      outCount = records.values.count { out.contains($0.record.author) }
    }

    /// Takes a record and those that waited for it, or lets it wait.
    private mutating func take(_ record: SignedRecord, _ outcome: inout Outcome) {
      var ready = [record]
      while let next = ready.popLast() {
        let id = next.record.id
        do throws(SpaceError) {
          if let parent = next.record.parents.first(where: { records[$0] == nil }) {
            try wait(next, lacking: parent, &outcome)
            continue
          }
          try check(next)
          try makeRoom(for: next)
          insert(next)
          (outcome.refused[id], isBehind) = (nil, true)
          outcome.postponed.remove(id)
          outcome.added.append(next)
          let here = records
          ready += early.take(after: id) { here[$0] != nil }
        } catch {
          outcome.refused[id] = error
          if [.tooManyRecords, .authorNotPresent].contains(error.code) { outcome.postponed.insert(id) }
        }
      }
    }

    private mutating func insert(_ record: SignedRecord) {
      let id = record.record.id
      records[id] = record
      if out.contains(record.record.author) { outCount += 1 }
      switch record.record.operation {
      case .genesis(let genesis): note(genesis.recovery, invitation: id)
      case .invite(let invitation): note(invitation.keys, invitation: id)
      case .join(let join): note(join.keys, invitation: nil)
      default: break
      }
    }

    private mutating func note(_ new: SpaceRecord.PublicKeys, invitation: SpaceDigest?) {
      let id = MemberID(new, in: space)
      keys[id] = new
      if let invitation { invitations[invitation] = id }
    }

    // MARK: Room

    /// - Throws: `SpaceError`: `authorNotPresent`, `tooManyRecords`.
    private mutating func makeRoom(for record: SignedRecord) throws(SpaceError) {
      let isWanted = early.isWanted(record.record.id)
      if records.count - outCount >= room.members, !isWanted { update() }
      let isOut = isOut(record.record)
      if isOut, !isWanted {
        // Nothing brings a device back, and its removal has not seen this: so it says nothing, now and later.
        guard record.record.operation.isAboutMembers else {
          throw SpaceError(.authorNotPresent, "a record is by a device that is out")
        }
        guard outCount < room.out else {
          throw SpaceError(.tooManyRecords, "devices that are out have said as much as there is room for")
        }
      }
      let isEnd = record.record.operation.endsSomething
      guard records.count < room.all, isOut || isWanted || isEnd || records.count - outCount < room.members else {
        throw SpaceError(.tooManyRecords, "a space has \(room.members) records at most")
      }
      if isOut { out.insert(record.record.author) }
    }

    /// Whether the author of a record is out, also if it has just come by an invitation of a device that is.
    private func isOut(_ record: SpaceRecord) -> Bool {
      if out.contains(record.author) { return true }
      guard case .join(let join) = record.operation, let inviter = records[join.invitation]?.record.author else {
        return false
      }
      return out.contains(inviter)
    }

    /// Lets a record wait for those that it names.
    /// - Throws: `SpaceError`: `wrongSignature`, and `tooManyRecords` if there is no room for it.
    private mutating func wait(
      _ record: SignedRecord, lacking parent: SpaceDigest, _ outcome: inout Outcome
    ) throws(SpaceError) {
      let author = record.record.author
      var isMembers = false
      if let key = keys[author]?.signing {
        // An id is of two keys, so a signature by other ones never becomes right.
        guard record.isSigned(by: key, in: space) else {
          throw SpaceError(.wrongSignature, "a record has a wrong signature")
        }
        isMembers = !out.contains(author)
      } else if case .join(let join) = record.record.operation, author == own {
        isMembers = MemberID(join.keys, in: space) == own && record.isSigned(by: join.keys.signing, in: space)
      }
      for id in early.add(record, lacking: parent, isMembers: isMembers) {
        outcome.refused[id] = SpaceError(.tooManyRecords, "too many records wait for others")
        outcome.postponed.insert(id)
      }
    }

    // MARK: Signatures

    /// Checks the signatures of a record whose parents are here, by keys from the records before it: so whether it is
    /// taken does not depend on what else has come.
    private func check(_ record: SignedRecord) throws(SpaceError) {
      let author = record.record.author
      var key: SpaceDigest?
      switch record.record.operation {
      case .genesis(let genesis):
        guard MemberID.space(of: genesis.recovery.signing) == space,
          MemberID(genesis.recovery, in: space) == author
        else { throw SpaceError(.unknownAuthor, "the first record of another space") }
        key = genesis.recovery.signing
      case .join(let join):
        guard MemberID(join.keys, in: space) == author else {
          throw SpaceError(.unknownAuthor, "a device joins with another one's keys")
        }
        guard let invitation = invitationKey(join.invitation, before: record) else {
          throw SpaceError(.unknownAuthor, "a device joins by no invitation that came before")
        }
        guard record.isProven(by: invitation, in: space) else {
          throw SpaceError(.wrongSignature, "a device joins without the keys of the invitation")
        }
        key = join.keys.signing
      default:
        // An earlier record of the author was checked: a join is before it, or it is one.
        if isAny(before: record, { $0.record.author == author }) { key = keys[author]?.signing }
      }
      guard let key else { throw SpaceError(.unknownAuthor, "the author of a record has not joined before it") }
      guard record.isSigned(by: key, in: space) else {
        throw SpaceError(.wrongSignature, "a record has a wrong signature")
      }
    }

    private func invitationKey(_ invitation: SpaceDigest, before record: SignedRecord) -> SpaceDigest? {
      guard let other = records[invitation]?.record else { return nil }
      switch other.operation {
      // It stands before everything.
      case .genesis(let genesis): return genesis.recovery.signing
      case .invite(let content):
        return isAny(before: record) { $0.record.id == invitation } ? content.keys.signing : nil
      default: return nil
      }
    }

    /// Looks through everything that a record stands for, the newest first.
    private func isAny(before record: SignedRecord, _ isMeant: (SignedRecord) -> Bool) -> Bool {
      var (seen, next) = (Set(record.record.parents), record.record.parents)
      while let id = next.popLast() {
        guard let other = records[id] else { continue }
        if isMeant(other) { return true }
        for parent in other.record.parents where seen.insert(parent).inserted { next.append(parent) }
      }
      return false
    }
  }

  extension SpaceRecord.Operation {
    /// Whether it puts a device out or ends an invitation.
    fileprivate var endsSomething: Bool {
      switch self {
      case .remove, .close: true
      default: false
      }
    }

    /// Whether it means something also if its author is out: by what stands before it, or since a key must be made
    /// after it.
    fileprivate var isAboutMembers: Bool {
      if case .join = self { true } else { endsSomething }
    }
  }
#endif
