import TallyTesting

/// What must have happened in generated histories for their passing to mean something.
package enum SeedSituation: String, CaseIterable {
  case followsTheNewest
  case isThePersonsAndOlder
  case editedOnTwoVersions
  case deletedWithANewerVersion
  case retired
  case retiredButUsed
  case retiredAndBack
  case revivedByConcurrentEdit
  case removedMember
  case removedMemberAddedByAPerson
  case twoEditionsOfOneVersion
  case newLifeOfASeed
  case copyThatGaveWay
  case copyThatWasEdited
  case referenceToACopy
  case ownedByACopy
  case memberMoved
  case attributeCarried
}

extension SeedSpecification {
  package func situations(of seen: Set<Int>) -> Set<SeedSituation> {
    let past = past(seen)
    let view = view(past)
    var found: Set<SeedSituation> = []
    for seed in SeedWorld.seeds { found.formUnion(situations(ofSeed: seed, view[seed], past)) }
    for (copy, forward) in past.forwards {
      found.insert(self.forward(copy, past) == nil ? .copyThatWasEdited : .copyThatGaveWay)
      for (register, winner) in past.winners where winner.value == copy && view[register.record] != nil {
        guard view[register.record]?.fields[register.field] == forward.seed else { continue }
        found.insert(register.field.isOwner ? .ownedByACopy : .referenceToACopy)
      }
    }
    for link in past.carried.keys where view[link.source]?.members.contains(link.target) == true {
      found.insert(.memberMoved)
    }
    for link in past.refused {
      found.insert(past.added[link] == nil ? .removedMember : .removedMemberAddedByAPerson)
    }
    return found
  }

  private func situations(ofSeed seed: String, _ row: SeedRow?, _ past: Past) -> Set<SeedSituation> {
    guard let layers = past.layers[seed], let newest = layers.last else { return [] }
    var found: Set<SeedSituation> = []
    let bases = Set(
      events.flatMap { $0.effects.compactMap { if case .basis(seed, let edition) = $0 { edition } else { nil } } })
    if bases.count > 1 { found.insert(.editedOnTwoVersions) }
    if Set(layers.map(\.order.time)).count < layers.count { found.insert(.twoEditionsOfOneVersion) }
    if newest.content == nil { found.insert(row == nil ? .retired : .retiredButUsed) }
    if newest.content != nil, layers.contains(where: { $0.content == nil }) { found.insert(.retiredAndBack) }
    if row != nil, layers.count > 1, past.touches[seed] == nil { found.insert(.followsTheNewest) }
    if row != nil, let basis = past.bases[seed], basis.order != newest.order { found.insert(.isThePersonsAndOlder) }
    if row != nil, past.deletes[seed] != nil, past.lives[seed] == nil { found.insert(.revivedByConcurrentEdit) }
    if row != nil, past.lives[seed] != nil, past.bases[seed] == nil { found.insert(.newLifeOfASeed) }
    if row == nil, let deletes = past.personal[seed] {
      if deletes.contains(where: { !covers($0, newest.event) }) { found.insert(.deletedWithANewerVersion) }
    }
    for field in SeedField.of(seed) {
      let register = Register(record: seed, field: field)
      if row != nil, value(register, past)?.order.rank == .adopted { found.insert(.attributeCarried) }
    }
    return found
  }
}
