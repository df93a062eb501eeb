#if Spaces
  import TallyCRDT
  import TallyWire

  /// What is kept of a place between processes.
  extension SealedMailbox {
    /// The most files of a place that are noted as verified; what is beyond that is read again.
    private static let mostNotes = 50_000

    func fileNote(_ outer: String) -> String { "file \(placeTag) \(outer)" }
    private var recordsNote: String { "there \(placeTag)" }
    func sealNote(_ outer: String) -> String { Self.sealNotes + outer }

    private static let sealNotes = "seal "

    static func remembered(_ memory: any SpaceMemory, _ placeTag: String) throws -> SealedListing {
      var listing = SealedListing()
      let (files, records) = ("file \(placeTag) ", "there \(placeTag)")
      for (name, value) in try memory.values() {
        if name.hasPrefix(files), let verified = SealedListing.Verified(value) {
          listing.verified[String(name.dropFirst(files.count))] = verified
        }
        if name.hasPrefix(sealNotes), value.count == SpaceCrypto.signatureBytes {
          listing.seals[String(name.dropFirst(sealNotes.count))] = value
        }
        if name == records, value.count.isMultiple(of: SealedName.recordBytes) {
          let starts = stride(from: 0, to: value.count, by: SealedName.recordBytes)
          listing.records = Set(
            starts.map { SealedName(key: nil, bytes: Array(value[$0...].prefix(SealedName.recordBytes))) })
        }
      }
      return listing
    }

    /// Notes what was verified, and which records the place has.
    func note(verified: [String: SealedListing.Verified], areRecordsNew: Bool) throws {
      var values: [String: [UInt8]?] = [:]
      let (count, records) = listing.withLock { ($0.verified.count, $0.records) }
      if count <= Self.mostNotes {
        for (outer, file) in verified { values[fileNote(outer)] = .some(file.bytes) }
      }
      if areRecordsNew {
        let names = (records ?? []).filter { !$0.isCopy }.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
        values[recordsNote] = .some(names.flatMap { $0 })
      }
      if !values.isEmpty { try memory.keep(values) }
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
