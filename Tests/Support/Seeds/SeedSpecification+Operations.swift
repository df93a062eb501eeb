import TallyTesting

extension SeedSpecification {
  /// Notes a transaction by somebody who has seen `seen`.
  /// - Returns: the event, or nil if the operation changed nothing.
  package mutating func transact(
    author: String, seen: Set<Int>, now: UInt64, _ operation: SeedStory.Operation
  ) -> Int? {
    let past = past(seen)
    return append(author, seen, now, effects(of: operation, now, past, view(past)))
  }

  /// Notes that an edition has come, by its virtual replica.
  package mutating func bring(_ edition: SeedEdition, by replica: String) -> Int {
    if let known = events.firstIndex(where: { $0.author == replica || $0.edition == edition }) { return known }
    events.append(Event(author: replica, seen: [], now: 0, edition: edition))
    return events.count - 1
  }

  private mutating func append(_ author: String, _ seen: Set<Int>, _ now: UInt64, _ effects: [Effect]) -> Int? {
    guard !effects.isEmpty else { return nil }
    events.append(Event(author: author, seen: seen, now: now, effects: effects))
    return events.count - 1
  }

  private func effects(
    of operation: SeedStory.Operation, _ now: UInt64, _ past: Past, _ view: SeedView
  ) -> [Effect] {
    switch operation {
    case .insert(let record, let values):
      let values = values.filter { SeedField.of(record).contains($0.key) }
      guard view[record] == nil else { return [] }
      for (field, value) in values where field.isReference && view[value] == nil { return [] }
      return insert(record, values, now, past)
    case .update(let record, let field, let value):
      guard let row = view[record], row.fields[field] != value else { return [] }
      if field.isReference, let value, view[value] == nil { return [] }
      let register = Register(record: record, field: field)
      let time = max(now, (past.winners[register]?.order.time).map { $0 + 1 } ?? 0)
      return [.write(register, value, time: time)] + basis(record, past)
    case .delete(let record): return view[record] == nil ? [] : [.delete(record)]
    case .restore(let record):
      guard past.records.contains(record), view[record] == nil else { return [] }
      return ([record] + beatenOwners(above: record, past)).flatMap {
        [.touch($0, time: life($0, now, past))] + basis($0, past)
      }
    case .link(let source, let target):
      guard let row = view[source], view[target] != nil, !row.members.contains(target) else { return [] }
      return [.add(Link(source: source, target: target))]
    case .unlink(let source, let target):
      return view[source]?.members.contains(target) == true ? [.remove(Link(source: source, target: target))] : []
    }
  }

  /// The dead owners above a record whose deletes win: nothing below revives them, so they are restored along with it.
  private func beatenOwners(above record: String, _ past: Past) -> [String] {
    guard mode == .deleteWins else { return [] }
    var found: [String] = []
    var open = [record]
    var seen: Set<String> = [record]
    while let next = open.popLast() {
      for (register, owner) in past.owners where register.record == next && seen.insert(owner).inserted {
        open.append(owner)
        guard past.records.contains(owner), SeedWorld.type(owner) == "Kind", !isAlive(owner, past) else { continue }
        found.append(owner)
      }
    }
    return found.sorted()
  }

  private func life(_ record: String, _ now: UInt64, _ past: Past) -> UInt64 {
    max(now, past.lives[record].map { $0.time + 1 } ?? 0)
  }

  /// The first edit of a seed notes what the person had in front of them.
  private func basis(_ record: String, _ past: Past) -> [Effect] {
    guard past.bases[record] == nil, let layer = shown(record, past) else { return [] }
    return [.basis(record, edition: layer.event)]
  }

  /// A new life: every field that is not given has its default, and no relationship is left.
  private func insert(_ record: String, _ values: [SeedField: String], _ now: UInt64, _ past: Past) -> [Effect] {
    let time = life(record, now, past)
    var effects = [Effect.touch(record, time: time)]
    for field in SeedField.of(record) {
      let register = Register(record: record, field: field)
      let value = values[field] ?? field.defaultValue
      let old = past.winners[register]
      let isSeeded = past.layers[record]?.contains { $0.content?.value(field) != nil } ?? false
      guard value != field.defaultValue || isSeeded || (old != nil && old?.value != value) else { continue }
      effects.append(.write(register, value, time: old.map { max(now, $0.order.time + 1) } ?? time))
    }
    for link in Set(past.added.keys).union(past.carried.keys).union(past.offered.keys)
    where (link.source == record || link.target == record) && mayBeMember(link, past) {
      effects.append(.remove(link))
    }
    return effects
  }
}

