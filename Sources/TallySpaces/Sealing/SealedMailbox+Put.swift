#if Spaces
  import Synchronization
  import TallySync

  /// Putting files.
  extension SealedMailbox {
    /// Seals an entry and puts it, after the records that the place lacks.
    ///
    /// The same content has the same name and the same bytes for as long as its signature is noted: an upload that
    /// broke off goes on, also in another process. With another signature it has another name, so no name stands for
    /// two contents.
    /// - Throws: `SpaceError` of codes `notPresent`, `behind` and `newerVersion`, where this device must not seal;
    ///   errors of reading the content and of the place. Then nothing is put.
    package func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
      guard case .file(let name) = MailboxFileName.parse(upload.name), !name.isCopy,
        let entry = SealedEntry(name, byteCount: upload.byteCount)
      else { throw MailboxError(.invalidName, "no sealed file has such a name") }
      if listing.withLock({ $0.records == nil }) { _ = try await changes(after: nil) }
      let whole = try Self.digest(of: upload)
      let first = try upload.exactly(SealedFile.firstContent(of: entry))
      let key = try await turn.run { try await keyInPlace() }
      let view = space.view
      let seal = try seal(entry, key, first: first, whole: whole)
      let sealed = try SealedName(
        entry, content: whole, by: space.device, signature: seal.signature, key: key)
      let file = SealedFile(sealed, entry, key)
      let outer = sealed.text(tag: space.tag)
      let source = SealedSource(file: file, seal: seal, whole: whole, upload: upload)
      let receipt = try await place.put(
        MailboxUpload(
          name: outer, byteCount: file.pieces.sealedByteCount, after: placeCursor(upload.cursor, view),
          read: { try source.bytes(from: $0, count: $1) }))
      let verified = SealedListing.Verified(device: space.device, file: file.number(whole), version: nil)
      listing.withLock { listing in
        listing.clear(outer)
        listing.map(outer, to: upload.name)
        listing.verified[outer] = verified
      }
      // What a folder has is read back, once.
      if kind == .log { try note(verified: [outer: verified]) }
      guard upload.cursor == nil || placeCursor(upload.cursor, view) != nil else { return MailboxReceipt() }
      return MailboxReceipt(cursor: sealedCursor(receipt.cursor, view))
    }

    /// The key in use, once the place has all records. Records may come while others are put, and with them a removal:
    /// then the key is no longer in use, and its place is taken by another one whose record has to be there as well.
    private func keyInPlace() async throws -> SpaceKey {
      for _ in 0..<8 {
        let key = try space.sealingKey()
        try await putRecords()
        if try space.sealingKey().id == key.id, missingRecords().isEmpty { return key }
      }
      throw MailboxError(.malformed, "the members of \(place.name) change again and again")
    }

    /// The signature that was noted for an upload, or a new one, which is noted first.
    private func seal(
      _ entry: SealedEntry, _ key: SpaceKey, first: [UInt8], whole: SpaceDigest
    ) throws -> SealedFile.Seal {
      let upload = SpaceCrypto.digest(key.id.bytes, entry.bytes, whole.bytes)
      if let noted = listing.withLock({ $0.seal }), noted.upload == upload {
        return SealedFile.Seal(device: space.device, signature: noted.signature)
      }
      let seal = try SealedFile.seal(entry, key, first: first, whole: whole, by: space.device, space.deviceKeys)
      try note(SealedListing.OpenSeal(upload: upload, signature: seal.signature))
      return seal
    }

    private static func digest(of upload: MailboxUpload) throws -> SpaceDigest {
      var digest = SpaceCrypto.RunningDigest()
      for start in stride(from: 0, to: upload.byteCount, by: SealedPieces.pieceBytes) {
        digest.add(try upload.exactly(start..<min(upload.byteCount, start + SealedPieces.pieceBytes)))
      }
      return digest.digest
    }
  }

  extension MailboxUpload {
    /// A part of the content.
    /// - Throws: errors of reading; `MailboxError.unreadable` if there is less than the upload says.
    fileprivate func exactly(_ range: Range<Int>) throws -> [UInt8] {
      guard !range.isEmpty else { return [] }
      let bytes = try bytes(from: range.lowerBound, count: range.count)
      guard bytes.count == range.count else { throw MailboxError(.unreadable, "an upload ends before its end") }
      return bytes
    }
  }

  /// The bytes of a file as they are sealed, a piece at a time.
  private final class SealedSource: Sendable {
    private let file: SealedFile
    private let seal: SealedFile.Seal
    private let whole: SpaceDigest
    private let upload: MailboxUpload
    private let latest = Mutex<(piece: Int, bytes: [UInt8])?>(nil)

    init(file: SealedFile, seal: SealedFile.Seal, whole: SpaceDigest, upload: MailboxUpload) {
      (self.file, self.seal, self.whole, self.upload) = (file, seal, whole, upload)
    }

    func bytes(from offset: Int, count: Int) throws -> [UInt8] {
      let end = min(file.pieces.sealedByteCount, offset + count)
      var (bytes, next): ([UInt8], Int) = ([], max(0, offset))
      while next < end {
        let piece = next / SealedPieces.sealedPieceBytes
        let range = file.pieces.sealedRange(ofPiece: piece)
        let sealed = try sealed(piece)
        let part = next..<min(end, range.upperBound)
        bytes += sealed[part.lowerBound - range.lowerBound..<part.upperBound - range.lowerBound]
        next = part.upperBound
      }
      return bytes
    }

    private func sealed(_ piece: Int) throws -> [UInt8] {
      if let latest = latest.withLock({ $0 }), latest.piece == piece { return latest.bytes }
      let bytes = try file.sealed(piece, seal, whole: whole) { try upload.exactly($0) }
      latest.withLock { $0 = (piece, bytes) }
      return bytes
    }
  }
#endif
