import TallyCRDT
import TallySchema
import TallyWire

/// The limits of the protocol.
public enum SyncLimits {
  /// The maximum size of one message: 1 MiB.
  public static let messageBytes = 1 << 20
  /// The number of bytes of a delta in one chunk: 64 KiB.
  public static let chunkBytes = 1 << 16
  /// The maximum number of bytes of a transfer that may be unacknowledged by the receiver: 1 MiB.
  public static let windowBytes = 1 << 20
  /// The maximum size of a block that is sent as a live change: 16 KiB. Larger blocks are transferred.
  public static let liveBytes = 1 << 14
  /// The maximum size of one transfer: 1 TiB.
  public static let transferBytes: UInt64 = 1 << 40
}

extension SyncMessage {
  private enum Tag {
    static let hello: UInt8 = 1, vector: UInt8 = 2, chunk: UInt8 = 3, lastChunk: UInt8 = 4, received: UInt8 = 5
    static let applied: UInt8 = 6, live: UInt8 = 7, liveApplied: UInt8 = 8, repair: UInt8 = 9, done: UInt8 = 10
    static let ping: UInt8 = 11, failure: UInt8 = 12, held: UInt8 = 13, transfer: UInt8 = 14
    static let identity: UInt8 = 15, about: UInt8 = 16
    static let want: UInt8 = 17, piece: UInt8 = 18, stored: UInt8 = 19, lacks: UInt8 = 20, settled: UInt8 = 21
    static let arrived: UInt8 = 22
  }

  /// The most bytes of the code and of the text of a failure.
  private static let codeBytes = 256, textBytes = 2048
  /// More bytes than the name of a file has.
  private static let fileNameBytes = 112

