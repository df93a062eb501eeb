/// Deleting for good (decision 24), as far as the specification speaks of it: who emptied which records, having seen
/// what. What is alive does not depend on it; which values may be missing does.
extension Specification {
  /// Notes a transaction that emptied deleted records.
  mutating func noteEmptied(
    _ records: [String], author: String, seen: EventSet, now: UInt64, _ schema: SpecifiedSchema<Field>
  ) -> Int? {
    let event = open(author, seen, now)
    let past = past(seen, schema)
    for record in records { note(.empty(record, time: max(now, past.nextLife(of: record))), event) }
    return close(event)
  }

  /// The events that emptied each record, among some events.
  func emptied(in seen: EventSet) -> [String: [Int]] {
    var result: [String: [Int]] = [:]
    for event in seen {
      for case .empty(let record, _) in events[event].effects { result[record, default: []].append(event) }
    }
    return result
  }

  /// Whether a device that emptied a record had seen a write to it.
  func isPurged(_ write: Int, of record: String, _ past: Past) -> Bool {
    past.emptied[record]?.contains { events[$0].seen.contains(write) } ?? false
  }

  /// The values that a register of a shown record may have (E1): that of the latest write, or where that was purged any
  /// older one, or the default. Which it is depends on the way: what lost to a value before that was removed went with
  /// it.
  func permitted(_ register: Register, _ seen: EventSet, _ past: Past) -> Set<String?> {
    if register.field.isCounter { return permittedNumbers(register, seen, past) }
    let none = register.field.defaultValue
    guard let latest = past.winners[register] else { return [none] }
    guard isPurged(latest.event, of: register.record, past) else { return [latest.value ?? none] }
    var values: Set<String?> = [none]
    for event in seen {
      for case .write(register, let value, _) in events[event].effects { values.insert(value ?? none) }
    }
    return values
  }

  /// The same of a counter: what was added is there in any case.
  private func permittedNumbers(_ register: Register, _ seen: EventSet, _ past: Past) -> Set<String?> {
    let latest = past.winners[register]
    var numbers: Set<String?> = [number(register, past, said: latest)]
    guard let latest, isPurged(latest.event, of: register.record, past) else { return numbers }
    numbers.insert(number(register, past, said: nil))
    for event in seen {
      for case .write(register, let value, let time) in events[event].effects {
        numbers.insert(number(register, past, said: Winner(event: event, time: time, value: value)))
      }
    }
    return numbers
  }

  /// How many events wrote a value to a register.
  func writes(to register: Register, _ seen: EventSet, _ value: String?) -> Int {
    seen.count { event in
      events[event].effects.contains { if case .write(register, value, _) = $0 { true } else { false } }
    }
  }

  /// The records of which every write was known to a device that emptied them, and nothing was said again since: no
  /// device holds a value of them.
  func gone(_ seen: EventSet, _ past: Past) -> [String] {
    past.emptied.filter { record, purges in
      purges.contains { purge in
        seen.subtracting(events[purge].seen).allSatisfy { event in
          events[event].effects.allSatisfy { !mayBringBack($0, record) }
        }
      }
    }.keys.sorted()
  }

  private func mayBringBack(_ effect: Effect, _ record: String) -> Bool {
    switch effect {
    case .touch(record, _), .begin(record, _), .other: true
    case .write(let register, _, _), .count(let register, _): register.record == record
    case .add(let link): link.source == record
    case .touch, .begin, .delete, .remove, .empty: false
    }
  }
}

extension Specification.Past {
  /// The earliest time of another life of a record: later than the present one and all that is known to be in it.
  func nextLife(of record: String) -> UInt64 {
    var time = beginnings[record].map { $0 + 1 } ?? 0
    for (register, winner) in winners where register.record == record && !register.field.isReference {
      time = max(time, winner.time + 1)
    }
    return time
  }
}
