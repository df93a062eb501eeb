import TallyCRDT

/// The unit of sync: what has a state vector of its own. There is one zone so far; the formats know more.
public struct ZoneID: Hashable, Sendable {
  /// The first and last eight bytes.
  public let high, low: UInt64
  /// The zone that every store starts with: all zeros.
  public static let `default` = ZoneID(high: 0, low: 0)
  /// A zone by its sixteen bytes.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The header of a delta, which precedes its blocks.
public struct DeltaHeader: Hashable, Sendable {
  /// The zone that the delta belongs to.
  public var zone: ZoneID
  /// The vector that a receiver must already cover: the delta holds nothing that this covers.
  public var base: StateVector
  /// The vector of a receiver afterwards: the sender's vector in the snapshot that the delta was read in.
  public var target: StateVector
  /// The sender's fingerprint in that snapshot, to compare with when the receiver's vector equals the target
  /// afterwards.
  public var fingerprint: Fingerprint?
  /// The version of the format that the delta is in. Version 3 has counters and places in ordered relationships as
  /// well; what both can say has the same bytes in both.
  public let version: UInt8

  /// A header. `base` is lowered to what `target` covers. Readers refuse a target of more than `WireLimits.replicas`
  /// entries.
  /// - Precondition: `version` is one of `versions`.
  public init(
    zone: ZoneID = .default, base: StateVector, target: StateVector, fingerprint: Fingerprint? = nil,
    version: UInt8 = 2
  ) {
    precondition(Self.versions.contains(version), "there is no version \(version) of the format")
    self.zone = zone
    self.version = version
    let isCovered = target.covers(base)
    self.base = isCovered ? base : StateVector(target.entries.map { ($0.replica, min($0.sequence, base[$0.replica])) })
    self.target = target
    self.fingerprint = fingerprint
  }

  /// The versions of the format that this code reads. It writes the lowest that can say what a delta may hold.
  public static let versions: ClosedRange<UInt8> = 2...3
  static let magic: [UInt8] = [0x54, 0x4C]  // "TL"

  struct Flags {
    static let fingerprint: UInt8 = 1
    static let zone: UInt8 = 2
    static let reference: UInt8 = 4
  }

  static func flags(_ zone: ZoneID, _ fingerprint: Fingerprint?) -> UInt8 {
    (fingerprint == nil ? 0 : Flags.fingerprint) | (zone == .default ? 0 : Flags.zone)
  }

  /// The replicas that the blocks refer to by number.
  var replicas: [ReplicaID] { target.entries.map { $0.replica } }

  /// Appends the bytes that stand at the beginning of a delta.
  package func encode(to writer: inout ByteWriter) {
    writer.bytes += Self.magic
    writer.byte(version)
    writer.byte(Self.flags(zone, fingerprint))
    let entries = target.entries
    writer.varint(entries.count)
    for entry in entries {
      writer.replica(entry.replica)
      writer.varint(base[entry.replica])
      writer.varint(entry.sequence - base[entry.replica])
    }
    Self.encodeTail(zone, fingerprint, to: &writer)
  }

  /// Appends what stands behind the vectors.
  static func encodeTail(_ zone: ZoneID, _ fingerprint: Fingerprint?, to writer: inout ByteWriter) {
    if zone != .default {
      writer.fixed(zone.high)
      writer.fixed(zone.low)
    }
    if let fingerprint {
      writer.fixed(fingerprint.first)
      writer.fixed(fingerprint.second)
    }
  }

  /// The bytes that stand at the beginning of a delta.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  package var byteCount: Int { bytes.count }

  /// Reads a header from the start of `bytes`, or nil if there are not enough bytes yet.
  static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> (DeltaHeader, length: Int)? {
    var reader = ByteReader(bytes)
    do throws(WireError) {
      let header = try decode(&reader)
      return (header, reader.offset)
    } catch  where error.code == .truncated {
      return nil
    }
  }

  private static func decode(_ reader: inout ByteReader) throws(WireError) -> DeltaHeader {
    let (version, flags) = try decodeHead(&reader)
    guard flags & Flags.reference == 0 else {
      throw WireError(
        .unsupportedVersion, "the delta names another entry of its mailbox, and only a sync through that can read it")
    }
    var header = DeltaHeader(base: StateVector(), target: StateVector(), version: version)
    try header.decodeRest(&reader, flags)
    return header
  }

  /// Reads what stands before the vectors.
  static func decodeHead(_ reader: inout ByteReader) throws(WireError) -> (version: UInt8, flags: UInt8) {
    guard try reader.byte() == magic[0], try reader.byte() == magic[1] else {
      throw WireError(.malformed, "the bytes are not a delta")
    }
    let version = try reader.byte()
    guard Self.versions.contains(version) else {
      throw WireError(
        .unsupportedVersion, "delta format \(version) is not known; the latest known is \(versions.upperBound)")
    }
    let flags = try reader.byte()
    guard flags & ~(Flags.fingerprint | Flags.zone | Flags.reference) == 0 else {
      throw WireError(.unsupportedVersion, "the delta uses a feature that is not known here")
    }
    return (version, flags)
  }

  /// Reads the vectors and what stands behind them.
  mutating func decodeRest(_ reader: inout ByteReader, _ flags: UInt8) throws(WireError) {
    try decodeVectors(&reader)
    try decodeTail(&reader, flags)
  }

  /// Reads what stands behind the vectors.
  mutating func decodeTail(_ reader: inout ByteReader, _ flags: UInt8) throws(WireError) {
    if flags & Flags.zone != 0 {
      zone = ZoneID(high: try reader.fixed(), low: try reader.fixed())
      guard zone != .default else { throw WireError(.malformed, "the default zone is spelled out") }
    }
    if flags & Flags.fingerprint != 0 {
      fingerprint = Fingerprint(first: try reader.fixed(), second: try reader.fixed())
    }
  }

  private mutating func decodeVectors(_ reader: inout ByteReader) throws(WireError) {
    let count = try reader.count(limit: WireLimits.replicas, "replicas")
    var last: ReplicaID?
    for _ in 0..<count {
      let replica = try reader.replica()
      if let last, !(last < replica) { throw WireError(.malformed, "the replicas are not ascending") }
      last = replica
      let from = try reader.varint()
      let (to, overflow) = from.addingReportingOverflow(try reader.varint())
      guard !overflow, to > 0, to <= UInt64(Int64.max) else {
        throw WireError(.malformed, "a sequence is out of range")
      }
      base[replica] = from
      target[replica] = to
    }
  }
}
