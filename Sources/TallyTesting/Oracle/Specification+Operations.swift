/// An operation of an app on records. One that has no row to act on does nothing, as an SQL statement would.
package enum SpecifiedOperation<Field: SpecifiedField>: Hashable, Sendable {
  /// Writes a row that the app does not see yet; of a record that was deleted, a new life.
  case insert(String, [Field: String])
  case update(String, Field, String?)
  /// Adds to a counter.
  case count(String, Field, Int64)
  case delete(String)
  /// Brings back a record that is not visible, as it was.
  case restore(String)
  case link(Link)
  case unlink(Link)
  /// Gives a member of an ordered relationship another place, of which the specification says no more: it touches
  /// nothing.
  case move(Link)
}

extension SpecifiedOperation: CustomStringConvertible {
  package var description: String {
    switch self {
    case .insert(let record, let values):
      let pairs = values.sorted { $0.key.name < $1.key.name }.map { "\($0.key.name): \($0.value)" }
      return "insert \(record) [\(pairs.joined(separator: ", "))]"
    case .update(let record, let field, let value): return "update \(record) \(field.name) = \(value ?? "null")"
    case .count(let record, let field, let amount): return "add \(amount) to \(field.name) of \(record)"
    case .delete(let record): return "delete \(record)"
    case .restore(let record): return "restore \(record)"
    case .link(let link): return "link \(link.source) -> \(link.target)"
    case .unlink(let link): return "unlink \(link.source) -> \(link.target)"
    case .move(let link): return "move \(link.source) -> \(link.target)"
    }
  }
}

extension Specification {
  /// Notes a transaction by a device that has seen `seen`.
  /// - Returns: the event, or nil if the operations changed nothing.
  package mutating func transact(
    author: String, seen: EventSet, now: UInt64, _ schema: SpecifiedSchema<Field>,
    _ operations: [SpecifiedOperation<Field>]
  ) -> Int? {
    let event = open(author, seen, now)
    for operation in operations { perform(operation, event, schema) }
    noteLives(event, schema)
    return close(event)
  }

  mutating func open(_ author: String, _ seen: EventSet, _ now: UInt64) -> Int {
    append(Event(author: Author(name: author, sequence: sequence(of: author, in: seen) + 1), seen: seen, now: now))
  }

  /// The number of an author's latest transaction that a device has seen.
  package func sequence(of author: String, in seen: EventSet) -> UInt64 {
    var last: UInt64 = 0
    for event in seen where events[event].author.name == author { last = max(last, events[event].author.sequence) }
    return last
  }

  /// The records that an app saw before and after a transaction.
  package typealias Shown = (before: Set<String>, after: Set<String>)

  /// Notes what a transaction did, known from the tables before and after it. Where records were emptied, some that
  /// are alive may not be shown, so `shown` says which were. Lives that it began, where they had to be later than
  /// others' claims on unique values, are in `begun`, by record.
  /// - Returns: the event, or nil if it changed nothing.
  package mutating func note(
    author: String, seen: EventSet, now: UInt64, _ schema: SpecifiedSchema<Field>,
    _ effects: [SpecifiedOperation<Field>], shown: Shown? = nil, begun: [String: UInt64] = [:]
  ) -> Int? {
    let event = open(author, seen, now)
    for effect in effects {
      var all = seen
      all.insert(event)
      apply(effect, event, past(all, schema), schema)
    }
    noteLives(event, schema, shown, begun)
    return close(event)
  }

  /// Notes a transaction that shows in no row of which the specification speaks.
  mutating func noteUnknown(author: String, seen: EventSet) -> Int {
    let event = open(author, seen, 0)
    note(.other, event)
    return close(event) ?? event
  }

  private mutating func apply(
    _ operation: SpecifiedOperation<Field>, _ event: Int, _ past: Past, _ schema: SpecifiedSchema<Field>
  ) {
    switch operation {
    case .insert(let record, let values): insert(record, values, event, past, schema)
    case .update(let record, let field, let value):
      write(Register(record: record, field: field), value, event, past)
    case .count(let record, let field, let amount):
      note(.count(Register(record: record, field: field), amount), event)
    case .delete(let record): note(.delete(record), event)
    case .restore(let record): restore(record, event, past, schema)
    case .link(let link): note(.add(link), event)
    case .unlink(let link): note(.remove(link), event)
    case .move: note(.other, event)
    }
  }

