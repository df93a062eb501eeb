#if PlantedFaults
  import TallyCRDT
  import TallyFaults
  import TallyWire

  extension SeedHistory {
    /// The history with what a fault makes of it.
    init(_ set: CheckedSeedSet, _ environment: StoreEnvironment) {
      let sound = SeedHistory(set)
      let minted = environment.planted.contains(.seedsOfOwnReplica) ? environment.mintReplica() : nil
      var block = minted.map { set.block(by: $0) } ?? sound.block
      if environment.planted.contains(.seedCellsAreOrdinary) { block.makeOrdinary() }
      self.init(replica: minted ?? sound.replica, block: block)
    }
  }

  extension DeltaBlock {
    fileprivate mutating func makeOrdinary() {
      for group in records.indices {
        for item in records[group].items.indices {
          guard let layer = records[group].items[item].state.seed?.layers.first, !layer.isRetired else { continue }
          let stamp = Stamp(time: layer.stamp.time, dot: layer.stamp.dot)
          records[group].items[item].state = RecordState(
            inserted: stamp, fields: layer.fields.map { FieldCell(field: $0.field, stamp: stamp, value: $0.value) })
        }
      }
    }
  }
#endif
