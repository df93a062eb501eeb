#if Spaces
  /// A sealed file of a space: where its parts lie, and who has sealed it.
  ///
  /// ```
  /// plain  = device 4 · flags 1 · signature 64 · [SHA-256 of the content 32] · content · zeros
  /// signed = "tally seal 1" · space · key 32 · entry · SHA-256 of the content in the first piece · [SHA-256 of it all]
  /// ```
  /// The name is made with the signature, so it is bound by it.
  /// The digest of the whole content stands there if there is more than one piece. The zeros hide the size, to about a
  /// tenth and less for large files (Padmé: lbarman.ch/blog/padme).
  struct SealedFile: Sendable {
    let name: SealedName
    let entry: SealedEntry
    let key: SpaceKey
    let pieces: SealedPieces
    /// The number of bytes before the content.
    let prefixCount: Int

    private static let (deviceBytes, flagsBytes) = (4, 1)
    private static let shortPrefix = deviceBytes + flagsBytes + SpaceCrypto.signatureBytes

    init(_ name: SealedName, _ entry: SealedEntry, _ key: SpaceKey) {
      (self.name, self.entry, self.key) = (name, entry, key)
      prefixCount = Self.prefixCount(entry)
      pieces = SealedPieces(key: key.pieceKey(name), byteCount: Self.padded(prefixCount + entry.byteCount))
    }

    private static func prefixCount(_ entry: SealedEntry) -> Int {
      padded(shortPrefix + entry.byteCount) <= SealedPieces.pieceBytes
        ? shortPrefix : shortPrefix + SpaceDigest.byteCount
    }

    /// The part of a content that lies in the first piece.
    static func firstContent(of entry: SealedEntry) -> Range<Int> {
      0..<min(entry.byteCount, SealedPieces.pieceBytes - prefixCount(entry))
    }

    /// Opens a name; nil if it was not made with this key.
    init?(_ name: SealedName, _ key: SpaceKey) {
      guard let entry = name.entry(key) else { return nil }
      self.init(name, entry, key)
    }

    /// The next size that has few digits in binary.
    static func padded(_ count: Int) -> Int {
      guard count > 1 else { return count }
      let exponent = Int.bitWidth - 1 - count.leadingZeroBitCount
      let bits = Int.bitWidth - exponent.leadingZeroBitCount
      let mask = 1 << max(0, exponent - bits) - 1
      return (count + mask) & ~mask
    }

    // MARK: The content

    /// The part of the content that lies in a piece.
    func content(ofPiece piece: Int) -> Range<Int> {
      let range = pieces.range(ofPiece: piece)
      let end = prefixCount + entry.byteCount
      let (low, high) = (max(range.lowerBound, prefixCount), min(range.upperBound, end))
      return low < high ? low - prefixCount..<high - prefixCount : 0..<0
    }

    /// The piece in which a byte of the content lies.
    func piece(ofContent offset: Int) -> Int { (prefixCount + offset) / SealedPieces.pieceBytes }

    /// The last piece that holds any of the content. Those after it are zeros.
    var lastContentPiece: Int { piece(ofContent: max(0, entry.byteCount - 1)) }

    // MARK: Sealing

    /// Who seals a file, and the signature. The place may get it in several tries, which need the same one.
    struct Seal: Sendable, Hashable {
      var device: MemberID
      var signature: [UInt8]
    }

    private static func signed(
      _ entry: SealedEntry, _ key: SpaceKey, first: SpaceDigest, whole: SpaceDigest
    ) -> [UInt8] {
      Array("tally seal 1".utf8) + key.space.bytes + key.id.bytes + entry.bytes + first.bytes
        + (prefixCount(entry) == shortPrefix ? [] : whole.bytes)
    }

    private var isShort: Bool { prefixCount == Self.shortPrefix }

    /// Signs a file, of which `first` is the content in the first piece and `whole` the digest of the whole content.
    static func seal(
      _ entry: SealedEntry, _ key: SpaceKey, first: [UInt8], whole: SpaceDigest, by device: MemberID, _ keys: MemberKeys
    ) throws -> Seal {
      let signed = signed(entry, key, first: SpaceCrypto.digest(first), whole: whole)
      return Seal(device: device, signature: try keys.signature(of: signed))
    }

    /// Returns a piece, sealed. `content` gives a part of the content.
    func sealed(
      _ piece: Int, _ seal: Seal, whole: SpaceDigest, content: (Range<Int>) throws -> [UInt8]
    ) throws -> [UInt8] {
      var plain: [UInt8] = []
      if piece == 0 {
        plain += seal.device.bytes.prefix(Self.deviceBytes) + [0] + seal.signature
        if !isShort { plain += whole.bytes }
      }
      plain += try content(self.content(ofPiece: piece))
      let count = pieces.range(ofPiece: piece).count
      plain += Array(repeating: 0, count: count - plain.count)
      return try pieces.seal(plain, piece: piece)
    }

    // MARK: Opening

    /// What the first piece says, once it is verified.
    struct Opened: Sendable {
      var device: MemberID
      /// The content in the first piece.
      var first: [UInt8]
      /// The digest of the whole content. If there are more pieces, it is still to be compared.
      var whole: SpaceDigest
      /// The number by which a removal keeps the file.
      var file: SpaceDigest
    }

    /// Opens the first piece and checks its signature. `members` are all devices that have ever been in the space, with
    /// their signing keys.
    /// - Throws: `SpaceError`: `malformed`, also if the name is not that of the content; `wrongSignature`,
    ///   `sealerNotPresent`, `newerVersion`.
    func open(first sealed: some Collection<UInt8>, members: [MemberID: SpaceDigest]) throws -> Opened {
      guard let plain = pieces.open(sealed, piece: 0) else {
        throw SpaceError(.malformed, "the first piece of a file does not open")
      }
      guard plain[Self.deviceBytes] == 0 else { throw SpaceError(.newerVersion, "a file has unknown flags") }
      let signature = Array(plain[Self.deviceBytes + Self.flagsBytes..<Self.shortPrefix])
      let range = content(ofPiece: 0)
      let first = Array(plain[prefixCount..<prefixCount + range.count])
      try checkZeros(plain, piece: 0)
      let digest = SpaceCrypto.digest(first)
      guard let whole = isShort ? digest : SpaceDigest(plain[Self.shortPrefix..<prefixCount]) else {
        throw SpaceError(.malformed, "the first piece of a file is cut")
      }
      let signed = Self.signed(entry, key, first: digest, whole: whole)
      let sealers = members.filter {
        $0.key.bytes.prefix(Self.deviceBytes).elementsEqual(plain.prefix(Self.deviceBytes))
      }
      for (device, key) in sealers.sorted(by: { $0.key < $1.key })
      where SpaceCrypto.isValid(signature, of: signed, by: key) {
        guard name.isName(of: entry, content: whole, by: device, signature: signature, key: self.key) else {
          throw SpaceError(.malformed, "a file has another one's name")
        }
        return Opened(device: device, first: first, whole: whole, file: number(whole))
      }
      throw SpaceError(
        sealers.isEmpty ? .sealerNotPresent : .wrongSignature, "no device of the space has signed a file")
    }

    /// Opens a further piece.
    /// - Throws: `SpaceError.malformed`.
    func open(_ sealed: some Collection<UInt8>, piece: Int) throws -> [UInt8] {
      guard let plain = pieces.open(sealed, piece: piece) else {
        throw SpaceError(.malformed, "a piece of a file does not open")
      }
      try checkZeros(plain, piece: piece)
      let range = content(ofPiece: piece)
      let start = prefixCount + range.lowerBound - pieces.range(ofPiece: piece).lowerBound
      return range.isEmpty ? [] : Array(plain[start..<start + range.count])
    }

    /// The number by which a removal keeps the file: of its name and its content, so that no other content takes its
    /// place.
    func number(_ whole: SpaceDigest) -> SpaceDigest {
      SpaceCrypto.digest(Array("tally kept 1".utf8), name.bytes, whole.bytes)
    }

    /// One content has one form: after its end there are zeros.
    private func checkZeros(_ plain: [UInt8], piece: Int) throws {
      let end = prefixCount + entry.byteCount - pieces.range(ofPiece: piece).lowerBound
      guard plain.dropFirst(max(0, end)).allSatisfy({ $0 == 0 }) else {
        throw SpaceError(.malformed, "a file goes on after its end")
      }
    }
  }
#endif
