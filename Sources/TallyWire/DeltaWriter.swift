import TallyCRDT

/// Writes a delta piece by piece: the header, blocks, then the checksum. Memory is bounded by one block. Call
/// `finish()` exactly once, last: without it readers refuse the delta as truncated.
public struct DeltaWriter {
  private let sink: ([UInt8]) throws -> Void
  private let replicas: [ReplicaID]
  private let version: UInt8
  private let compressor = Compressor()
  private var checksum = SipHash()
  /// The bytes written so far.
  public private(set) var byteCount = 0

  /// Starts a delta; the header goes out at once.
  /// - Parameters:
  ///   - header: what the receiver must have, and what it has afterwards.
  ///   - sink: takes the bytes, in order.
  /// - Throws: what the sink throws, here and in the other methods; the delta is then of no use.
  public init(header: DeltaHeader, to sink: @escaping ([UInt8]) throws -> Void) throws {
    self.sink = sink
    (replicas, version) = (header.replicas, header.version)
    var writer = ByteWriter()
    header.encode(to: &writer)
    try emit(writer.bytes)
  }

  /// Writes one block; an empty one writes nothing.
  /// - Precondition: all replicas in the block are in the header's target vector. Readers refuse what is beyond it.
  /// - Throws: `WireError.limitExceeded` for a block over `WireLimits.blockBytes`, `.unsupportedVersion` for one that
  ///   has what the header's version lacks; nothing of it is written.
  public mutating func append(_ block: DeltaBlock) throws { try append(BlockDraft(block)) }

  package mutating func append(_ draft: BlockDraft) throws {
    guard !draft.isEmpty else { return }
    let output = draft.output(replicas: replicas)
    guard !output.repeatsKey else { throw WireError(.malformed, "two records or links of a block have one name") }
    guard !output.needsThirdVersion || version >= 3 else {
      throw WireError(.unsupportedVersion, "a delta of version \(version) has no counters, extrema or places")
    }
    let raw = output.writer.bytes
    guard raw.count <= WireLimits.blockBytes else {
      throw WireError(.limitExceeded, "a block has \(raw.count) bytes")
    }
    var writer = ByteWriter()
    if let compressed = compressor.compress(raw) {
      writer.varint(raw.count << 1 | 1)
      writer.varint(compressed.count)
      try emit(writer.bytes)
      try emit(compressed)
    } else {
      writer.varint(raw.count << 1)
      try emit(writer.bytes)
      try emit(raw)
    }
  }

  /// Ends the delta with its checksum.
  public mutating func finish() throws {
    try emit([0])
    var trailer = ByteWriter()
    trailer.fixed(checksum.finalized())
    byteCount += trailer.bytes.count
    try sink(trailer.bytes)
  }

  private mutating func emit(_ bytes: [UInt8]) throws {
    bytes.withUnsafeBytes { checksum.combine(bytes: $0) }
    byteCount += bytes.count
    try sink(bytes)
  }
}
