import TallyTesting

/// What a person may rely on, each promise on its own and straight from the events: what fails names the promise that
/// is broken.
///
/// Each says less than the specification's view, which is compared afterwards, and depends on less of it.
package enum SeedPromise: String, CaseIterable {
  case deletedStaysDeleted = "what a person deleted never returns, whatever versions come"
  case untouchedIsTheNewest = "what nobody edited is as the newest version has it"
  case retiredIsGone = "what a version withdraws and nobody used is gone"
  case usedStays = "what a person put something into stays, withdrawn or not"
  case editsStay = "what a person wrote stays what it is"
  case editedIsTheirs = "later versions change nothing in what is a person's"
  case removedStaysOut = "what a person took out of a seed stays out until a person puts it in"
  case copiesGiveWay = "an untouched copy gives way to its seed"
  case editedCopiesStay = "a copy that a person edited stays"
  case referencesStay = "no reference becomes null because a copy gave way"
  case membersStay = "no member is lost because a copy gave way, once the app has started again"

  /// What breaks the promise in what a replica shows that has seen these events; nil if nothing does.
  package func violation(
    _ history: SeedSpecification, _ past: SeedSpecification.Past, _ shown: SeedView, _ seen: Set<Int>
  ) -> String? {
    let check = SeedPromiseCheck(history: history, past: past, shown: shown, seen: seen)
    switch self {
    case .deletedStaysDeleted: return check.deletedThatReturned()
    case .untouchedIsTheNewest: return check.untouchedThatIsNotTheNewest()
    case .retiredIsGone: return check.retiredThatIsThere()
    case .usedStays: return check.usedThatIsGone()
    case .editsStay: return check.editThatIsLost()
    case .editedIsTheirs: return check.editedThatFollowed()
    case .removedStaysOut: return check.removedThatReturned()
    case .copiesGiveWay: return check.copyThatStayed()
    case .editedCopiesStay: return check.editedCopyThatIsGone()
    case .referencesStay: return check.referenceThatIsLost()
    case .membersStay: return check.memberThatIsLost()
    }
  }
}

