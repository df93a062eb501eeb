import TallyCRDT
import TallyWire

extension WriteTransaction {
  /// Joins a delta; the caller's SQLite transaction makes it all or nothing. `nextBlock` gives the blocks in order, and
  /// nil at the end, when all bytes have proved sound. A repair joins cells even if the vector says they are here. What
  /// does not come from a peer heals nothing.
  func apply(
    _ header: DeltaHeader, isRepair: Bool, isFromPeer: Bool = true, _ nextBlock: () throws -> BlockDraft?
  ) throws -> ApplyResult {
    #if PlantedFaults
      let header = spoiled(header)
    #endif
    var join = try Join(self, header, isRepair: isRepair, isFromPeer: isFromPeer)
    if join.isKnown {
      // Read all the same, so that damage is reported.
      while try nextBlock() != nil {}
      return ApplyResult()
    }
    try join.begin()
    while let block = try nextBlock() { try join.apply(block) }
    return try join.end()
  }
}

extension DeltaHeader {
  /// Whether the delta holds all that its sender has.
  var isEverything: Bool { base.isEmpty && !target.isEmpty }
}