  /// A text that the peer still reads, cut between two scalars: a single character may be longer than any limit.
  private static func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: limit)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text.unicodeScalars[..<end])
  }

  /// Returns the bytes of the message.
  public func encoded() -> [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .hello(let hello):
      writer.byte(Tag.hello)
      hello.encode(to: &writer)
    case .vector(let vector):
      writer.byte(Tag.vector)
      writer.varint(vector.count)
      for entry in vector.entries {
        writer.replica(entry.replica)
        writer.varint(entry.sequence)
      }
    case .held(let parts):
      writer.byte(Tag.held)
      writer.varint(parts.count)
      for part in parts {
        writer.varint(part.byteCount)
        writer.fixed(part.check)
      }
    case .identity(let session):
      writer.byte(Tag.identity)
      writer.fixed(session)
    case .about(let device):
      writer.byte(Tag.about)
      writer.text(device.name)
      writer.text(device.app)
    case .transfer(let transfer, let offset, let byteCount):
      writer.byte(Tag.transfer)
      writer.varint(transfer)
      writer.varint(offset)
      writer.varint(byteCount)
    case .chunk(let transfer, let offset, let isLast, let bytes):
      writer.byte(isLast ? Tag.lastChunk : Tag.chunk)
      writer.varint(transfer)
      writer.varint(offset)
      writer.bytes += bytes
    case .received(let transfer, let byteCount):
      writer.byte(Tag.received)
      writer.varint(transfer)
      writer.varint(byteCount)
    case .applied(let transfer, let digest):
      writer.byte(Tag.applied)
      writer.varint(transfer)
      digest.encode(to: &writer)
    case .live(let live):
      writer.byte(Tag.live)
      live.encode(to: &writer)
    case .liveApplied(let count):
      writer.byte(Tag.liveApplied)
      writer.varint(count)
    case .repair: writer.byte(Tag.repair)
    case .done(let digest):
      writer.byte(Tag.done)
      digest.encode(to: &writer)
    case .want(let number, let name, let offset):
      writer.byte(Tag.want)
      writer.varint(number)
      writer.text(name.text)
      writer.varint(offset)
    case .piece(let number, let offset, let bytes):
      writer.byte(Tag.piece)
      writer.varint(number)
      writer.varint(offset)
      writer.bytes += bytes
    case .stored(let number, let byteCount):
      writer.byte(Tag.stored)
      writer.varint(number)
      writer.varint(byteCount)
    case .lacks(let number):
      writer.byte(Tag.lacks)
      writer.varint(number)
    case .settled: writer.byte(Tag.settled)
    case .arrived: writer.byte(Tag.arrived)
    case .ping: writer.byte(Tag.ping)
    case .failure(let code, let message):
      writer.byte(Tag.failure)
      writer.text(Self.cut(code, to: Self.codeBytes))
      writer.text(Self.cut(message, to: Self.textBytes))
    }
    return writer.bytes
  }

  /// Decodes one message from its bytes.
  /// - Throws: `WireError`; no more memory is allocated than the bytes account for.
  public init(_ bytes: [UInt8]) throws {
    guard bytes.count <= SyncLimits.messageBytes else {
      throw WireError(.limitExceeded, "a message has \(bytes.count) bytes")
    }
    self = try bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      let message = try Self.decode(&reader)
      guard reader.remaining == 0 else { throw WireError(.malformed, "bytes follow the end of a message") }
      return message
    }
  }

  private static func decode(_ reader: inout ByteReader) throws(WireError) -> SyncMessage {
    let tag = try reader.byte()
    switch tag {
    case Tag.hello: return .hello(try SyncHello(&reader))
    case Tag.vector: return .vector(try vector(&reader))
    case Tag.held: return .held(try parts(&reader))
    case Tag.transfer: return try transfer(&reader)
    case Tag.identity: return .identity(try reader.fixed())
    case Tag.about:
      let limit = SyncDevice.byteLimit
      return .about(
        SyncDevice(name: try reader.text(limit: limit, "a name"), app: try reader.text(limit: limit, "an app")))
    case Tag.chunk, Tag.lastChunk:
      let (transfer, offset) = (try reader.varint(), try reader.varint())
      let bytes = Array(try reader.take(reader.remaining))
      return .chunk(transfer: transfer, offset: offset, isLast: tag == Tag.lastChunk, bytes: bytes)
    case Tag.received: return .received(transfer: try reader.varint(), byteCount: try reader.varint())
    case Tag.applied: return .applied(transfer: try reader.varint(), digest: try SyncDigest(&reader))
    case Tag.live: return .live(try SyncLive(&reader))
    case Tag.liveApplied: return .liveApplied(try reader.varint())
    case Tag.repair: return .repair
    case Tag.done: return .done(try SyncDigest(&reader))
    case Tag.want:
      let (number, text) = (try reader.varint(), try reader.text(limit: fileNameBytes, "the name of a file"))
      guard let name = AssetName(text) else { throw WireError(.malformed, "the name of a file has another form") }
      return .want(number, name, offset: try reader.varint())
    case Tag.piece:
      let (number, offset) = (try reader.varint(), try reader.varint())
      guard offset <= AssetName.byteLimit else { throw WireError(.limitExceeded, "a piece is beyond any file") }
      return .piece(number, offset: offset, bytes: Array(try reader.take(reader.remaining)))
    case Tag.stored: return .stored(try reader.varint(), byteCount: try reader.varint())
    case Tag.lacks: return .lacks(try reader.varint())
    case Tag.settled: return .settled
    case Tag.arrived: return .arrived
    case Tag.ping: return .ping
    case Tag.failure:
      return .failure(
        code: try reader.text(limit: codeBytes, "a code"), message: try reader.text(limit: textBytes, "a message"))
    default: throw WireError(.malformed, "there is no message \(tag)")
    }
  }

  private static func vector(_ reader: inout ByteReader) throws(WireError) -> StateVector {
    var vector = StateVector()
    var last: ReplicaID?
    let count = try reader.count(ofElementsWithAtLeast: 17, "vector entries")
    guard count <= WireLimits.replicas else { throw WireError(.limitExceeded, "a vector has \(count) entries") }
    for _ in 0..<count {
      let replica = try reader.replica()
      if let last, !(last < replica) { throw WireError(.malformed, "the replicas are not ascending") }
      last = replica
      let sequence = try reader.varint()
      guard sequence > 0, sequence <= UInt64(Int64.max) else {
        throw WireError(.malformed, "a sequence is out of range")
      }
      vector[replica] = sequence
    }
    return vector
  }
}

extension SyncMessage {
  private static func parts(_ reader: inout ByteReader) throws(WireError) -> [SyncPart] {
    var parts: [SyncPart] = []
    for _ in 0..<(try reader.count(limit: SyncPart.limit, "parts of transfers")) {
      let part = SyncPart(byteCount: try reader.varint(), check: try reader.fixed())
      // A length names a part.
      guard part.byteCount > parts.last?.byteCount ?? 0, part.byteCount <= SyncLimits.transferBytes else {
        throw WireError(.malformed, "the parts of transfers do not ascend")
      }
      parts.append(part)
    }
    guard !parts.isEmpty else { throw WireError(.malformed, "no part of a transfer") }
    return parts
  }

  private static func transfer(_ reader: inout ByteReader) throws(WireError) -> SyncMessage {
    let (number, offset, byteCount) = (try reader.varint(), try reader.varint(), try reader.varint())
    guard byteCount > 0, offset <= byteCount else { throw WireError(.malformed, "a transfer begins after its end") }
    guard byteCount <= SyncLimits.transferBytes else {
      throw WireError(.limitExceeded, "a transfer has too many bytes")
    }
    return .transfer(number, offset: offset, byteCount: byteCount)
  }
}

