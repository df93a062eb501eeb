#if Spaces
  /// A key that seals files, with what is made of it. There are many in a space, and one is in use.
  package struct SpaceKey: Sendable {
    /// The SHA-256 of the key, by which records name it.
    package let id: SpaceDigest
    let space: SpaceID
    let secret: [UInt8]
    /// Seals the names of files.
    let nameKey: [UInt8]

    /// Creates a key from its bytes; nil unless there are 32.
    package init?(_ secret: [UInt8], space: SpaceID) {
      guard secret.count == SpaceCrypto.keyBytes else { return nil }
      (self.secret, self.space) = (secret, space)
      id = SpaceCrypto.digest(secret)
      nameKey = SpaceCrypto.derive(secret, info: Array("tally name 1".utf8) + space.bytes)
    }

    /// The key of the pieces of one file. The file's name is part of it, so a body under another name does not open.
    func pieceKey(_ name: SealedName) -> [UInt8] {
      let both = SpaceCrypto.derive(secret, salt: name.bytes, info: Array("tally file 1".utf8) + space.bytes)
      // As age makes it of its file key and of the nonce before the payload.
      return SpaceCrypto.derive(Array(both.prefix(16)), salt: Array(both.suffix(16)), info: Array("payload".utf8))
    }
  }
#endif
