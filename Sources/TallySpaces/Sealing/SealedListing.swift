#if Spaces
  import TallySync

  /// What a sealed mailbox knows of a place: which files are there, under which names, and what was verified of them.
  struct SealedListing: Sendable {
    /// A file whose first piece was verified.
    struct Verified: Sendable, Hashable {
      var device: MemberID
      /// The number by which a removal keeps it.
      var file: SpaceDigest
      /// The version that was read; nil if the place gives none.
      var version: String?
    }

    /// The names in the place, by the names that a pass sees, the first one first.
    private(set) var outer: [String: [String]] = [:]
    /// The names that a pass sees, by those in the place.
    private(set) var inner: [String: String] = [:]
    /// By names in the place.
    var verified: [String: Verified] = [:]
    /// What is there and cannot be listed yet: its key has not come, or it cannot be read.
    var pending: [String: MailboxItem] = [:]
    /// Records that have not been taken in: they cannot be read now, come before what they name, or are of a later
    /// version.
    var pendingRecords: [String: MailboxItem] = [:]
    /// The records that are refused, in the version that was read.
    var refusedRecords: [String: String?] = [:]
    /// Signatures that were made for uploads which have not ended.
    var seals: [String: [UInt8]] = [:]
    /// The files that wait for a key.
    var waitsForKey: Set<String> = []
    /// What is refused, with the reasons.
    var refused: [String: SpaceError] = [:]
    /// The files of each device that is out and whose files do not count.
    var leftBehind: [MemberID: Set<String>] = [:]
    /// The records that the place has; nil if it has not been listed.
    var records: Set<SealedName>?
    /// Whether this process has listed the place from its beginning.
    var isComplete = false

    /// What a cursor does not stand for, since another process would not see it again.
    var unseen: Set<String> { Set(pending.keys).union(pendingRecords.keys) }

    /// Forgets which files are there, before a listing from the beginning. What was verified and is there stays so.
    mutating func begin(with here: Set<String>) {
      (outer, inner, pending, waitsForKey, leftBehind) = ([:], [:], [:], [], [:])
      isComplete = true
      verified = verified.filter { here.contains($0.key) }
      refused = refused.filter { here.contains($0.key) && refusedRecords[$0.key] != nil }
    }

    mutating func map(_ name: String, to innerName: String) {
      guard inner[name] == nil else { return }
      inner[name] = innerName
      outer[innerName, default: []].append(name)
    }

    /// Forgets a file. Returns the name that a pass sees if there is no other file of that name.
    mutating func remove(_ name: String) -> String? {
      (pending[name], verified[name], refused[name]) = (nil, nil, nil)
      waitsForKey.remove(name)
      for device in leftBehind.keys { leftBehind[device]?.remove(name) }
      guard let innerName = inner.removeValue(forKey: name) else { return nil }
      outer[innerName]?.removeAll { $0 == name }
      guard outer[innerName]?.isEmpty == true else { return nil }
      outer[innerName] = nil
      return innerName
    }

    /// Forgets how a file is to be seen, since it is looked at again.
    mutating func clear(_ name: String) {
      (pending[name], refused[name]) = (nil, nil)
      waitsForKey.remove(name)
      for device in leftBehind.keys { leftBehind[device]?.remove(name) }
    }
  }
#endif