extension SyncDigest {
  fileprivate func encode(to writer: inout ByteWriter) {
    writer.fixed(vectorHash)
    writer.fixed(fingerprint.first)
    writer.fixed(fingerprint.second)
  }

  fileprivate init(_ reader: inout ByteReader) throws(WireError) {
    self.init(
      vectorHash: try reader.fixed(),
      fingerprint: Fingerprint(first: try reader.fixed(), second: try reader.fixed()))
  }
}

extension SyncHello {
  private enum Flag {
    static let zone: UInt8 = 1, replica: UInt8 = 2, live: UInt8 = 4, all: UInt8 = 7
  }
  private static let magic: [UInt8] = [0x54, 0x53]  // "TS"

  fileprivate func encode(to writer: inout ByteWriter) {
    writer.bytes += Self.magic
    writer.byte(versions.lowerBound)
    writer.byte(versions.upperBound)
    writer.byte(
      (zone == .default ? 0 : Flag.zone) | (replica == nil ? 0 : Flag.replica) | (isLive ? Flag.live : 0))
    writer.varint(messageLimit)
    if zone != .default {
      writer.fixed(zone.high)
      writer.fixed(zone.low)
    }
    if let replica { writer.replica(replica) }
    digest.encode(to: &writer)
  }

  /// Only the part before the flags is the same in all versions.
  fileprivate init(_ reader: inout ByteReader) throws(WireError) {
    guard try reader.byte() == Self.magic[0], try reader.byte() == Self.magic[1] else {
      throw WireError(.malformed, "the peer does not speak this protocol")
    }
    let (low, high) = (try reader.byte(), try reader.byte())
    guard low <= high else { throw WireError(.malformed, "the range of versions is empty") }
    guard Self.versions.overlaps(low...high) else {
      _ = try reader.take(reader.remaining)
      self.init(
        versions: low...high, zone: .default, replica: nil,
        digest: SyncDigest(vectorHash: 0, fingerprint: Fingerprint()), isLive: false, messageLimit: 0)
      return
    }
    let flags = try reader.byte()
    guard flags & ~Flag.all == 0 else { throw WireError(.malformed, "unknown flags of a hello") }
    let limit = try reader.count(limit: Int(Int32.max), "the largest message")
    let zone = flags & Flag.zone == 0 ? .default : ZoneID(high: try reader.fixed(), low: try reader.fixed())
    let replica = flags & Flag.replica == 0 ? nil : try reader.replica()
    self.init(
      versions: low...high, zone: zone, replica: replica, digest: try SyncDigest(&reader),
      isLive: flags & Flag.live != 0, messageLimit: limit)
  }
}

extension SyncLive {
  fileprivate func encode(to writer: inout ByteWriter) {
    let start = writer.bytes.count
    writer.varint(number)
    writer.varint(advances.count)
    for advance in advances {
      writer.varint(advance.number << 1 | (advance.added == nil ? 0 : 1))
      if let added = advance.added { writer.replica(added) }
      writer.varint(advance.count)
    }
    writer.bytes += block
    writer.check(from: start)
  }

  fileprivate init(_ reader: inout ByteReader) throws(WireError) {
    guard reader.remaining >= 4 else { throw WireError(.truncated, "a live change has no checksum") }
    let body = try reader.take(reader.remaining - 4)
    let check = Array(try reader.take(4))
    guard ByteWriter.check(of: body) == check else {
      throw WireError(.checksumMismatch, "a live change is damaged")
    }
    var inner = ByteReader(body)
    let number = try inner.varint()
    var advances: [Advance] = []
    for _ in 0..<(try inner.count(ofElementsWithAtLeast: 2, "advances")) {
      let head = try inner.varint()
      guard head >> 1 < UInt64(WireLimits.replicas) else { throw WireError(.limitExceeded, "a replica number") }
      let added = head & 1 == 1 ? try inner.replica() : nil
      let count = try inner.varint()
      guard count > 0, count <= UInt64(Int64.max) else { throw WireError(.malformed, "a live change of nothing") }
      advances.append(Advance(number: Int(head >> 1), added: added, count: count))
    }
    self.init(number: number, advances: advances, block: Array(try inner.take(inner.remaining)))
  }
}

extension ByteWriter {
  /// Four bytes of SipHash: transports check their bytes already, this finds a fault in between.
  fileprivate static func check(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var hash = SipHash()
    hash.combine(bytes: bytes)
    let value = hash.finalized()
    return (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
  }

  fileprivate mutating func check(from start: Int) {
    let check = bytes.withUnsafeBytes { Self.check(of: UnsafeRawBufferPointer(rebasing: $0[start...])) }
    bytes += check
  }
}
