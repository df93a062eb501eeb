#if Spaces
  import Crypto

  /// The keys that a device can open, and which of them open others.
  struct KeyRing: Sendable {
    private let space: SpaceID
    /// The private keys of the device, and of the invitation by which it came.
    private let owners: [MemberID: MemberKeys]
    private(set) var keys: [SpaceDigest: SpaceKey] = [:]
    /// The keys that open with each key. Only what has been opened counts: a record may say anything.
    private var below: [SpaceDigest: Set<SpaceDigest>] = [:]
    /// The records that hold nothing more for this device.
    private var read: Set<SpaceDigest> = []

    init(space: SpaceID, owners: [MemberKeys]) {
      self.space = space
      self.owners = Dictionary(owners.map { (MemberID($0.publicKeys, in: space), $0) }) { first, _ in first }
    }

    mutating func add(_ secret: [UInt8]) {
      guard let key = SpaceKey(secret, space: space) else { return }
      keys[key.id] = key
    }

    /// Opens what this device can, in all records.
    mutating func open(_ set: SpaceRecordSet) {
      var isMore = true
      while isMore {
        isMore = false
        for (id, record) in set.records where !read.contains(id) {
          switch record.record.operation {
          case .key(let new):
            open(new.key, new.receivers)
            guard let above = keys[new.key] else { continue }
            open(new.older, under: above)
          case .give(let key, let receiver): open(key, [receiver])
          case .wrap(let above, let further):
            guard let above = keys[above] else { continue }
            open(further, under: above)
          default: break
          }
          read.insert(id)
          isMore = true
        }
      }
    }

    private mutating func open(_ id: SpaceDigest, _ receivers: [SpaceRecord.SealedKey]) {
      guard keys[id] == nil else { return }
      for receiver in receivers {
        guard let owner = owners[receiver.receiver],
          let secret = owner.open(receiver, info: Self.info(id, receiver.receiver, space)),
          let key = SpaceKey(secret, space: space), key.id == id
        else { continue }
        keys[id] = key
      }
    }

    private mutating func open(_ further: [SpaceRecord.WrappedKey], under above: SpaceKey) {
      for wrapped in further {
        guard
          let secret = SpaceCrypto.open(
            wrapped.sealed, key: Self.wrappingKey(above, wrapped.key), nonce: Self.nonce,
            authenticating: above.id.bytes), let key = SpaceKey(secret, space: space), key.id == wrapped.key
        else { continue }
        keys[key.id] = key
        below[above.id, default: []].insert(key.id)
      }
    }

    // MARK: The key in use

    /// The key under which files are sealed; nil if there is none that this device knows.
    func keyInUse(_ membership: Membership) -> SpaceKey? {
      membership.usable.filter { keys[$0] != nil }.max().flatMap { keys[$0] }
    }

    /// Makes a key for all who are present, for the recovery words, and for invitations that no device has used. The
    /// keys that are known go below it.
    func newKey(_ set: SpaceRecordSet) throws -> (SpaceKey, SpaceRecord.Operation) {
      let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
      guard let new = SpaceKey(secret, space: space) else { throw SpaceError(.noKey, "a key could not be made") }
      let membership = set.membership
      let unused = membership.open.subtracting(membership.used)
      let invitations = set.invitations.filter { unused.contains($0.key) || isRecovery($0.key, set) }.values
      var receivers: [SpaceRecord.SealedKey] = []
      for receiver in membership.present.union(invitations).sorted() {
        guard let publicKey = set.keys[receiver]?.sealing else { continue }
        receivers.append(
          try MemberKeys.seal(secret, for: receiver, publicKey, info: Self.info(new.id, receiver, space)))
      }
      let older = try wrapped(Self.said(set).filter { keys[$0] != nil }, under: new)
      return (new, .key(.init(key: new.id, receivers: receivers, older: older)))
    }

    private func isRecovery(_ invitation: SpaceDigest, _ set: SpaceRecordSet) -> Bool {
      if case .genesis = set.records[invitation]?.record.operation { true } else { false }
    }

    /// What is to be said so that every key that this device knows opens with the one in use; nil if all do. Of keys
    /// without a record nothing is known, so they stay where they are.
    func wrap(under key: SpaceKey, _ set: SpaceRecordSet) throws -> SpaceRecord.Operation? {
      var (reached, next): (Set<SpaceDigest>, [SpaceDigest]) = ([key.id], [key.id])
      while let id = next.popLast() {
        for lower in below[id] ?? [] where reached.insert(lower).inserted { next.append(lower) }
      }
      let rest = Self.said(set).filter { keys[$0] != nil && !reached.contains($0) }
      return rest.isEmpty ? nil : .wrap(under: key.id, try wrapped(rest, under: key))
    }

    /// The keys that records say, also those of devices that are out: others may have sealed with them.
    private static func said(_ set: SpaceRecordSet) -> Set<SpaceDigest> {
      Set(
        set.records.values.compactMap { record in
          if case .key(let new) = record.record.operation { new.key } else { nil }
        })
    }

    private func wrapped(_ ids: some Sequence<SpaceDigest>, under above: SpaceKey) throws -> [SpaceRecord.WrappedKey] {
      try ids.sorted().compactMap { id in
        guard let key = keys[id] else { return nil }
        let sealed = try SpaceCrypto.seal(
          key.secret, key: Self.wrappingKey(above, id), nonce: Self.nonce, authenticating: above.id.bytes)
        return SpaceRecord.WrappedKey(key: id, sealed: sealed)
      }
    }

    // MARK: Bytes

    /// Each pair of keys has one, so no nonce is used twice.
    private static func wrappingKey(_ above: SpaceKey, _ lower: SpaceDigest) -> [UInt8] {
      SpaceCrypto.derive(above.secret, salt: lower.bytes, info: Array("tally wrap 1".utf8) + above.space.bytes)
    }

    private static let nonce = [UInt8](repeating: 0, count: SpaceCrypto.nonceBytes)

    private static func info(_ key: SpaceDigest, _ receiver: MemberID, _ space: SpaceID) -> [UInt8] {
      Array("tally key 1".utf8) + space.bytes + key.bytes + receiver.bytes
    }

    /// Seals a known key for an invitation; nil if it is not known.
    func give(_ key: SpaceDigest, to invitation: SpaceRecord.PublicKeys) throws -> SpaceRecord.Operation? {
      guard let known = keys[key] else { return nil }
      let receiver = MemberID(invitation, in: space)
      return .give(
        key: key,
        try MemberKeys.seal(known.secret, for: receiver, invitation.sealing, info: Self.info(key, receiver, space)))
    }
  }
#endif
