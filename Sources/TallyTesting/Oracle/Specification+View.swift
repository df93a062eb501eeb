extension Specification.Past {
  package func owners(of record: String) -> [String] { above[record] ?? [] }
  package func owned(by record: String) -> [String] { below[record] ?? [] }
}

/// Which records there are, for one past; each is decided once.
final class Presence<Field: SpecifiedField> {
  private let history: Specification<Field>
  private let past: Specification<Field>.Past
  private let schema: SpecifiedSchema<Field>
  private var living: [String: EventSet] = [:]
  private var visible: [String: Bool] = [:]

  init(_ history: Specification<Field>, _ past: Specification<Field>.Past, _ schema: SpecifiedSchema<Field>) {
    (self.history, self.past, self.schema) = (history, past, schema)
  }

  /// Whether deletes win and one has: its author had the record's latest insert or restore in front of them.
  private func isBeaten(_ record: String) -> Bool {
    guard schema.deleteWins(record), let life = past.lives[record] else { return false }
    return deletes(of: record).contains { history.covers($0, life.event) }
  }

  /// Whether an edit is lost to a delete: neither author had the other's in front of them.
  func isLost(_ edit: Int, of record: String) -> Bool {
    isBeaten(record) && deletes(of: record).allSatisfy { !history.covers($0, edit) && !history.covers(edit, $0) }
  }

  /// The deletes of a record, but for those that another counts as having had in front of it.
  private func deletes(of record: String) -> EventSet {
    let all = past.deletes[record] ?? EventSet()
    guard history.hasTwins else { return all }
    var rest = EventSet()
    for event in all where !all.contains(where: { history.replaces($0, event) }) { rest.insert(event) }
    return rest
  }

  /// The events that keep a record alive: writes to it, or what keeps the records that it owns alive, that no delete of
  /// it had in front of it.
  func living(_ record: String) -> EventSet {
    if let known = living[record] { return known }
    var events = EventSet()
    if !isBeaten(record) {
      events = past.touches[record] ?? EventSet()
      for child in past.owned(by: record) { events.formUnion(living(child)) }
      let deletes = deletes(of: record)
      if !deletes.isEmpty {
        var rest = EventSet()
        for event in events where !deletes.contains(where: { history.covers($0, event) }) { rest.insert(event) }
        events = rest
      }
    }
    living[record] = events
    return events
  }

  /// The writes to a record, and adds of members, that no delete of it had in front of it.
  func surviving(_ record: String) -> EventSet {
    var rest = past.touches[record] ?? EventSet()
    for delete in deletes(of: record) {
      for event in rest where history.covers(delete, event) { rest = rest.subtracting(EventSet(event)) }
    }
    return rest
  }

  /// Whether a delete hides a record: its own, or that of an owner.
  func isDeleted(_ record: String) -> Bool { !deaths(of: record).isEmpty }

  /// The record and the owners above it that are deleted, and that nothing keeps.
  func deaths(of record: String) -> Set<String> {
    var dead = Set(past.owners(of: record).flatMap(deaths(of:)))
    if past.deletes[record] != nil, living(record).isEmpty { dead.insert(record) }
    return dead
  }

  /// The deletes of a record of which none has seen another.
  func latestDeletes(of record: String) -> EventSet {
    let all = past.deletes[record] ?? EventSet()
    var rest = EventSet()
    for event in all where !all.contains(where: { $0 != event && history.covers($0, event) }) { rest.insert(event) }
    return rest
  }

  /// An owner that is unknown hides what it owns. Only with copies about can a device have got what is owned without
  /// its owner.
  func isVisible(_ record: String) -> Bool {
    if let known = visible[record] { return known }
    let result =
      schema.knows(record) && past.known.contains(record) && !living(record).isEmpty
      && past.owners(of: record).allSatisfy { isVisible($0) }
    visible[record] = result
    return result
  }
}

extension Specification {
  /// All rows by record name.
  package typealias View = [String: ShownRow<Field>]

  package func living(_ record: String, _ past: Past, _ schema: SpecifiedSchema<Field>) -> EventSet {
    Presence(self, past, schema).living(record)
  }

  package func isVisible(_ record: String, _ past: Past, _ schema: SpecifiedSchema<Field>) -> Bool {
    Presence(self, past, schema).isVisible(record)
  }

  /// The rows that a device shows that has seen these events.
  package func view(of seen: EventSet, _ schema: SpecifiedSchema<Field>) -> View {
    view(past(seen, schema), schema)
  }

  package func view(_ past: Past, _ schema: SpecifiedSchema<Field>) -> View {
    var view = View()
    let presence = Presence(self, past, schema)
    for record in past.touches.keys where presence.isVisible(record) { view[record] = ShownRow() }
    for record in view.keys {
      for field in schema.fields(record) {
        guard let value = value(Register(record: record, field: field), past, isThere: { view[$0] != nil }) else {
          continue
        }
        view[record]?.fields[field] = value
      }
    }
    for link in past.members where view[link.target] != nil && schema.knowsLink(link) {
      view[link.source]?.links.insert(link)
    }
    return view
  }

  /// What a counter shows: what a write has said, or else its default, and everything added that the write had not
  /// seen.
  func number(_ register: Register, _ past: Past, said: Winner?) -> String? {
    func number(_ text: String?) -> Int64? { text.flatMap { Int64($0.dropFirst("integer ".count)) } }
    guard let start = number(said?.value) ?? number(register.field.defaultValue) else { return nil }
    let added = (past.added[register] ?? []).reduce(0) { sum, add in
      said.map { covers($0.event, add.event) } == true ? sum : sum + add.amount
    }
    return "integer \(start + added)"
  }

  func value(_ register: Register, _ past: Past, isThere: (String) -> Bool) -> String? {
    if register.field.isCounter { return number(register, past, said: past.winners[register]) }
    // An older app that begins a new life leaves null in fields that it does not know, also where null is no value.
    guard let value = past.winners[register]?.value else { return register.field.defaultValue }
    guard register.field.isReference else { return value }
    if register.field.isOwner, past.owners[register] == nil { return nil }
    return isThere(value) ? value : nil
  }
}
