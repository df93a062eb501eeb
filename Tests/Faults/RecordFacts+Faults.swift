import TallyCRDT

extension PlantedFault {
  /// Says of a record what is not so.
  package func spoil(_ facts: inout RecordFacts, of state: RecordState) {
    if contains(.editsDoNotRevive) { facts.deleteWins = true }
    if contains(.addIsNoTouch), state.fields.contains(where: { $0.field.isTotal }) {
      facts.touches = state.withoutTotals.touches
    }
    if contains(.deletedSeedReturns), state.seed?.newest?.isRetired == false { facts.isOfferedBySeed = true }
    if contains(.seedUpgradeIsTouch), let seed = state.seed {
      for layer in seed.layers { facts.touches.include(layer.stamp.dot) }
    }
  }
}
