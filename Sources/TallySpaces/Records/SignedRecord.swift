#if Spaces
  import TallyWire

  /// A record with its bytes. Whether its signatures are right is for ``SpaceRecordSet`` to say.
  ///
  /// ```
  /// record = version 01 · operation · author 16 · count, parents 32 each · content · signature 64
  /// ```
  /// A record of a later version has another content alone, so its author and its signature are checked as well.
  package struct SignedRecord: Sendable, Hashable {
    package let record: SpaceRecord
    package let bytes: [UInt8]

    static let version: UInt8 = 1

    /// Reads a record. It refuses everything that the encoder would not write. A record of a later version is read as
    /// `SpaceRecord.Operation.newer`.
    /// - Throws: `SpaceError`: `newerVersion` for the first record of a space of another suite, or else `malformed`.
    package init(_ bytes: [UInt8]) throws {
      guard bytes.count <= SpaceLimits.keyRecordBytes else { throw SpaceError(.malformed, "a record is too long") }
      do {
        record = try bytes.withUnsafeBytes { bytes throws(WireError) in try SpaceRecord(decoding: bytes) }
      } catch let error as WireError {
        throw SpaceError(error.code == .unsupportedVersion ? .newerVersion : .malformed, error.message)
      }
      self.bytes = bytes
    }

    /// Says something: encodes and signs it.
    /// - Parameters:
    ///   - operation: what is said.
    ///   - space: the space of which it is said; a signature is worth nothing in another one.
    ///   - author: the id of the keys.
    ///   - parents: the newest records that the author has (`Membership.heads`).
    ///   - keys: the author's keys.
    ///   - invitation: the keys of the invitation, for a `join`.
    /// - Throws: `SpaceError.malformed` for what no record can hold.
    package init(
      _ operation: SpaceRecord.Operation, in space: SpaceID, by author: MemberID, after parents: Set<SpaceDigest>,
      keys: MemberKeys, invitation: MemberKeys? = nil
    ) throws {
      var writer = ByteWriter()
      SpaceRecord.encode(operation, author: author, parents: parents.sorted(), to: &writer)
      if case .join = operation {
        guard let invitation else { throw SpaceError(.malformed, "a device joins with the keys of an invitation") }
        writer.bytes += try invitation.signature(of: Self.proven(writer.bytes, in: space))
      }
      writer.bytes += try keys.signature(of: Self.signed(writer.bytes, in: space))
      try self.init(writer.bytes)
    }

    // MARK: Signatures

    private var body: ArraySlice<UInt8> { bytes.dropLast(SpaceCrypto.signatureBytes) }

    private static func signed(_ body: some Sequence<UInt8>, in space: SpaceID) -> [UInt8] {
      Array("tally record 1".utf8) + space.bytes + body
    }

    private static func proven(_ body: some Sequence<UInt8>, in space: SpaceID) -> [UInt8] {
      Array("tally join 1".utf8) + space.bytes + body
    }

    /// Whether the record was signed with a key.
    func isSigned(by key: SpaceDigest, in space: SpaceID) -> Bool {
      SpaceCrypto.isValid(bytes.suffix(SpaceCrypto.signatureBytes), of: Self.signed(body, in: space), by: key)
    }

    /// Whether a join was made with the keys of an invitation.
    func isProven(by key: SpaceDigest, in space: SpaceID) -> Bool {
      let count = SpaceCrypto.signatureBytes
      return SpaceCrypto.isValid(body.suffix(count), of: Self.proven(body.dropLast(count), in: space), by: key)
    }
  }

  /// The sixteen bytes by which a space is known: the beginning of a SHA-256 over its recovery signing key. So the id
  /// proves the first record, and that all that follow.
  package typealias SpaceID = MemberID

  extension MemberID {
    /// The id of the space of a recovery signing key.
    package static func space(of recovery: SpaceDigest) -> SpaceID {
      shortened(SpaceCrypto.digest(Array("tally space 1".utf8), recovery.bytes))
    }

    /// The id that public keys have in a space.
    package init(_ keys: SpaceRecord.PublicKeys, in space: SpaceID) {
      self = Self.shortened(
        SpaceCrypto.digest(Array("tally device 1".utf8), space.bytes, keys.signing.bytes, keys.sealing.bytes))
    }

    private static func shortened(_ digest: SpaceDigest) -> MemberID {
      guard let id = MemberID(digest.bytes.prefix(byteCount)) else { preconditionFailure("a digest has 32 bytes") }
      return id
    }
  }
#endif
