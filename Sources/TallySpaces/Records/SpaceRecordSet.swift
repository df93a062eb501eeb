#if Spaces
  /// The records of a space that a device has, all with signatures that were checked; with those that came before what
  /// they name, which say nothing yet.
  package struct SpaceRecordSet: Sendable {
    package let space: SpaceID
    /// The records, by their ids.
    package private(set) var records: [SpaceDigest: SignedRecord] = [:]
    /// What came too early, and was not checked.
    private var early: [SpaceDigest: SignedRecord] = [:]
    /// What the records mean.
    package private(set) var membership = Membership()

    package init(space: SpaceID) { self.space = space }

    /// The public keys of a device, an invitation or the recovery words.
    package private(set) var keys: [MemberID: SpaceRecord.PublicKeys] = [:]
    /// The ids of invitations, by their records; that of the genesis is the one of the recovery words.
    package private(set) var invitations: [SpaceDigest: MemberID] = [:]
    /// The number of records that wait for others.
    package var earlyCount: Int { early.count }

    /// Adds records, in any order.
    /// - Returns: those that are new and count from now on, also if they had come before; and the ids of those that
    ///   were refused, with the reasons. What was refused leaves nothing behind.
    package mutating func add(_ new: some Sequence<SignedRecord>) -> (
      added: [SignedRecord], refused: [SpaceDigest: SpaceError]
    ) {
      var (added, refused): ([SignedRecord], [SpaceDigest: SpaceError]) = ([], [:])
      for record in new where records[record.record.id] == nil && early[record.record.id] == nil {
        // What nobody has checked takes no room of what was.
        if early.count < SpaceLimits.records {
          early[record.record.id] = record
        } else {
          refused[record.record.id] = SpaceError(.tooManyRecords, "too many records wait for others")
        }
      }
      var isMore = true
      while isMore {
        isMore = false
        for (id, record) in early.sorted(by: { $0.key < $1.key })
        where record.record.parents.allSatisfy({ records[$0] != nil }) {
          early[id] = nil
          do throws(SpaceError) {
            try check(record)
            insert(record)
            added.append(record)
            isMore = true
          } catch {
            refused[id] = error
          }
        }
      }
      if !added.isEmpty { membership = Membership(of: records.values.map(\.record)) }
      return (added, refused)
    }

    private mutating func insert(_ record: SignedRecord) {
      let id = record.record.id
      records[id] = record
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

    // MARK: Signatures

    /// Checks the signatures of a record whose parents are here, by keys from the records before it: so whether it is
    /// taken does not depend on what else has come.
    private func check(_ record: SignedRecord) throws(SpaceError) {
      guard records.count < SpaceLimits.records else {
        throw SpaceError(.tooManyRecords, "a space has \(SpaceLimits.records) records at most")
      }
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
      default: key = signingKey(of: author, before: record)
      }
      guard let key else { throw SpaceError(.unknownAuthor, "the author of a record has not joined before it") }
      guard record.isSigned(by: key, in: space) else {
        throw SpaceError(.wrongSignature, "a record has a wrong signature")
      }
    }

    private func invitationKey(_ invitation: SpaceDigest, before record: SignedRecord) -> SpaceDigest? {
      first(before: record) { other in
        guard other.record.id == invitation else { return nil }
        return switch other.record.operation {
        case .genesis(let genesis): genesis.recovery.signing
        case .invite(let invitation): invitation.keys.signing
        default: nil
        }
      }
    }

    private func signingKey(of author: MemberID, before record: SignedRecord) -> SpaceDigest? {
      first(before: record) { other in
        guard other.record.author == author else { return nil }
        return switch other.record.operation {
        case .genesis(let genesis): genesis.recovery.signing
        case .join(let join): join.keys.signing
        default: nil
        }
      }
    }

    /// Looks through everything that a record stands for, the newest first.
    private func first<T>(before record: SignedRecord, _ find: (SignedRecord) -> T?) -> T? {
      var (seen, next) = (Set(record.record.parents), record.record.parents)
      while let id = next.popLast() {
        guard let other = records[id] else { continue }
        if let found = find(other) { return found }
        for parent in other.record.parents where seen.insert(parent).inserted { next.append(parent) }
      }
      return nil
    }
  }
#endif
