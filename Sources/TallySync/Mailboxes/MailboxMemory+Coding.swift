import TallyCRDT
import TallyWire

/// The form in which a store's file keeps what it remembers of a mailbox: `Docs/StorageFormat.md`, section 12.
extension MailboxMemory {
  /// The key of the cursor. No entry has a name with a slash.
  static let headKey = "/"
  fileprivate static let version: UInt8 = 1
  /// The version of a note about an entry whose header names another one.
  fileprivate static let referenceVersion: UInt8 = 2
  /// The key of where forgotten entries led to.
  static let pastKey = "/past"

  var encodedPast: [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.referenceVersion)
    writer.varint(past.count)
    for entry in past {
      writer.reference(entry.reference)
      writer.varint(entry.byteCount)
      writer.varint(entry.target.count)
      for entry in entry.target.entries {
        writer.replica(entry.replica)
        writer.varint(entry.sequence)
      }
    }
    return writer.bytes
  }

  static func decodePast(_ bytes: [UInt8]) throws(WireError) -> [Past] {
    try bytes.reading { reader throws(WireError) in
      try reader.version(Self.referenceVersion...Self.referenceVersion)
      var past: [Past] = []
      for _ in 0..<(try reader.count(limit: MailboxLimits.pastEntries, "forgotten entries")) {
        let (reference, byteCount) = (try reader.reference(), try reader.size())
        var entries: [(ReplicaID, UInt64)] = []
        for _ in 0..<(try reader.count(limit: MailboxLimits.pastVectorEntries, "replicas")) {
          entries.append((try reader.replica(), try reader.varint()))
        }
        past.append(Past(reference: reference, target: StateVector(entries), byteCount: byteCount))
      }
      return past
    }
  }

  func encodeHead(_ doubt: Int64) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.version)
    writer.zigzag(doubt)
    writer.byte(cursor == nil ? 0 : 1)
    if let cursor {
      writer.varint(cursor.position)
      writer.text(cursor.entry)
    }
    return writer.bytes
  }

  static func decodeHead(_ bytes: [UInt8]) throws(WireError) -> (MailboxCursor?, doubt: Int64) {
    try bytes.reading { reader throws(WireError) in
      try reader.version(Self.version...Self.version)
      let doubt = try reader.zigzag()
      guard try reader.byte() == 1 else { return (nil, doubt) }
      let position = try reader.varint()
      let entry = try reader.text(limit: MailboxLimits.identityBytes, "a cursor")
      return (MailboxCursor(position: position, entry: entry), doubt)
    }
  }
}

extension MailboxMemory.Entry {
  private enum Flag {
    static let version: UInt8 = 1, byteCount: UInt8 = 2, content: UInt8 = 4, verified: UInt8 = 8, joined: UInt8 = 16
    static let unreadable: UInt8 = 32, behindCursor: UInt8 = 64, stale: UInt8 = 128
  }

  /// The second byte of flags, which only notes of version 2 have.
  private enum ReferenceFlag {
    static let named: UInt8 = 1, relative: UInt8 = 2
  }

  var encoded: [UInt8] {
    var writer = ByteWriter()
    let reference = content?.reference
    let isOrdinary = reference == nil && relative == nil
    writer.byte(isOrdinary ? MailboxMemory.version : MailboxMemory.referenceVersion)
    if !isOrdinary {
      writer.byte((reference == nil ? 0 : ReferenceFlag.named) | (relative == nil ? 0 : ReferenceFlag.relative))
    }
    writer.byte(
      (version == nil ? 0 : Flag.version) | (byteCount == nil ? 0 : Flag.byteCount)
        | (content == nil ? 0 : Flag.content) | (isVerified ? Flag.verified : 0) | (isJoined ? Flag.joined : 0)
        | (unreadableHead == nil ? 0 : Flag.unreadable) | (isBehindCursor ? Flag.behindCursor : 0)
        | (staleSince == nil ? 0 : Flag.stale))
    if let version { writer.text(version) }
    if let byteCount { writer.varint(byteCount) }
    if let content {
      var header = ByteWriter()
      content.header.encode(to: &header)
      writer.varint(header.bytes.count)
      writer.bytes += header.bytes
      writer.fixed(content.check)
      writer.varint(content.byteCount)
      if let reference { writer.reference(reference) }
    }
    if let relative {
      let bytes = relative.bytes
      writer.varint(bytes.count)
      writer.bytes += bytes
    }
    if let unreadableHead {
      writer.varint(unreadableHead.count)
      writer.bytes += unreadableHead
    }
    if let staleSince { writer.zigzag(Int64(staleSince)) }
    return writer.bytes
  }

  init(_ bytes: [UInt8]) throws(WireError) {
    self = try bytes.reading { reader throws(WireError) in
      let version = try reader.version(MailboxMemory.version...MailboxMemory.referenceVersion)
      let references = version == MailboxMemory.version ? 0 : try reader.byte()
      let flags = try reader.byte()
      var entry = MailboxMemory.Entry()
      if flags & Flag.version != 0 { entry.version = try reader.text(limit: .max, "a version") }
      if flags & Flag.byteCount != 0 { entry.byteCount = try reader.size() }
      if flags & Flag.content != 0 {
        let header = try Self.header(Array(try reader.bytes()))
        var content = EntryContent(header: header, check: try reader.fixed(), byteCount: try reader.size())
        if references & ReferenceFlag.named != 0 { content.reference = try reader.reference() }
        entry.content = content
      }
      if references & ReferenceFlag.relative != 0 {
        guard case .relative(let header) = try MailboxHeader.decode(Array(try reader.bytes()))?.header else {
          throw WireError(.malformed, "a header cannot be read")
        }
        entry.relative = header
      }
      if flags & Flag.unreadable != 0 { entry.unreadableHead = Array(try reader.bytes()) }
      if flags & Flag.stale != 0 { entry.staleSince = Int(try reader.zigzag()) }
      (entry.isVerified, entry.isJoined) = (flags & Flag.verified != 0, flags & Flag.joined != 0)
      entry.isBehindCursor = flags & Flag.behindCursor != 0
      return entry
    }
  }

  private static func header(_ bytes: [UInt8]) throws(WireError) -> DeltaHeader {
    do {
      return try DeltaReader(bytes).header
    } catch {
      throw (error as? WireError) ?? WireError(.malformed, "a header cannot be read")
    }
  }
}

extension [UInt8] {
  fileprivate func reading<T>(_ body: (inout ByteReader) throws(WireError) -> T) throws(WireError) -> T {
    let result: Result<T, WireError> = withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      do throws(WireError) { return .success(try body(&reader)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension ByteWriter {
  fileprivate mutating func reference(_ reference: RelativeHeader.Reference) {
    replica(reference.writer)
    varint(reference.sequence)
    fixed(reference.check)
    byte(reference.kind)
  }
}

extension ByteReader {
  fileprivate mutating func reference() throws(WireError) -> RelativeHeader.Reference {
    RelativeHeader.Reference(writer: try replica(), sequence: try varint(), check: try fixed(), kind: try byte())
  }

  @discardableResult
  fileprivate mutating func version(_ known: ClosedRange<UInt8>) throws(WireError) -> UInt8 {
    let version = try byte()
    guard known.contains(version) else { throw WireError(.unsupportedVersion, "a later version has noted this") }
    return version
  }

  fileprivate mutating func size() throws(WireError) -> Int { try count(limit: .max, "a size") }

  fileprivate mutating func bytes() throws(WireError) -> UnsafeRawBufferPointer {
    try take(count(ofElementsWithAtLeast: 1, "bytes"))
  }
}
