#if Spaces
  /// Something said about who belongs to a space: an operation, its author, and the newest records that the author had.
  /// A record so stands for all those before it, and no place has to order records. ``Membership`` says what a set of
  /// them means.
  ///
  /// A value of this type has been decoded, no more: ``SpaceRecordSet`` checks signatures.
  package struct SpaceRecord: Sendable, Hashable {
    /// The SHA-256 of the record's bytes, its signature included.
    package let id: SpaceDigest
    /// The device that says it; the recovery key in a genesis, and in what is said with the recovery words in hand.
    package let author: MemberID
    /// The newest records that the author had, in ascending order.
    package let parents: [SpaceDigest]
    package let operation: Operation

    package init(id: SpaceDigest, author: MemberID, parents: [SpaceDigest], operation: Operation) {
      (self.id, self.author, self.parents, self.operation) = (id, author, parents, operation)
    }

    /// What a record says. The numbers of the cases are in the bytes.
    package enum Operation: Sendable, Hashable {
      /// The space begins: its recovery keys, which are the invitation that nothing ends.
      case genesis(Genesis)
      case invite(Invitation)
      /// A device comes by an invitation. The author is the device.
      case join(Join)
      /// An invitation ends: of its joins those count that this record, and each other close of it, has seen.
      case close(invitation: SpaceDigest)
      case remove(Removal)
      /// A new key, for each of its receivers.
      case key(NewKey)
      /// Further keys, which open with this one.
      case wrap(under: SpaceDigest, [WrappedKey])
      /// A key for an invitation that was made after it.
      case give(key: SpaceDigest, SealedKey)
      /// The name of a device; of the space if `member` is nil.
      case name(member: MemberID?, String)
      /// No more than what its author had seen, where that is more than one record may name.
      case gather
      /// An operation, or a record, of a later version. Its place among the others is known, and what it says is not.
      case newer(UInt8)
    }

    /// The two public keys of a device, an invitation or the recovery words: Ed25519 and X25519, 32 bytes each.
    package struct PublicKeys: Sendable, Hashable {
      package let signing, sealing: SpaceDigest
      package init(signing: SpaceDigest, sealing: SpaceDigest) { (self.signing, self.sealing) = (signing, sealing) }
    }

    package struct Genesis: Sendable, Hashable {
      package let suite: UInt8
      package let recovery: PublicKeys
      package let name: String
      package init(suite: UInt8 = 1, recovery: PublicKeys, name: String) {
        (self.suite, self.recovery, self.name) = (suite, recovery, name)
      }
    }

    package struct Invitation: Sendable, Hashable {
      package struct Use: RawRepresentable, Sendable, Hashable {
        package static let oneDevice = Use(rawValue: 1)
        package static let recoveryWords = Use(rawValue: 2)
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
      }
      /// The role of a device that may do everything, so far the only one.
      package static let everything: UInt8 = 2
      package let keys: PublicKeys
      package let use: Use
      package let role: UInt8
      package init(keys: PublicKeys, use: Use, role: UInt8 = everything) {
        (self.keys, self.use, self.role) = (keys, use, role)
      }

      /// Whether this version knows the use and the role. The keys can be read in any case: they prove the joins.
      package var isKnown: Bool { [.oneDevice, .recoveryWords].contains(use) && role == Self.everything }
    }

    package struct Join: Sendable, Hashable {
      package let keys: PublicKeys
      /// The record of the invitation: an `invite`, or the genesis for the recovery words.
      package let invitation: SpaceDigest
      /// The SHA-256 of the device's token at a relay; zeros without one.
      package let token: SpaceDigest
      package let name: String
      package init(keys: PublicKeys, invitation: SpaceDigest, token: SpaceDigest, name: String) {
        (self.keys, self.invitation, self.token, self.name) = (keys, invitation, token, name)
      }
    }

    package struct Removal: Sendable, Hashable {
      /// In ascending order, one at least.
      package let devices: [MemberID]
      /// The files of these devices that count nevertheless, as ``SealedFile`` numbers them, in ascending order.
      package let kept: [SpaceDigest]
      package init(devices: some Sequence<MemberID>, kept: some Sequence<SpaceDigest> = []) {
        (self.devices, self.kept) = (Set(devices).sorted(), Set(kept).sorted())
      }
    }

    /// A key for one receiver, by HPKE.
    package struct SealedKey: Sendable, Hashable {
      package static let byteCount = MemberID.byteCount + encapsulatedCount + sealedCount
      static let (encapsulatedCount, sealedCount) = (32, 48)
      package let receiver: MemberID
      package let encapsulated, sealed: [UInt8]
      package init(receiver: MemberID, encapsulated: [UInt8], sealed: [UInt8]) {
        (self.receiver, self.encapsulated, self.sealed) = (receiver, encapsulated, sealed)
      }
    }

    /// A key under another one.
    package struct WrappedKey: Sendable, Hashable {
      package static let byteCount = SpaceDigest.byteCount + sealedCount
      static let sealedCount = 48
      package let key: SpaceDigest
      package let sealed: [UInt8]
      package init(key: SpaceDigest, sealed: [UInt8]) { (self.key, self.sealed) = (key, sealed) }
    }

    package struct NewKey: Sendable, Hashable {
      /// The SHA-256 of the key.
      package let key: SpaceDigest
      /// In ascending order of receivers, one at least.
      package let receivers: [SealedKey]
      /// In ascending order of keys.
      package let older: [WrappedKey]
      package init(key: SpaceDigest, receivers: [SealedKey], older: [WrappedKey] = []) {
        self.key = key
        self.receivers = receivers.sorted { $0.receiver < $1.receiver }
        self.older = older.sorted { $0.key < $1.key }
      }
    }
  }
#endif
