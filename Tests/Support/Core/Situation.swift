import TallyTesting

/// What must have happened in generated histories for their passing to mean something.
package enum Situation: String, CaseIterable {
  case deleted
  /// Alive by a write of its own that a delete had not seen.
  case revivedByOwnWrite
  /// Alive by nothing but a write to a record that it owns.
  case revivedByOwned
  /// The same from two levels below.
  case revivedByOwnedOfOwned
  case hiddenWithItsOwner
  case hiddenWithOneOfTwoOwners
  case brokenCycle
  case ownerOfItself
  case referenceShownAsNull
  case concurrentDeletes
  /// In a relationship although somebody removed it.
  case addedBeyondRemove
  case equalTimesOfTwoAuthors
}

extension Specification where Field == ModelField {
  /// The situations in the state after some events.
  package func situations(of seen: EventSet) -> Set<Situation> {
    let past = past(seen, Model.schema)
    var found: Set<Situation> = []
    for (record, touches) in past.touches {
      let owners = past.owners(of: record)
      if !living(record, past, Model.schema).isEmpty, !isVisible(record, past, Model.schema) {
        found.insert(.hiddenWithItsOwner)
        if owners.contains(where: { isVisible($0, past, Model.schema) }) { found.insert(.hiddenWithOneOfTwoOwners) }
      }
      guard let deletes = past.deletes[record] else { continue }
      if living(record, past, Model.schema).isEmpty { found.insert(.deleted) }
      let concurrent = deletes.filter { one in deletes.allSatisfy { $0 == one || !covers($0, one) } }
      if concurrent.count > 1 { found.insert(.concurrentDeletes) }
      let own = touches.filter { event in !deletes.contains { covers($0, event) } }
      if own.isEmpty { found.formUnion(revivals(of: record, past)) } else { found.insert(.revivedByOwnWrite) }
    }
    return found.union(relations(seen, past)).union(ties(past))
  }

  private func revivals(of record: String, _ past: Past) -> Set<Situation> {
    let deletes = past.deletes[record] ?? EventSet()
    let below = past.owned(by: record)
    func saves(_ events: EventSet) -> Bool { events.contains { event in !deletes.contains { covers($0, event) } } }
    guard below.contains(where: { saves(living($0, past, Model.schema)) }) else { return [] }
    return below.contains { saves(past.touches[$0] ?? EventSet()) } ? [.revivedByOwned] : [.revivedByOwnedOfOwned]
  }

  private func relations(_ seen: EventSet, _ past: Past) -> Set<Situation> {
    var found: Set<Situation> = []
    for (register, winner) in past.winners {
      guard register.field.isReference, let target = winner.value, isVisible(register.record, past, Model.schema) else {
        continue
      }
      if register.field == .friend, !isVisible(target, past, Model.schema) { found.insert(.referenceShownAsNull) }
      if register.field.isOwner, past.owners[register] == nil {
        found.insert(target == register.record ? .ownerOfItself : .brokenCycle)
      }
    }
    for event in seen {
      for case .remove(let link) in events[event].effects where past.members.contains(link) {
        found.insert(.addedBeyondRemove)
      }
    }
    return found
  }

  private func ties(_ past: Past) -> Set<Situation> {
    for (register, winner) in past.winners {
      for (index, event) in events.enumerated() where event.author.name != events[winner.event].author.name {
        for case .write(register, _, winner.time) in event.effects where index != winner.event {
          return [.equalTimesOfTwoAuthors]
        }
      }
    }
    return []
  }
}
