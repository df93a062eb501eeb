extension Specification {
  /// Notes a transaction by somebody who has seen `seen`.
  /// - Returns: the event, or nil if the operations changed nothing.
  mutating func transact(author: Int, seen: Set<Int>, now: UInt64, _ operations: [Operation]) -> Int? {
    let event = events.count
    events.append(Event(author: author, seen: seen, now: now))
    for operation in operations { perform(operation, event) }
    guard events[event].effects.isEmpty else { return event }
    events.removeLast()
    return nil
  }

  private mutating func perform(_ operation: Operation, _ event: Int) {
    let past = past(events[event].seen.union([event]))
    let view = view(past)
    switch operation {
    case .insert(let record, let values): insert(record, values, event, past, view)
    case .update(let record, let field, let value):
      guard let row = view[record], row.fields[field] != value else { return }
      if field.isReference, let value, view[value] == nil { return }
      write(Register(record: record, field: field), value, event, past)
    case .delete(let record):
      if view[record] != nil { events[event].effects.append(.delete(record)) }
    case .restore(let record):
      guard past.touches[record] != nil, view[record] == nil, !isDeleted(record, by: event) else { return }
      events[event].effects.append(.touch(record))
    case .link(let source, let target), .unlink(let source, let target):
      guard let row = view[source], view[target] != nil else { return }
      let link = Link(source: source, target: target)
      if case .link = operation {
        if !row.members.contains(target) { events[event].effects.append(.add(link)) }
      } else if row.members.contains(target) {
        events[event].effects.append(.remove(link))
      }
    }
  }

  /// A new life: every field that is not given is empty, and no relationship is left.
  private mutating func insert(
    _ record: String, _ values: [ModelField: String], _ event: Int, _ past: Past, _ view: ModelView
  ) {
    guard view[record] == nil, !isDeleted(record, by: event) else { return }
    for (field, value) in values where field.isReference && view[value] == nil { return }
    events[event].effects.append(.touch(record))
    for field in ModelField.allCases {
      let register = Register(record: record, field: field)
      if values[field] != nil || past.winners[register]?.value != nil { write(register, values[field], event, past) }
    }
    for link in past.members where link.source == record || link.target == record {
      events[event].effects.append(.remove(link))
    }
  }

  /// A write that has seen another is later than it, whatever the clocks say.
  private mutating func write(_ register: Register, _ value: String?, _ event: Int, _ past: Past) {
    let earliest = past.winners[register].map { $0.time + 1 } ?? 0
    events[event].effects.append(.write(register, value, time: max(events[event].now, earliest)))
  }

  /// A delete covers its own transaction: what it deletes cannot come back before the next one.
  private func isDeleted(_ record: String, by event: Int) -> Bool {
    events[event].effects.contains { if case .delete(record) = $0 { true } else { false } }
  }
}
