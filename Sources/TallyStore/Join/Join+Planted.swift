#if PlantedFaults
  import TallyCRDT
  import TallyFaults
  import TallyWire

  extension WriteTransaction {
    /// What a fault takes a delta for.
    func spoiled(_ header: DeltaHeader) -> DeltaHeader {
      let planted = environment.planted
      let vector = standing.vector
      var header = header
      if planted.contains(.duplicateCountedTwice), vector.covers(header.target) {
        header.target = StateVector(
          header.target.entries.map { ($0.replica, vector[$0.replica] + $0.sequence - header.base[$0.replica]) })
      }
      if planted.contains(.baseNotChecked) { header.base = StateVector() }
      return header
    }
  }

  extension ContentSum {
    /// Adds records as they came, without what a fault makes of them.
    func add(_ groups: [DeltaBlock.Records]) {
      for group in groups {
        let hashes = group.fields.map { SipHash13.hash($0) }
        for item in group.items {
          let name = SipHash13.hash(item.name.text)
          add(item.name, item.state) { $0.fingerprint(name: name) { hashes[Int($0.rawValue)] } }
        }
      }
    }
  }

  extension Join {
    var hasPlanted: Bool { !transaction.environment.planted.isSubset(of: .ofShorterWays) }

    /// A block with what a fault makes of it.
    func spoiled(_ block: DeltaBlock) -> DeltaBlock {
      let planted = transaction.environment.planted
      var block = block
      if planted.contains(.partialBatch) { block.dropItsEnd() }
      if planted.contains(.receiverClampsStamps) { block.clamp(to: transaction.now) }
      if planted.contains(.referenceToAbsentDropped) { dropReferencesToAbsent(in: &block) }
      return block
    }

    private func dropReferencesToAbsent(in block: inout DeltaBlock) {
      for (index, group) in block.records.enumerated() {
        guard let kind = transaction.catalog.kind(of: group.type) else { continue }
        for item in group.items.indices {
          block.records[index].items[item].state.fields.removeAll { cell in
            let key = group.fields[Int(cell.field.rawValue)]
            guard let column = kind.columns.first(where: { $0.key == key }) else { return false }
            return column.target(of: cell.value).map { (try? reader.hasRow($0)) == false } ?? false
          }
        }
      }
    }
  }

  extension DeltaBlock {
    fileprivate mutating func dropItsEnd() {
      if let last = links.indices.last {
        links[last].items.removeLast()
      } else if let last = records.indices.last, records[last].items.count > 1 {
        records[last].items.removeLast()
      }
    }

    fileprivate mutating func clamp(to limit: HybridTime) {
      func clamped(_ stamp: Stamp) -> Stamp { Stamp(rank: stamp.rank, time: min(stamp.time, limit), dot: stamp.dot) }
      for group in records.indices {
        for item in records[group].items.indices {
          var state = records[group].items[item].state
          state.existence = state.existence.map(clamped)
          for index in state.fields.indices { state.fields[index].stamp = clamped(state.fields[index].stamp) }
          records[group].items[item].state = state
        }
      }
    }
  }
#endif
