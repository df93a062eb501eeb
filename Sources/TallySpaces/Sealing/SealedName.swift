#if Spaces
  import TallyCRDT
  import TallySync

  /// The name of a sealed file or record in a place. It tells a host the space and the key, four bytes of each, and
  /// that there is a file or a record; and a member what the file is, before its content has come.
  ///
  /// ```
  /// tally2-SSSSSSSS-KKKKKKKK-N.s        S: the space's tag    K: the first four bytes of the key's digest
  /// tally2-SSSSSSSS-m-N.m               N: base32, of 65 bytes in a file's name and of 20 in a record's
  /// ```
  struct SealedName: Hashable, Sendable {
    /// What a name in a place can be.
    enum Parsed: Hashable {
      case file(SealedName)
      case record(SealedName)
      /// A name of a later version of the scheme.
      case newer
      /// Of another space or another program.
      case foreign
    }

    static let version: UInt8 = 2
    static let (fileBytes, recordBytes, tagBytes) = (12 + SealedEntry.byteCount + 16, 20, 4)

    /// The first bytes of the key's digest; nil in a record's name.
    let key: [UInt8]?
    /// The bytes of N.
    let bytes: [UInt8]
    /// Whether a drive has added something to the name.
    let isCopy: Bool

    init(key: [UInt8]?, bytes: [UInt8], isCopy: Bool = false) {
      (self.key, self.bytes, self.isCopy) = (key, bytes, isCopy)
    }

    /// The name in a space with a tag.
    func text(tag: [UInt8]) -> String {
      let (middle, end) = key.map { (Hexadecimal.text($0), "s") } ?? ("m", "m")
      return "\(MailboxFileName.prefix)\(Self.version)-\(Hexadecimal.text(tag))-\(middle)-\(Base32.text(bytes)).\(end)"
    }

    /// Reads a name in either case, also if a drive has added something after its bytes.
    static func parse(_ text: String, tag: [UInt8]) -> Parsed {
      let parts = text.lowercased().split(separator: "-", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 4, parts[0].hasPrefix(MailboxFileName.prefix) else { return .foreign }
      guard let version = UInt64(parts[0].dropFirst(MailboxFileName.prefix.count)), version >= Self.version else {
        return .foreign
      }
      guard version == Self.version else { return .newer }
      guard Hexadecimal.bytes(String(parts[1])) == tag else { return .foreign }
      let isRecord = parts[2] == "m"
      let count = isRecord ? recordBytes : fileBytes
      let digits = parts[3].prefix((count * 8 + 4) / 5)
      let (tail, end) = (parts[3].dropFirst(digits.count), isRecord ? ".m" : ".s")
      guard let bytes = Base32.bytes(digits), bytes.count == count, tail.contains(end) else { return .foreign }
      if isRecord { return .record(SealedName(key: nil, bytes: bytes, isCopy: tail != end)) }
      guard let key = Hexadecimal.bytes(String(parts[2])), key.count == tagBytes else { return .foreign }
      return .file(SealedName(key: key, bytes: bytes, isCopy: tail != end))
    }

    // MARK: Files

    /// The name of a content that a device seals, with its signature: the same for the same content, device, key and
    /// signature. Everything in a file so depends on its name, and no nonce is used for two contents, also where
    /// signatures are drawn at random and by a copied device.
    init(
      _ entry: SealedEntry, content: SpaceDigest, by device: MemberID, signature: [UInt8], key: SpaceKey
    ) throws {
      let nonce = Self.nonce(entry, content: content, by: device, signature: signature, key: key)
      let sealed = try SpaceCrypto.seal(entry.bytes, key: key.nameKey, nonce: nonce, authenticating: key.space.bytes)
      self.init(key: Array(key.id.bytes.prefix(Self.tagBytes)), bytes: nonce + sealed)
    }

    private static func nonce(
      _ entry: SealedEntry, content: SpaceDigest, by device: MemberID, signature: [UInt8], key: SpaceKey
    ) -> [UInt8] {
      let code = SpaceCrypto.code(device.bytes, entry.bytes, content.bytes, signature, key: key.nameKey)
      return Array(code.prefix(SpaceCrypto.nonceBytes))
    }

    /// Whether the name is the one of a content that a device has sealed.
    func isName(
      of entry: SealedEntry, content: SpaceDigest, by device: MemberID, signature: [UInt8], key: SpaceKey
    ) -> Bool {
      bytes.starts(with: Self.nonce(entry, content: content, by: device, signature: signature, key: key))
    }

    /// What a file is; nil if the name was not made with this key in this space.
    func entry(_ key: SpaceKey) -> SealedEntry? {
      let (nonce, sealed) = (Array(bytes.prefix(12)), bytes.dropFirst(12))
      let plain = SpaceCrypto.open(sealed, key: key.nameKey, nonce: nonce, authenticating: key.space.bytes)
      return plain.flatMap(SealedEntry.init)
    }
  }

  /// What the name of a sealed file says: the name that the file has for a pass, and the number of its bytes.
  struct SealedEntry: Hashable, Sendable {
    static let byteCount = 1 + 16 + 6 + 8 + 6
    /// The largest number of a sequence or of bytes.
    static let largest: UInt64 = 1 << 48 - 1
    private static let kinds: [MailboxFileName.Kind] = [.delta, .snapshot, .repair]

    let name: MailboxFileName
    let byteCount: Int

    /// Creates an entry; nil for a name that cannot be sealed: of another zone, or with numbers that are too large.
    init?(_ name: MailboxFileName, byteCount: Int) {
      guard name.zone == .default, name.sequence <= Self.largest, (0...Int(Self.largest)).contains(byteCount) else {
        return nil
      }
      (self.name, self.byteCount) = (name, byteCount)
    }

    var bytes: [UInt8] {
      let kind = UInt8(Self.kinds.firstIndex(of: name.kind) ?? 0)
      return [kind] + name.replica.high.bigEndianBytes + name.replica.low.bigEndianBytes
        + name.sequence.bigEndianBytes.suffix(6) + name.check.bigEndianBytes
        + UInt64(byteCount).bigEndianBytes.suffix(6)
    }

    init?(_ bytes: [UInt8]) {
      guard bytes.count == Self.byteCount, Int(bytes[0]) < Self.kinds.count else { return nil }
      let number = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
      name = MailboxFileName(
        replica: ReplicaID(high: number(1..<9), low: number(9..<17)), sequence: number(17..<23),
        check: number(23..<31), kind: Self.kinds[Int(bytes[0])])
      byteCount = Int(number(31..<37))
    }
  }
#endif
