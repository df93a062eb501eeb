import TallyCRDT

/// A header of a delta in a mailbox that names another entry of the mailbox for its vectors and says only where they
/// differ from that entry's target (`Docs/WireFormat.md`, section 3.1). Without it, one changed field costs 18 bytes
/// for each replica that has ever written.
///
/// A mailbox resolves it when it reads the entry; nothing else knows of it, and the rest of the delta is the same
/// bytes. The reference is an entry with an ordinary header, so no chain of names has to be followed.
package struct RelativeHeader: Hashable, Sendable {
  /// The name of another entry, in the parts that vary.
  package struct Reference: Hashable, Sendable {
    /// The replica that has put it, and its own transactions that it leads to.
    package var writer: ReplicaID
    package var sequence: UInt64
    /// The checksum at its end.
    package var check: UInt64
    /// The number of its kind; the mailbox numbers the kinds.
    package var kind: UInt8

    package init(writer: ReplicaID, sequence: UInt64, check: UInt64, kind: UInt8) {
      (self.writer, self.sequence, self.check, self.kind) = (writer, sequence, check, kind)
    }
  }

  private struct Change: Hashable {
    var replica: ReplicaID
    var base, advance: UInt64
    /// At most 2^63 - 1, which decoding ensures.
    var target: UInt64 { base + advance }
  }

  package let reference: Reference
  /// The hash of the vector to which the reference leads: what is resolved by another vector would pass for something
  /// that it is not, and the checksum at the end knows nothing of the reference's bytes.
  package let vectorHash: UInt64
  private let version: UInt8
  private let zone: ZoneID
  private let fingerprint: Fingerprint?
  private let changes: [Change]

  /// The header that says the same of a delta as `header`; nil unless the base of that covers the target of the
  /// reference, `vector`.
  package init?(_ header: DeltaHeader, since vector: StateVector, of reference: Reference) {
    guard header.base.covers(vector) else { return nil }
    (self.reference, vectorHash) = (reference, vector.sipHash)
    (version, zone, fingerprint) = (header.version, header.zone, header.fingerprint)
    changes = header.target.entries.compactMap { entry in
      guard entry.sequence > vector[entry.replica] else { return nil }
      let base = header.base[entry.replica]
      return Change(replica: entry.replica, base: base, advance: entry.sequence - base)
    }
  }

  private init(_ header: DeltaHeader, _ reference: Reference, _ vectorHash: UInt64, _ changes: [Change]) {
    (version, zone, fingerprint) = (header.version, header.zone, header.fingerprint)
    (self.reference, self.vectorHash, self.changes) = (reference, vectorHash, changes)
  }

  /// The number of replicas that are listed.
  package var changeCount: Int { changes.count }

  /// The sequence of a replica to which the delta leads; nil if it is the one of the reference.
  package func target(of replica: ReplicaID) -> UInt64? { changes.first { $0.replica == replica }?.target }

  /// Whether a vector covers everything that the delta holds, which can be told without the reference: of a replica
  /// that is not listed it holds nothing.
  package func isCovered(by vector: StateVector) -> Bool {
    changes.allSatisfy { $0.advance == 0 || $0.target <= vector[$0.replica] }
  }

  /// Returns the ordinary header, given the target of the reference. Its hash is for the caller to compare.
  /// - Throws: `WireError.malformed` if a replica is listed whose sequence is the same, or is behind;
  ///   `.limitExceeded` for too many replicas.
  package func resolved(by vector: StateVector) throws(WireError) -> DeltaHeader {
    guard vector.count + changes.lazy.filter({ vector[$0.replica] == 0 }).count <= WireLimits.replicas else {
      throw WireError(.limitExceeded, "a header has more than \(WireLimits.replicas) replicas")
    }
    for change in changes {
      let known = vector[change.replica]
      guard change.base >= known, change.target > known else {
        throw WireError(.malformed, "a header lists what has not changed")
      }
    }
    // Of two entries of one replica the greater counts.
    let base = StateVector(vector.entries.map { ($0.replica, $0.sequence) } + changes.map { ($0.replica, $0.base) })
    let target = StateVector(vector.entries.map { ($0.replica, $0.sequence) } + changes.map { ($0.replica, $0.target) })
    return DeltaHeader(zone: zone, base: base, target: target, fingerprint: fingerprint, version: version)
  }

  /// Whether `header` may be what this one resolves to: it says the same, as far as that can be told without the
  /// reference.
  package func isForm(of header: DeltaHeader) -> Bool {
    guard (version, zone, fingerprint) == (header.version, header.zone, header.fingerprint) else { return false }
    var rest = changes[...]
    for entry in header.target.entries {
      let base = header.base[entry.replica]
      if let change = rest.first, change.replica == entry.replica {
        guard (change.base, change.target) == (base, entry.sequence) else { return false }
        rest = rest.dropFirst()
      } else if entry.sequence > base {
        return false
      }
    }
    return rest.isEmpty
  }

  // MARK: Bytes

  /// Appends the bytes that stand at the beginning of a delta.
  package func encode(to writer: inout ByteWriter) {
    writer.bytes += DeltaHeader.magic
    writer.byte(version)
    writer.byte(DeltaHeader.flags(zone, fingerprint) | DeltaHeader.Flags.reference)
    writer.replica(reference.writer)
    writer.varint(reference.sequence)
    writer.fixed(reference.check)
    writer.byte(reference.kind)
    writer.fixed(vectorHash)
    writer.varint(changes.count)
    for change in changes {
      writer.replica(change.replica)
      writer.varint(change.base)
      writer.varint(change.advance)
    }
    DeltaHeader.encodeTail(zone, fingerprint, to: &writer)
  }

  /// The bytes that stand at the beginning of a delta.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  package var byteCount: Int { bytes.count }

  fileprivate init(_ reader: inout ByteReader, version: UInt8, flags: UInt8) throws(WireError) {
    let reference = Reference(
      writer: try reader.replica(), sequence: try reader.varint(), check: try reader.fixed(), kind: try reader.byte())
    guard reference.sequence <= UInt64(Int64.max) else {
      throw WireError(.malformed, "a sequence is out of range")
    }
    let vectorHash = try reader.fixed()
    var changes: [Change] = []
    for _ in 0..<(try reader.count(limit: WireLimits.replicas, "replicas")) {
      let change = Change(replica: try reader.replica(), base: try reader.varint(), advance: try reader.varint())
      if let last = changes.last?.replica, !(last < change.replica) {
        throw WireError(.malformed, "the replicas are not ascending")
      }
      let limit = UInt64(Int64.max)
      guard change.base <= limit, change.advance <= limit - change.base, change.target > 0 else {
        throw WireError(.malformed, "a sequence is out of range")
      }
      changes.append(change)
    }
    var header = DeltaHeader(base: StateVector(), target: StateVector(), version: version)
    try header.decodeTail(&reader, flags)
    self.init(header, reference, vectorHash, changes)
  }
}

/// The header of a delta in a mailbox, in either of its forms.
package enum MailboxHeader: Hashable, Sendable {
  case ordinary(DeltaHeader)
  case relative(RelativeHeader)

  /// Reads a header from the start of `bytes`, or nil if there are not enough bytes yet.
  package static func decode(_ bytes: [UInt8]) throws(WireError) -> (header: MailboxHeader, length: Int)? {
    let result: Result<(MailboxHeader, Int)?, WireError> = bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      do throws(WireError) {
        let (version, flags) = try DeltaHeader.decodeHead(&reader)
        guard flags & DeltaHeader.Flags.reference == 0 else {
          let header = try RelativeHeader(&reader, version: version, flags: flags)
          return .success((.relative(header), reader.offset))
        }
        var header = DeltaHeader(base: StateVector(), target: StateVector(), version: version)
        try header.decodeRest(&reader, flags)
        return .success((.ordinary(header), reader.offset))
      } catch {
        return error.code == .truncated ? .success(nil) : .failure(error)
      }
    }
    return try result.get()
  }
}
