#if Spaces
  import TallyCRDT
  import TallyWire

  /// What is kept of a place between processes.
  extension SealedMailbox {
    /// The most files of a place that are noted as verified; what is beyond that is read again.
    private static let mostNotes = 50_000

    func fileNote(_ outer: String) -> String { "file \(placeTag) \(outer)" }
    private var recordsNote: String { "there \(placeTag)" }
    private var sealNote: String { "seal \(placeTag)" }

    /// The bytes that tell what was compared with a record, and that nothing was.
    static let checkBytes = 8
    static let unchecked = [UInt8](repeating: 0, count: checkBytes)

    func remembered() throws -> SealedListing {
      var listing = SealedListing()
      let (files, records, seal) = (fileNote(""), recordsNote, sealNote)
      let recordBytes = SealedName.recordBytes + Self.checkBytes
      for (name, value) in try memory.values() {
        if name.hasPrefix(files), let verified = SealedListing.Verified(value) {
          listing.verified[String(name.dropFirst(files.count))] = verified
        }
        if name == seal, value.count == SpaceDigest.byteCount + SpaceCrypto.signatureBytes,
          let upload = SpaceDigest(value.prefix(SpaceDigest.byteCount))
        {
          listing.seal = .init(upload: upload, signature: Array(value.suffix(SpaceCrypto.signatureBytes)))
        }
        if name == records, value.count.isMultiple(of: recordBytes) {
          listing.records = [:]
          for start in stride(from: 0, to: value.count, by: recordBytes) {
            let bytes = value[start..<start + recordBytes]
            let name = SealedName(key: nil, bytes: Array(bytes.prefix(SealedName.recordBytes)))
            listing.records?[name] = Array(bytes.suffix(Self.checkBytes))
          }
        }
      }
      return listing
    }

    /// Notes what was verified, and forgets what is gone.
    func note(verified: [String: SealedListing.Verified] = [:], gone: [String] = []) throws {
      var values: [String: [UInt8]?] = [:]
      for outer in gone { values.updateValue(nil, forKey: fileNote(outer)) }
      if listing.withLock({ $0.verified.count }) <= Self.mostNotes {
        for (outer, file) in verified { values[fileNote(outer)] = .some(file.bytes) }
      }
      if !values.isEmpty { try memory.keep(values) }
    }

    /// Notes which records the place has.
    func noteRecords() throws {
      let records = listing.withLock { $0.records ?? [:] }
      let ordered = records.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
      try memory.keep([recordsNote: .some(ordered.flatMap { $0.key.bytes + $0.value })])
    }

    /// Notes the signature of an upload, in the place of the one before: each place gets one file after the other.
    func note(_ seal: SealedListing.OpenSeal) throws {
      try memory.keep([sealNote: .some(seal.upload.bytes + seal.signature)])
      listing.withLock { $0.seal = seal }
    }
  }

  extension SealedListing.Verified {
    var bytes: [UInt8] {
      var writer = ByteWriter()
      writer.bytes += device.bytes + file.bytes
      writer.byte(version == nil ? 0 : 1)
      writer.text(version ?? "")
      return writer.bytes
    }

    /// Reads a note; nil if it is none, and then the file is read again.
    init?(_ bytes: [UInt8]) {
      let fixed = MemberID.byteCount + SpaceDigest.byteCount
      guard bytes.count > fixed, let device = MemberID(bytes.prefix(MemberID.byteCount)),
        let file = SpaceDigest(bytes[MemberID.byteCount..<fixed])
      else { return nil }
      let text = try? Array(bytes[(fixed + 1)...]).withUnsafeBytes { rest throws(WireError) in
        var reader = ByteReader(rest)
        return try reader.text(limit: 1 << 12, "a version")
      }
      guard let text else { return nil }
      self.init(device: device, file: file, version: bytes[fixed] == 0 ? nil : text)
    }
  }
#endif
