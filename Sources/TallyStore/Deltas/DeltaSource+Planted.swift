#if PlantedFaults
  import TallyCRDT
  import TallyFaults
  import TallyWire

  extension DeltaSource {
    /// In all histories of the tests: an edit in memory is what the state says, unless the disk has changed that.
    func compare(_ edit: EditLog.Edit, of log: EditLog, with high: UInt64, _ low: UInt64, _ kind: RecordKind) throws {
      let name = try RecordKey.uuid(high: high, low: low).name(type: kind.type)
      guard let stored = try? reader.record(name, kind), (try? reader.catalog.check(stored, name, kind)) != nil
      else { return }
      var new = RecordState()
      new.fields = try log.cells(of: edit, kind)
      let expected = stored.state.delta(since: base) ?? RecordState()
      precondition(new == expected, "an edit of \(name) in memory is \(new), not \(expected)")
    }

    /// A block with what a fault makes of it.
    func spoiled(_ draft: BlockDraft, isEverything: Bool) throws -> BlockDraft {
      let planted = reader.planted
      var draft = draft
      for index in draft.block.records.indices {
        var items = draft.block.records[index].items
        if planted.contains(.groupSplitAcrossBatches) { items = Array(items.prefix(2)) }
        if planted.contains(.touchesOfLiveCellsOnly), !base.isEmpty {
          for index in items.indices { items[index].state.supersededTouches = StateVector() }
          items.removeAll { $0.state.isEmpty }
        }
        if planted.contains(.hiddenLeftOutForNewcomers), isEverything {
          try items.removeAll { item in
            guard let kind = reader.catalog.kind(of: item.name.type) else { return true }
            return try reader.record(item.name, kind)?.place.isVisible != true
          }
        }
        draft.block.records[index].items = items
      }
      return draft
    }
  }
#endif
