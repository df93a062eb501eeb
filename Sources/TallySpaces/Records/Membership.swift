#if Spaces
  /// The meaning of a set of records: who is in a space, and under which keys a device may seal. It is a function of
  /// the set alone; the order in which the records came does not matter. `Tests/Models/spaces.py` is the same function
  /// in another language.
  ///
  /// - A record counts by what stands before it, and nothing that comes later changes that: its author was present in
  ///   the meaning of the records that it names. Only a close is by a device that was present before the invitation.
  /// - A removal is of devices whose joins it has seen. Nothing undoes it, also not that its author is removed later;
  ///   two devices that remove each other are both out.
  /// - Everything else that a removed device has said counts only if the removal had seen it.
  /// - A close counts also if its author is removed later. Of the joins by an invitation those count that all of its
  ///   closes have seen.
  /// - A device is out if a join of it does not count, or if the device that invited it is out.
  ///
  /// So a larger set never brings a device back that was out by a smaller one.
  ///
  /// Cost: a bit for each pair of records, and for each record a look at the joins, closes and removals of its author
  /// and of those that invited it. 200 records take less than a millisecond, 4,096 some tens of them.
  package struct Membership: Sendable, Equatable {
    /// The devices that have joined and that no record puts out.
    package var present: Set<MemberID> = []
    /// The devices that a record removes.
    package var removed: Set<MemberID> = []
    /// The devices whose joins do not count: too late for an invitation, or by one that does not count.
    package var excluded: Set<MemberID> = []
    /// The invitations by which a device could come now; the recovery words are not among them.
    package var open: Set<SpaceDigest> = []
    /// The invitations by which a device has come, whether it counts or not.
    package var used: Set<SpaceDigest> = []
    /// The invitations that have a close.
    package var closed: Set<SpaceDigest> = []
    /// The removals, joins and closes: the maker of a key that is to be used has seen all of them.
    package var changes: Set<SpaceDigest> = []
    /// The keys that count, with the records that say them.
    package var keys: [SpaceDigest: Set<SpaceDigest>] = [:]
    /// The keys under which files may be sealed: made by a device that had seen all `changes`.
    package var usable: Set<SpaceDigest> = []
    /// Of devices that are out, the files that count nevertheless.
    package var kept: [MemberID: Set<SpaceDigest>] = [:]
    /// The newest records, which the next one names.
    package var heads: Set<SpaceDigest> = []
    /// The records that name others which are not here. They say nothing yet.
    package var waiting: Set<SpaceDigest> = []
    /// Whether a record that counts says something that this version does not know. A device that sees one seals
    /// nothing. The words of a device that is out do not count.
    package var hasNewer = false

    /// Says what records mean. Those with one id are one record.
    package init(of records: some Collection<SpaceRecord>) {
      let history = MembershipHistory(records)
      self = history.membership()
    }

    init() {}

    /// Whether a file counts that a device has sealed.
    package func counts(fileOf device: MemberID, _ file: SpaceDigest) -> Bool {
      present.contains(device) || kept[device]?.contains(file) == true
    }
  }
#endif
