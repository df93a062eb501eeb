extension Specification.Past {
  package func owners(of record: String) -> [String] { owners.filter { $0.key.record == record }.map(\.value) }
  package func owned(by record: String) -> [String] { owners.filter { $0.value == record }.map(\.key.record) }
}

extension Specification {
  /// All rows by record name.
  package typealias View = [String: ShownRow<Field>]

  /// Whether deletes win and one has: its author had the record's latest insert or restore in front of them.
  private func isBeaten(_ record: String, _ past: Past, _ schema: SpecifiedSchema<Field>) -> Bool {
    guard schema.deleteWins(record), let life = past.lives[record] else { return false }
    return (past.deletes[record] ?? EventSet()).contains { covers($0, life.event) }
  }

  /// The events that keep a record alive: writes to it, or what keeps the records that it owns alive, that no delete of it
  /// had in front of it.
  package func living(_ record: String, _ past: Past, _ schema: SpecifiedSchema<Field>) -> EventSet {
    if isBeaten(record, past, schema) { return EventSet() }
    var events = past.touches[record] ?? EventSet()
    for child in past.owned(by: record) { events.formUnion(living(child, past, schema)) }
    guard let deletes = past.deletes[record] else { return events }
    var result = EventSet()
    for event in events where !deletes.contains(where: { covers($0, event) }) { result.insert(event) }
    return result
  }

  package func isVisible(_ record: String, _ past: Past, _ schema: SpecifiedSchema<Field>) -> Bool {
    schema.knows(record) && !living(record, past, schema).isEmpty
      && past.owners(of: record).allSatisfy { isVisible($0, past, schema) }
  }

  /// The rows that somebody sees who has seen these events.
  package func view(of seen: EventSet, _ schema: SpecifiedSchema<Field>) -> View {
    view(past(seen, schema), schema)
  }

  package func view(_ past: Past, _ schema: SpecifiedSchema<Field>) -> View {
    var view = View()
    for record in past.touches.keys where isVisible(record, past, schema) { view[record] = ShownRow() }
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

  func value(_ register: Register, _ past: Past, isThere: (String) -> Bool) -> String? {
    guard let winner = past.winners[register] else { return register.field.defaultValue }
    guard let value = winner.value, register.field.isReference else { return winner.value }
    if register.field.isOwner, past.owners[register] == nil { return nil }
    return isThere(value) ? value : nil
  }
}
