import TallyCRDT
import TallyWire

extension FuzzTarget {
  static let wire = [delta, sealed, block]

  /// A delta as it comes: most inputs end at the checksum.
  private static let delta = FuzzTarget("delta", seeds: try FuzzSamples.deltas()) { bytes in
    guard let read = try accepted(WireError.self, { try FuzzSamples.read(bytes) }) else { return }
    try check(read.header, read.blocks, bytes)
  }

  /// A delta under a checksum that is right, whatever stands before it.
  private static let sealed = FuzzTarget("sealed", seeds: try FuzzSamples.openDeltas()) { bytes in
    let whole = FuzzSamples.seal(bytes)
    guard let read = try accepted(WireError.self, { try FuzzSamples.read(whole) }) else { return }
    try check(read.header, read.blocks, whole)
  }

  /// What was accepted can be written, and reads back the same. The bytes may differ where zstd packs otherwise.
  private static func check(_ header: DeltaHeader, _ blocks: [DeltaBlock], _ bytes: [UInt8]) throws {
    let again = try FuzzSamples.read(try FuzzSamples.write(header, blocks))
    try claim(again.header == header, "a header reads back as it was")
    try claim(again.blocks == blocks, "blocks read back as they were")
    for size in [1, 7] {
      let inPieces = try FuzzSamples.read(bytes, inPiecesOf: size)
      try claim(inPieces.blocks == blocks, "bytes in pieces are the same delta")
    }
    for block in blocks { try checkJoins(block) }
  }

  /// The bytes of a block alone.
  private static let block = FuzzTarget("block", seeds: try FuzzSamples.blockBytes()) { bytes in
    let limits = FuzzSamples.limits
    guard let block = try accepted(WireError.self, { try DeltaBlock(live: bytes, limits: limits, version: 3) }) else {
      return
    }
    try claim(block.encoded(replicas: limits.map(\.replica)) == bytes, "an accepted block is canonical")
    try checkJoins(block)
  }

  /// The laws of the join on what came over the wire.
  private static func checkJoins(_ block: DeltaBlock) throws {
    for group in block.records {
      var sum = RecordState()
      for item in group.items {
        let state = RecordState().merging(item.state)
        try claim(state.merging(state) == state, "a join with itself changes nothing")
        try claim(sum.merging(state) == state.merging(sum), "a join has no order")
        sum = sum.merging(state)
        _ = state.fingerprint(name: 1) { UInt64($0.rawValue) }
        _ = state.delta(since: FuzzSamples.vector([(FuzzSamples.first, 2)]))
      }
    }
    for group in block.links {
      var sum = ORSetElement()
      for item in group.items {
        try claim(sum.merging(item.element) == item.element.merging(sum), "a join of elements has no order")
        sum.merge(item.element)
      }
      try claim(sum.merging(sum) == sum, "an element joined with itself is itself")
    }
  }
}

extension ORSetElement {
  fileprivate func merging(_ other: ORSetElement) -> ORSetElement {
    var result = self
    result.merge(other)
    return result
  }
}