package struct SeedPromiseCheck {
  package let history: SeedSpecification
  package let past: SeedSpecification.Past
  package let shown: SeedView
  package let seen: Set<Int>

  /// The records that anybody ever said belong to one of these, directly or not; copies count as their seeds.
  private func everOwned(by record: String) -> Set<String> {
    var found: Set<String> = [record]
    while true {
      var more: Set<String> = []
      for event in seen {
        for (key, content) in history.events[event].edition?.records ?? [:] {
          if let owner = content.value(.part), found.contains(owner) { more.insert(SeedWorld.seed(key)) }
        }
        for effect in history.events[event].effects {
          switch effect {
          case .write(let register, let owner?, _), .carry(let register, let owner?, _):
            if register.field.isOwner, found.contains(owner) { more.insert(register.record) }
          case .giveWay(let copy, let seed, _): if found.contains(seed) { more.insert(copy) }
          default: break
          }
        }
      }
      if more.isSubset(of: found) { return found }
      found.formUnion(more)
    }
  }

  /// The events in which a person wrote to one of these or put something into it.
  private func uses(of records: Set<String>) -> Set<Int> {
    seen.filter { event in
      history.events[event].effects.contains { effect in
        switch effect {
        case .touch(let record, _): records.contains(record)
        case .write(let register, _, _): records.contains(register.record)
        case .add(let link): records.contains(link.source)
        default: false
        }
      }
    }
  }

  package func deletedThatReturned() -> String? {
    SeedWorld.seeds.first { seed in
      guard let deletes = past.personal[seed], shown[seed] != nil else { return false }
      let uses = uses(of: everOwned(by: seed))
      return deletes.contains { delete in uses.allSatisfy { history.covers(delete, $0) } }
    }
  }

  package func untouchedThatIsNotTheNewest() -> String? {
    for seed in SeedWorld.seeds {
      guard let row = shown[seed], past.touches[seed] == nil, let newest = past.layers[seed]?.last?.content else {
        continue
      }
      for field in [SeedField.name, .note, .mood] {
        let carried = past.winners[.init(record: seed, field: field)]?.value
        let expected = newest.value(field) ?? carried ?? field.defaultValue
        if row.fields[field] != expected {
          return "\(seed) has the \(field) \(row.fields[field] ?? "null") and not \(expected ?? "null")"
        }
      }
    }
    // With nothing above them and nothing deleted, all of the newest must be there.
    return SeedWorld.seeds.first { seed in
      shown[seed] == nil && past.deletes[seed] == nil && past.layers[seed]?.last?.content != nil
        && !past.owners.contains { $0.key.record == seed }
    }
  }

  package func retiredThatIsThere() -> String? {
    SeedWorld.seeds.first { seed in
      guard shown[seed] != nil, let newest = past.layers[seed]?.last else { return false }
      return newest.content == nil && uses(of: everOwned(by: seed)).isEmpty
    }
  }

  package func usedThatIsGone() -> String? {
    SeedWorld.seeds.first { seed in
      shown[seed] == nil && past.deletes[seed] == nil && !past.owners.contains { $0.key.record == seed }
        && (past.touches[seed] != nil || past.added.contains { $0.key.source == seed })
    }
  }

  package func editThatIsLost() -> String? {
    for (register, winner) in past.winners where winner.order.rank == .person && !register.field.isReference {
      guard let row = shown[register.record], row.fields[register.field] != winner.value else { continue }
      return "\(register.record) has the \(register.field) \(row.fields[register.field] ?? "null") "
        + "and not \(winner.value ?? "null")"
    }
    return nil
  }

  /// What nobody wrote to an edited record comes from an edition that somebody edited with it in front of them, the
  /// newest of those.
  package func editedThatFollowed() -> String? {
    guard history.mode != .perField else { return nil }
    for seed in SeedWorld.seeds {
      guard let row = shown[seed], let basis = past.bases[seed] else { continue }
      for field in [SeedField.name, .note, .mood] where past.winners[.init(record: seed, field: field)] == nil {
        let expected = basis.content?.value(field) ?? field.defaultValue
        guard row.fields[field] == expected else {
          return "\(seed) has the \(field) \(row.fields[field] ?? "null") and not \(expected ?? "null")"
        }
      }
    }
    return nil
  }

  package func removedThatReturned() -> String? {
    for event in seen {
      for case .remove(let link) in history.events[event].effects {
        guard shown[link.source]?.members.contains(link.target) == true else { continue }
        let wasSeeds = (past.offered[link] ?? []).contains { history.covers(event, $0) }
        let wasAdded = seen.contains { other in
          !history.covers(event, other)
            && history.events[other].effects.contains {
              switch $0 {
              case .add(link), .carryMember(link): true
              default: false
              }
            }
        }
        if wasSeeds, !wasAdded { return "\(link.target) in \(link.source)" }
      }
    }
    return nil
  }

  // MARK: Copies

  private func isEdited(_ copy: String) -> Bool {
    uses(of: [copy]).contains { !history.isDeleted(copy, $0, past) }
  }

  package func copyThatStayed() -> String? {
    past.forwards.keys.first { shown[$0] != nil && !isEdited($0) && !$0.isEmpty }
  }

  package func editedCopyThatIsGone() -> String? {
    past.forwards.keys.first { copy in
      shown[copy] == nil && past.personal[copy] == nil && isEdited(copy)
        && !past.owners.contains { $0.key.record == copy }
    }
  }

  package func referenceThatIsLost() -> String? {
    for (record, row) in shown {
      for field in SeedField.of(record) where field.isReference && row.fields[field] == nil {
        let register = SeedSpecification.Register(record: record, field: field)
        guard let target = history.value(register, past)?.value, let forward = past.forwards[target] else { continue }
        if field.isOwner, past.owners[register] == nil { continue }
        // It names the copy or its seed, unless a person deleted what it names.
        if past.personal[target] != nil || past.personal[forward.seed] != nil { continue }
        if past.layers[forward.seed]?.last?.content == nil { continue }
        if past.owners.contains(where: { $0.key.record == forward.seed || $0.key.record == target }) { continue }
        return "\(record).\(field), which names \(target)"
      }
    }
    return nil
  }

  /// A person's member of a copy is one of its seed.
  package func memberThatIsLost() -> String? {
    func resolved(_ record: String) -> String { history.forward(record, past) ?? record }
    for link in past.added.keys {
      let moved = SeedSpecification.Link(source: resolved(link.source), target: resolved(link.target))
      guard moved != link, moved.source != moved.target, let row = shown[moved.source], shown[moved.target] != nil
      else { continue }
      let wasRemoved = seen.contains { event in
        history.events[event].effects.contains { if case .remove(moved) = $0 { true } else { false } }
      }
      // A copy that a person brought back speaks for itself again; what was carried over stays with its seed.
      let seed = past.forwards[link.target]?.seed
      let isThere = row.members.contains(moved.target) || seed.map(row.members.contains) ?? false
      // Where an edition had the member already, it goes with the editions.
      if !isThere, !wasRemoved, past.offered[moved] == nil { return "\(moved.target) in \(moved.source)" }
    }
    return nil
  }
}
