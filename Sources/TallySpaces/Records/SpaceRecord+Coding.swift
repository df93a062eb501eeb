#if Spaces
  import TallyWire

  extension SpaceRecord {
    /// Reads a record up to its signature, which stays for later.
    init(decoding bytes: UnsafeRawBufferPointer) throws(WireError) {
      let (signature, proof) = (SpaceCrypto.signatureBytes, SpaceCrypto.signatureBytes)
      guard bytes.count > signature else { throw WireError(.truncated, "a record is too short") }
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes.dropLast(signature)))
      let version = try reader.byte()
      guard version > 0 else { throw WireError(.malformed, "no version has the number 0") }
      let number = try reader.byte()
      guard number > 0 else { throw WireError(.malformed, "no operation has the number 0") }
      guard [6, 7].contains(number) || bytes.count <= SpaceLimits.recordBytes else {
        throw WireError(.limitExceeded, "a record has \(bytes.count) bytes")
      }
      author = try reader.member()
      let count = try reader.count(limit: SpaceLimits.parents, "the records that one names")
      parents = try reader.ascending(count) { reader throws(WireError) in try reader.digest() }
      if version == SignedRecord.version {
        operation = try Operation(number, from: &reader)
      } else {
        // What stands before the content, and the signature, are the same in all versions.
        operation = try .unknown(number, in: &reader)
      }
      if case .join = operation { _ = try reader.take(proof) }
      if case .genesis = operation, !parents.isEmpty { throw WireError(.malformed, "something comes before a genesis") }
      if parents.isEmpty {
        guard case .genesis = operation else {
          let isNewer = version > SignedRecord.version && number == 1
          throw WireError(isNewer ? .unsupportedVersion : .malformed, "a record names none")
        }
      }
      guard reader.remaining == 0 else { throw WireError(.malformed, "bytes follow the content of a record") }
      id = SpaceCrypto.digest(Array(bytes))
    }

    /// Writes everything before the signatures.
    static func encode(_ operation: Operation, author: MemberID, parents: [SpaceDigest], to writer: inout ByteWriter) {
      writer.byte(SignedRecord.version)
      writer.byte(operation.number)
      writer.bytes += author.bytes
      writer.varint(parents.count)
      for parent in parents { writer.bytes += parent.bytes }
      operation.encode(to: &writer)
    }
  }

  extension SpaceRecord.Operation {
    var number: UInt8 {
      switch self {
      case .genesis: 1
      case .invite: 2
      case .join: 3
      case .close: 4
      case .remove: 5
      case .key: 6
      case .wrap: 7
      case .give: 8
      case .name: 9
      case .gather: 12
      case .newer(let number): number
      }
    }

    fileprivate static func unknown(_ number: UInt8, in reader: inout ByteReader) throws(WireError) -> Self {
      _ = try reader.take(reader.remaining)
      return .newer(number)
    }

    fileprivate init(_ number: UInt8, from reader: inout ByteReader) throws(WireError) {
      switch number {
      case 1:
        let suite = try reader.byte()
        guard suite > 0 else { throw WireError(.malformed, "no suite has the number 0") }
        guard suite == 1 else { throw WireError(.unsupportedVersion, "a space of another suite") }
        self = .genesis(.init(suite: suite, recovery: try reader.keys(), name: try reader.name()))
      case 2:
        let invitation = SpaceRecord.Invitation(
          keys: try reader.keys(), use: .init(rawValue: try reader.byte()), role: try reader.byte())
        // A later version may say more of what it invites to.
        if !invitation.isKnown { _ = try reader.take(reader.remaining) }
        self = .invite(invitation)
      case 3:
        self = .join(
          .init(
            keys: try reader.keys(), invitation: try reader.digest(), token: try reader.digest(),
            name: try reader.name()))
      case 4: self = .close(invitation: try reader.digest())
      case 5:
        let devices = try reader.list(limit: SpaceLimits.records) { reader throws(WireError) in try reader.member() }
        guard !devices.isEmpty else { throw WireError(.malformed, "a removal of no device") }
        let kept = try reader.list(limit: SpaceLimits.kept, atLeast: 0) { reader throws(WireError) in
          try reader.digest()
        }
        self = .remove(.init(devices: devices, kept: kept))
      case 6:
        let key = try reader.digest()
        let receivers = try reader.sealedKeys()
        self = .key(.init(key: key, receivers: receivers, older: try reader.wrappedKeys(atLeast: 0)))
      case 7: self = .wrap(under: try reader.digest(), try reader.wrappedKeys(atLeast: 1))
      case 8: self = .give(key: try reader.digest(), try reader.sealedKey())
      case 9:
        let member = try reader.member()
        let isSpace = member.bytes.allSatisfy { $0 == 0 }
        self = .name(member: isSpace ? nil : member, try reader.name())
      case 12: self = .gather
      default: self = try .unknown(number, in: &reader)
      }
    }

    fileprivate func encode(to writer: inout ByteWriter) {
      switch self {
      case .genesis(let genesis):
        writer.byte(genesis.suite)
        writer.keys(genesis.recovery)
        writer.text(genesis.name)
      case .invite(let invitation):
        writer.keys(invitation.keys)
        writer.byte(invitation.use.rawValue)
        writer.byte(invitation.role)
      case .join(let join):
        writer.keys(join.keys)
        writer.bytes += join.invitation.bytes + join.token.bytes
        writer.text(join.name)
      case .close(let invitation): writer.bytes += invitation.bytes
      case .remove(let removal):
        writer.varint(removal.devices.count)
        for device in removal.devices { writer.bytes += device.bytes }
        writer.varint(removal.kept.count)
        for file in removal.kept { writer.bytes += file.bytes }
      case .key(let key):
        writer.bytes += key.key.bytes
        writer.varint(key.receivers.count)
        for receiver in key.receivers { writer.sealedKey(receiver) }
        writer.wrappedKeys(key.older)
      case .wrap(let key, let further):
        writer.bytes += key.bytes
        writer.wrappedKeys(further)
      case .give(let key, let receiver):
        writer.bytes += key.bytes
        writer.sealedKey(receiver)
      case .name(let member, let name):
        writer.bytes += member?.bytes ?? Array(repeating: 0, count: MemberID.byteCount)
        writer.text(name)
      case .gather, .newer: break
      }
    }
  }

  extension ByteReader {
    fileprivate mutating func member() throws(WireError) -> MemberID {
      guard let id = MemberID(try take(MemberID.byteCount)) else { throw WireError(.malformed, "this is no id") }
      return id
    }

    fileprivate mutating func digest() throws(WireError) -> SpaceDigest {
      guard let digest = SpaceDigest(try take(SpaceDigest.byteCount)) else {
        throw WireError(.malformed, "this is no digest")
      }
      return digest
    }

    fileprivate mutating func keys() throws(WireError) -> SpaceRecord.PublicKeys {
      SpaceRecord.PublicKeys(signing: try digest(), sealing: try digest())
    }

    fileprivate mutating func name() throws(WireError) -> String {
      try text(limit: SpaceLimits.nameBytes, "the name of a device or a space")
    }

    fileprivate mutating func sealedKey() throws(WireError) -> SpaceRecord.SealedKey {
      SpaceRecord.SealedKey(
        receiver: try member(), encapsulated: Array(try take(SpaceRecord.SealedKey.encapsulatedCount)),
        sealed: Array(try take(SpaceRecord.SealedKey.sealedCount)))
    }

    fileprivate mutating func sealedKeys() throws(WireError) -> [SpaceRecord.SealedKey] {
      let count = try count(limit: SpaceLimits.keys, "the receivers of a key")
      guard count > 0 else { throw WireError(.malformed, "a key for no receiver") }
      var keys: [SpaceRecord.SealedKey] = []
      for _ in 0..<count {
        let key = try sealedKey()
        if let last = keys.last, last.receiver >= key.receiver {
          throw WireError(.malformed, "the receivers of a key are not in order")
        }
        keys.append(key)
      }
      return keys
    }

    fileprivate mutating func wrappedKeys(atLeast fewest: Int) throws(WireError) -> [SpaceRecord.WrappedKey] {
      let count = try count(limit: SpaceLimits.keys, "the keys under a key")
      guard count >= fewest else { throw WireError(.malformed, "no key is under a key") }
      var keys: [SpaceRecord.WrappedKey] = []
      for _ in 0..<count {
        let key = SpaceRecord.WrappedKey(
          key: try digest(), sealed: Array(try take(SpaceRecord.WrappedKey.sealedCount)))
        if let last = keys.last, last.key >= key.key { throw WireError(.malformed, "keys are not in order") }
        keys.append(key)
      }
      return keys
    }

    fileprivate mutating func list<Element: Comparable>(
      limit: Int, atLeast fewest: Int = 1, _ element: (inout ByteReader) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
      let count = try count(limit: limit, "the elements of a list")
      guard count >= fewest else { throw WireError(.malformed, "a list is empty") }
      return try ascending(count, element)
    }

    fileprivate mutating func ascending<Element: Comparable>(
      _ count: Int, _ element: (inout ByteReader) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
      var elements: [Element] = []
      for _ in 0..<count {
        let next = try element(&self)
        if let last = elements.last, last >= next { throw WireError(.malformed, "a list is not in order") }
        elements.append(next)
      }
      return elements
    }
  }

  extension ByteWriter {
    fileprivate mutating func keys(_ keys: SpaceRecord.PublicKeys) { bytes += keys.signing.bytes + keys.sealing.bytes }

    fileprivate mutating func sealedKey(_ key: SpaceRecord.SealedKey) {
      bytes += key.receiver.bytes + key.encapsulated + key.sealed
    }

    fileprivate mutating func wrappedKeys(_ keys: [SpaceRecord.WrappedKey]) {
      varint(keys.count)
      for key in keys { bytes += key.key.bytes + key.sealed }
    }
  }
#endif
