#if Spaces
  /// The key that seals the records of a space, for ever. A record has one name and one content in every place, and any
  /// device may put it; a host sees no more than how many there are.
  struct SpaceLog: Sendable {
    private let key: [UInt8]
    /// Four bytes that tell the names of this space from those of others.
    let tag: [UInt8]

    init(key: [UInt8]) {
      self.key = key
      tag = SpaceCrypto.derive(key, info: Array("tally place 1".utf8), count: SealedName.tagBytes)
    }

    func name(_ record: SpaceDigest) -> SealedName {
      SealedName(key: nil, bytes: Array(SpaceCrypto.code(record.bytes, key: key).prefix(SealedName.recordBytes)))
    }

    func seal(_ record: SignedRecord) throws -> [UInt8] {
      try SpaceCrypto.seal(record.bytes, key: recordKey(name(record.record.id)), nonce: Self.nonce)
    }

    /// - Throws: `SpaceError`: `malformed` if it is not the record of the name, or cannot be read; `newerVersion`.
    func open(_ name: SealedName, _ content: [UInt8]) throws -> SignedRecord {
      guard content.count <= SpaceLimits.keyRecordBytes + SpaceCrypto.tagBytes,
        let bytes = SpaceCrypto.open(content, key: recordKey(name), nonce: Self.nonce)
      else { throw SpaceError(.malformed, "a record does not open") }
      let record = try SignedRecord(bytes)
      guard self.name(record.record.id).bytes == name.bytes else {
        throw SpaceError(.malformed, "a record has another one's name")
      }
      return record
    }

    /// Each name is of one content, so no nonce is used twice.
    private static let nonce = [UInt8](repeating: 0, count: SpaceCrypto.nonceBytes)

    private func recordKey(_ name: SealedName) -> [UInt8] {
      SpaceCrypto.derive(key, salt: name.bytes, info: Array("tally member 1".utf8))
    }
  }
#endif
