#if Spaces
  /// The payload of the age format, without the nonce before it (age-encryption.org/v1): pieces of 64 KiB, each sealed
  /// with ChaCha20-Poly1305. The nonce of a piece is its number and whether it is the last, so pieces cannot be
  /// reordered, left out, or cut off at the end.
  struct SealedPieces: Sendable {
    static let pieceBytes = 1 << 16
    static let sealedPieceBytes = pieceBytes + SpaceCrypto.tagBytes

    let key: [UInt8]
    /// The number of bytes before sealing, one at least.
    let byteCount: Int

    var pieceCount: Int { (byteCount + Self.pieceBytes - 1) / Self.pieceBytes }
    var sealedByteCount: Int { byteCount + pieceCount * SpaceCrypto.tagBytes }

    /// The bytes of a piece, before sealing.
    func range(ofPiece piece: Int) -> Range<Int> {
      piece * Self.pieceBytes..<min(byteCount, (piece + 1) * Self.pieceBytes)
    }

    /// The bytes of a piece as they lie in a place.
    func sealedRange(ofPiece piece: Int) -> Range<Int> {
      piece * Self.sealedPieceBytes..<min(sealedByteCount, (piece + 1) * Self.sealedPieceBytes)
    }

    func seal(_ plain: [UInt8], piece: Int) throws -> [UInt8] {
      try SpaceCrypto.seal(plain, key: key, nonce: nonce(piece))
    }

    /// A piece opened; nil unless it is this one of this file.
    func open(_ sealed: some Collection<UInt8>, piece: Int) -> [UInt8]? {
      guard sealed.count == sealedRange(ofPiece: piece).count else { return nil }
      return SpaceCrypto.open(sealed, key: key, nonce: nonce(piece))
    }

    private func nonce(_ piece: Int) -> [UInt8] {
      [0, 0, 0] + UInt64(piece).bigEndianBytes + [piece == pieceCount - 1 ? 1 : 0]
    }
  }
#endif
