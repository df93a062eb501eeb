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

    /// A signature that was made for an upload which has not ended.
    struct OpenSeal: Sendable, Hashable {
      /// The digest of the key, the entry and the content.
      var upload: SpaceDigest
      var signature: [UInt8]
    }

    /// A record that has not been taken in.
    struct PendingRecord: Sendable {
      var item: MailboxItem
      /// What this device had when the record came too early or found no room; nil if it could not be read.
      var progress: [Int]?
    }

    /// The names in the place, by the names that a pass sees, the first one first.
    private(set) var outer: [String: [String]] = [:]
    /// The names that a pass sees, by those in the place.
    private(set) var inner: [String: String] = [:]
    /// By names in the place.
    var verified: [String: Verified] = [:]
    /// What is there and cannot be listed yet: its key or its content has not come, or it cannot be read.
    var pending: [String: MailboxItem] = [:]
    /// Records that have not been taken in: they cannot be read now, come before what they name, or find no room.
    var pendingRecords: [String: PendingRecord] = [:]
    /// The records that are refused, in the version that was read.
    var refusedRecords: [String: String?] = [:]
    /// The latest signature of an upload.
    var seal: OpenSeal?
    /// The files that wait for a key.
    var waitsForKey: Set<String> = []
    /// The files whose content is not on this device, and of which nothing was verified before.
    var notDownloaded: Set<String> = []
    /// What is refused, with the reasons.
    private(set) var refused: [String: SpaceError] = [:]
    /// The files of each device that is out and whose files do not count.
    var leftBehind: [MemberID: Set<String>] = [:]
    /// The records that the place has, each with eight bytes that tell which file was compared with the record, and in
    /// which version: zeros for none. Nil if the place has not been listed.
    var records: [SealedName: [UInt8]]?
    /// Whether this process has listed the place from its beginning.
    var isComplete = false

    /// What a cursor does not stand for, since another process would not see it again.
    var unseen: Set<String> { Set(pending.keys).union(pendingRecords.keys) }

    /// Forgets which files are there, before a listing from the beginning. Files that were verified and are there stay
    /// verified.
    /// - Returns: the files that were verified and are gone.
    mutating func begin(with here: Set<String>) -> [String] {
      (outer, inner, pending, waitsForKey, notDownloaded, leftBehind) = ([:], [:], [:], [], [], [:])
      isComplete = true
      let gone = verified.keys.filter { !here.contains($0) }
      for name in gone { verified[name] = nil }
      refusedRecords = refusedRecords.filter { here.contains($0.key) }
      refused = refused.filter { refusedRecords[$0.key] != nil || pendingRecords[$0.key] != nil }
      return gone
    }

    mutating func map(_ name: String, to innerName: String) {
      guard inner[name] == nil else { return }
      inner[name] = innerName
      outer[innerName, default: []].append(name)
    }

    /// Notes why something is refused; nil if it is not. Of a flood the first are told.
    mutating func refuse(_ name: String, _ error: SpaceError?) {
      guard error == nil || refused[name] != nil || refused.count < MailboxLimits.files else { return }
      refused[name] = error
    }

    /// Notes a file of which nothing was verified and that cannot be read.
    mutating func wait(for item: MailboxItem) {
      if item.state == .notDownloaded {
        notDownloaded.insert(item.name)
        pending[item.name] = item
      } else {
        refuse(item.name, SpaceError(.malformed, "it is not a plain file"))
      }
    }

    /// Forgets a file. Returns the name that a pass sees if there is no other file of that name.
    mutating func remove(_ name: String) -> String? {
      clear(name)
      verified[name] = nil
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
      notDownloaded.remove(name)
      for device in leftBehind.keys { leftBehind[device]?.remove(name) }
    }
  }
#endif