// MARK: - Adoption

extension SeedSpecification {
  /// Notes that copies give way to the seeds of an edition.
  /// - Returns: the event, or nil if there is none; and the copies.
  package mutating func adopt(
    author: String, seen: Set<Int>, now: UInt64, _ edition: SeedEdition
  ) -> (event: Int?, copies: [String]) {
    let past = past(seen)
    let view = view(past)
    let seeds = seedsByName(edition, past)
    var chosen: [String: String] = [:]
    for (record, row) in view {
      guard let name = row.fields[.name], let seed = seeds[name], isUntouched(record, past) else { continue }
      guard view[seed] != nil || !isInUse(record, view) else { continue }
      chosen[record] = seed
    }
    var effects: [Effect] = []
    for (copy, seed) in chosen {
      if view[seed] != nil, !belongsToUser(seed, past) { effects += attributes(copy, seed, past) }
      effects.append(.giveWay(copy, to: seed, time: now))
    }
    for (source, row) in view {
      for target in row.members where chosen[source] != nil || chosen[target] != nil {
        let link = Link(source: chosen[source] ?? source, target: chosen[target] ?? target)
        guard link.source != link.target || source == target else { continue }
        // What a person took out of the seed stays out.
        if !isMember(link, past), !past.refused.contains(link) { effects.append(.carryMember(link)) }
      }
    }
    effects += lateMembers(past) { chosen[$0] ?? forward($0, past) ?? $0 }.map(Effect.carryMember)
    return (append(author, seen, now, effects), chosen.keys.sorted())
  }

  /// Members that came to a copy that had given way elsewhere, and were not there when it did.
  private func lateMembers(_ past: Past, moved: (String) -> String) -> Set<Link> {
    var result: Set<Link> = []
    for (link, adds) in past.added.merging(past.carried, uniquingKeysWith: { $0.union($1) }) {
      let gone = [link.source, link.target].filter { forward($0, past) != nil }
      guard !gone.isEmpty else { continue }
      let isLate = gone.contains { copy in adds.contains { !wasThere($0, whenGaveWay: copy, past) } }
      let known = Link(
        source: forward(link.source, past) ?? link.source, target: forward(link.target, past) ?? link.target)
      guard known.source != known.target, !isMember(known, past) else { continue }
      guard isLate && !past.removed.contains(known) || !past.everAdded.contains(known) else { continue }
      let now = Link(source: moved(link.source), target: moved(link.target))
      if now.source != now.target, !past.refused.contains(now), !isMember(now, past) { result.insert(now) }
    }
    return result
  }

  /// The seeds by the names that any edition gives them; names that two of them have had are nobody's.
  private func seedsByName(_ edition: SeedEdition, _ past: Past) -> [String: String] {
    var result: [String: Set<String>] = [:]
    for key in edition.records.keys {
      for layer in past.layers[SeedWorld.seed(key)] ?? [] {
        if let name = layer.content?.value(.name) { result[name, default: []].insert(SeedWorld.seed(key)) }
      }
    }
    return result.compactMapValues { $0.count == 1 ? $0.first : nil }
  }

  /// Whether nothing has happened to a record but its insert.
  private func isUntouched(_ record: String, _ past: Past) -> Bool {
    SeedWorld.type(record) == "Kind" && past.layers[record] == nil && past.deletes[record] == nil
      && past.touches[record]?.count == 1 && past.lives[record] != nil
  }

  private func isInUse(_ record: String, _ view: SeedView) -> Bool {
    view.contains { name, row in
      (name == record && !row.members.isEmpty) || row.members.contains(record)
        || row.fields.contains { $0.key.isReference && $0.value == record }
    }
  }

  /// What the seed leaves open keeps what the copy has.
  private func attributes(_ copy: String, _ seed: String, _ past: Past) -> [Effect] {
    SeedField.of(copy).compactMap { field in
      guard let cell = past.winners[Register(record: copy, field: field)],
        shown(seed, past)?.content?.value(field) == nil
      else { return nil }
      return .carry(Register(record: seed, field: field), cell.value, time: cell.order.time)
    }
  }
}
