import TallyCRDT
import TallyStore

/// What is exact about deleting for good: who may empty what, when, and what no sync may take away.
extension WorldOracle {
  /// All records that were written to, by what a device has seen.
  mutating func known(_ seen: EventSet, _ schema: Schema) -> Set<String> {
    specification.past(seen, specified(schema)).known.union(seeded)
  }

  /// The records that a delete hides from a device.
  mutating func deleted(_ seen: EventSet, _ schema: Schema) -> [String] {
    let (known, unsure) = (specified(schema), unsure(seen))
    let past = specification.past(seen, known)
    let presence = Presence(specification, past, known)
    return past.known.filter { !unsure.contains($0) && presence.isDeleted($0) }.sorted()
  }

  /// Notes a transaction that emptied records, and for how many days those had to be deleted: nil for none.
  mutating func noteEmptied(
    _ emptied: [String: StoredContent], by dot: Dot, _ replica: SimulatedReplica, window: Int?
  ) throws -> Int? {
    let (schema, seen) = (specified(replica.schema), replica.seen)
    let unsure = unsure(seen)
    let past = specification.past(seen, schema)
    let presence = Presence(specification, past, schema)
    let now = replica.clock.milliseconds
    let sure = emptied.keys.filter { !unsure.contains($0) }.sorted()
    for name in sure {
      guard presence.isDeleted(name) else { throw Finding("\(name) is emptied, and nobody has deleted it") }
      // Later than all that its author had seen.
      let (time, due) = (emptied[name]?.life?.time.milliseconds, max(now, past.nextLife(of: name)))
      guard time == due else { throw Finding("\(name) is emptied at \(time ?? 0), and should be at \(due)") }
    }
    if let window {
      let ripe = replica.seen(before: window)
      for name in sure {
        for owner in presence.deaths(of: name) {
          try checkWindow(of: name, below: owner, ripe, past, presence)
        }
      }
    }
    let event = specification.noteEmptied(
      emptied.keys.sorted(), author: dot.replica.description, seen: seen, now: now, schema)
    if let event { try number(event, dot) }
    hasPurges = true
    return event
  }

  /// The deletes that hide a record must have been known for as long as the window is, and those of what had kept it
  /// from below as well.
  private func checkWindow(
    of name: String, below owner: String, _ ripe: EventSet, _ past: Specification<SchemaField>.Past,
    _ presence: Presence<SchemaField>
  ) throws {
    var context = EventSet()
    for delete in past.deletes[owner] ?? EventSet() {
      context.formUnion(specification.events[delete].seen)
      context.insert(delete)
    }
    var deletes = presence.latestDeletes(of: owner)
    var open = past.owned(by: owner)
    while let next = open.popLast() {
      open += past.owned(by: next)
      guard !context.isSuperset(of: past.touches[next] ?? EventSet()) else { continue }
      deletes.formUnion(presence.latestDeletes(of: next))
    }
    guard ripe.isSuperset(of: deletes) else { throw Finding("\(name) is emptied before its restore window is over") }
  }

  /// An insert by an older app ends fields that it does not know, if the store holds them: of one that was purged
  /// nobody knows.
  mutating func forgetUnwritten(by event: Int, _ store: Store, _ schema: Schema) throws {
    guard hasPurges else { return }
    let (known, seen) = (specified(schema), specification.events[event].seen)
    let (past, unsure) = (specification.past(seen, known), unsure(seen))
    for case .write(let register, nil, _) in specification.events[event].effects
    where !known.fields(register.record).contains(register.field) {
      let fields = try store.history(of: AnyRecordName(register.record))?.fields ?? []
      guard !fields.contains(where: { $0.field == register.field.name && $0.stamp.dot == dots[event] }) else {
        continue
      }
      let isPurged = past.winners[register].map { specification.isPurged($0.event, of: register.record, past) }
      guard isPurged == true || unsure.contains(register.record) else {
        throw Finding("an insert of \(register.record) has not ended \(register.field.name)")
      }
      specification.forget(register, event)
    }
  }

  /// A delta takes nothing from view that would show if nothing had been emptied.
  mutating func checkTaken(
    from before: [String: ShownRow<SchemaField>], _ seenBefore: EventSet, to after: [String: ShownRow<SchemaField>],
    _ seen: EventSet, _ schema: Schema
  ) throws {
    let (known, unsure) = (specified(schema), unsure(seen))
    let (past, now) = (specification.past(seenBefore, known), specification.past(seen, known))
    let presence = Presence(specification, now, known)
    for (name, row) in before.sorted(by: { $0.key < $1.key }) where !unsure.contains(name) && presence.isVisible(name) {
      guard let mine = after[name] else { throw Finding("\(name) went from view") }
      for field in known.fields(name)
      where !field.isReference && !field.isCounter && row.fields[field] != mine.fields[field] {
        let register = Specification<SchemaField>.Register(record: name, field: field)
        guard let winner = now.winners[register], winner.event == past.winners[register]?.event,
          row.fields[field] == winner.value ?? field.defaultValue
        else { continue }
        // Where the value that should show was purged, that of an older write may be the same by chance.
        guard
          !specification.isPurged(winner.event, of: name, past)
            || winner.value != field.defaultValue && specification.writes(to: register, seenBefore, winner.value) == 1
        else { continue }
        throw Finding(
          "\(field.name) of \(name) was \(row.fields[field] ?? "null"), and a delta made it "
            + "\(mine.fields[field] ?? "null")")
      }
    }
  }

  /// The records of which no device may hold a value.
  mutating func gone(_ seen: EventSet, _ schema: Schema) -> [String] {
    let (known, unsure) = (specified(schema), unsure(seen))
    let past = specification.past(seen, known)
    let presence = Presence(specification, past, known)
    return specification.gone(seen, past).filter { !unsure.contains($0) && !presence.isVisible($0) }
  }
}