  private mutating func perform(
    _ operation: SpecifiedOperation<Field>, _ event: Int, _ schema: SpecifiedSchema<Field>
  ) {
    var all = events[event].seen
    all.insert(event)
    let past = past(all, schema)
    let presence = Presence(self, past, schema)
    func isThere(_ record: String) -> Bool { presence.isVisible(record) }
    switch operation {
    case .insert(let record, let values):
      guard !isThere(record), !isDeleted(record, by: event) else { return }
      for (field, value) in values where field.isReference && !isThere(value) { return }
      insert(record, values, event, past, schema)
    case .update(let record, let field, let value):
      guard isThere(record) else { return }
      let register = Register(record: record, field: field)
      guard self.value(register, past, isThere: isThere) != value else { return }
      if field.isReference, let value, !isThere(value) { return }
      write(register, value, event, past)
    case .count(let record, let field, let amount):
      if isThere(record), amount != 0 { note(.count(Register(record: record, field: field), amount), event) }
    case .delete(let record): if isThere(record) { note(.delete(record), event) }
    case .restore(let record):
      guard past.touches[record] != nil, !isThere(record), !isDeleted(record, by: event) else { return }
      restore(record, event, past, schema)
    case .link(let link):
      guard isThere(link.source), isThere(link.target), !past.members.contains(link) else { return }
      note(.add(link), event)
    case .unlink(let link):
      guard isThere(link.source), isThere(link.target), past.members.contains(link) else { return }
      note(.remove(link), event)
    case .move(let link):
      if isThere(link.source), isThere(link.target), past.members.contains(link) { note(.other, event) }
    }
  }

  /// With the record come the dead owners above it whose deletes win: nothing below revives them.
  private mutating func restore(
    _ record: String, _ event: Int, _ past: Past, _ schema: SpecifiedSchema<Field>
  ) {
    let presence = Presence(self, past, schema)
    touch(record, event, past)
    var open = past.owners(of: record)
    var seen: Set<String> = [record]
    while let owner = open.popLast() {
      guard seen.insert(owner).inserted else { continue }
      open += past.owners(of: owner)
      guard past.known.contains(owner), schema.deleteWins(owner), presence.living(owner).isEmpty else { continue }
      touch(owner, event, past)
    }
  }

  /// A new life: every field that is not given has its default, and no relationship is left.
  private mutating func insert(
    _ record: String, _ values: [Field: String], _ event: Int, _ past: Past, _ schema: SpecifiedSchema<Field>
  ) {
    let fields = schema.fields(record)
    let begun = touch(record, event, past)
    for field in fields {
      let register = Register(record: record, field: field)
      let value = values[field] ?? (field.isReference ? nil : field.defaultValue)
      let earlier = past.winners[register]
      let isSaid = past.beginnings[record] != nil && !field.isReference
      // A number is said over everything that was added, which no life drops.
      let isAdded = past.added[register] != nil
      if value != field.defaultValue || isSaid || isAdded || (earlier != nil && earlier?.value != value) {
        // What was not written before is as old as the record's new life.
        if earlier == nil, !isSaid {
          note(.write(register, value, time: begun), event)
        } else {
          write(register, value, event, past)
        }
      }
    }
    for (register, winner) in past.winners where register.record == record && winner.value != nil {
      if !fields.contains(register.field), past.added[register] == nil { write(register, nil, event, past) }
    }
    // Who does not know a counter does not know its default, and says that nothing of it shows.
    for register in past.added.keys where register.record == record && !fields.contains(register.field) {
      write(register, "integer 0", event, past)
    }
    for link in past.members where link.source == record || link.target == record { note(.remove(link), event) }
  }

  /// A write that has seen another is later than it, in spite of all clocks.
  private mutating func write(_ register: Register, _ value: String?, _ event: Int, _ past: Past) {
    let beginning = register.field.isReference ? nil : past.beginnings[register.record]
    let earliest = max(past.winners[register].map { $0.time + 1 } ?? 0, beginning.map { $0 + 1 } ?? 0)
    note(.write(register, value, time: max(events[event].now, earliest)), event)
  }

  /// Notes which records this transaction has brought back into view: they begin lives that are later than all that is
  /// known of them.
  private mutating func noteLives(
    _ event: Int, _ schema: SpecifiedSchema<Field>, _ shown: Shown? = nil, _ begun: [String: UInt64] = [:]
  ) {
    guard beginsLives, !events[event].effects.isEmpty else { return }
    let before = past(events[event].seen, schema)
    let presence = Presence(self, before, schema)
    let hidden = before.touches.keys.filter { !(shown?.before.contains($0) ?? presence.isVisible($0)) }
    guard !hidden.isEmpty else { return }
    var all = events[event].seen
    all.insert(event)
    let after = past(all, schema)
    let present = Presence(self, after, schema)
    for record in hidden.sorted() where shown?.after.contains(record) ?? present.isVisible(record) {
      note(.begin(record, time: max(after.nextLife(of: record), begun[record] ?? 0)), event)
    }
  }

  @discardableResult
  private mutating func touch(_ record: String, _ event: Int, _ past: Past) -> UInt64 {
    let time = max(events[event].now, past.lives[record].map { $0.time + 1 } ?? 0)
    note(.touch(record, time: time), event)
    return time
  }

  /// A delete covers its own transaction: what it deletes cannot come back before the next one.
  private func isDeleted(_ record: String, by event: Int) -> Bool {
    events[event].effects.contains { if case .delete(record) = $0 { true } else { false } }
  }
}
