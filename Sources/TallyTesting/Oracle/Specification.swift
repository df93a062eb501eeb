/// The view that a user must see, as a function of the causal history: sets of events, and no state that is ever
/// merged.
///
/// It shares nothing with the product's join. Sets grow, everything is searched: it is meant to be read.
/// The form follows the specifications in Burckhardt et al., "Replicated data types: specification, verification,
/// optimality" (2014): a view is computed from the events that a replica has seen and from what each event had seen.
package struct Specification<Field: SpecifiedField>: Sendable {
  package struct Register: Hashable, Sendable {
    package var record: String
    package var field: Field

    package init(record: String, field: Field) { (self.record, self.field) = (record, field) }
  }

  /// The author of an event, and its number. Two events have the same only if two copies of one replica wrote.
  package struct Author: Hashable, Sendable {
    /// Of writes of the same time, that of the greater text shows.
    package var name: String
    package var sequence: UInt64

    package init(name: String, sequence: UInt64) { (self.name, self.sequence) = (name, sequence) }
  }

  /// The effect of an operation.
  package enum Effect: Sendable {
    /// An insert or a restore.
    case touch(String, time: UInt64)
    case write(Register, String?, time: UInt64)
    /// An addition to a counter.
    case count(Register, Int64)
    case delete(String)
    case add(Link)
    case remove(Link)
    /// A record that was known came back into view by this transaction, which says again all that is here of it.
    case begin(String, time: UInt64)
    /// A deleted record was emptied: by a life with nothing in it.
    case empty(String, time: UInt64)
    /// Something that shows in no row of which this specification speaks.
    case other
  }

  /// One transaction.
  package struct Event: Sendable {
    package var author: Author
    package var seen: EventSet
    package var now: UInt64
    package var effects: [Effect] = []
  }

  /// The write that a register shows.
  package struct Winner: Sendable {
    package var event: Int
    package var time: UInt64
    package var value: String?
  }

  /// Whether records that come back begin lives, as stores let them (decision 24): a write into a life is later than
  /// its beginning, and an insert says every field. The pure core knows of lives and begins none.
  let beginsLives: Bool
  package private(set) var events: [Event] = []
  /// Events with one author and number, where there are several.
  private var twins: [Int: EventSet] = [:]
  private var numbered: [Author: EventSet] = [:]

  /// Creates a history without events.
  package init(beginsLives: Bool) { self.beginsLives = beginsLives }

  /// Whether an event had another in front of it, or is the same.
  ///
  /// A delete that had one of two events of one number in front of it counts as having had the other: the limit that
  /// the contract states for copies of a replica.
  package func covers(_ later: Int, _ earlier: Int) -> Bool {
    if later == earlier || events[later].seen.contains(earlier) { return true }
    guard !twins.isEmpty, let same = twins[earlier] else { return false }
    return same.contains(later) || !same.intersection(events[later].seen).isEmpty
  }

  /// Whether a device wrote under a number that another has as well.
  var hasTwins: Bool { !twins.isEmpty }

  /// Whether a delete takes the place of another of the same record: it counts as having had it in front of it. If it
  /// really had, it had everything that the other had. With unnoticed copies it may have had only another event of that
  /// number.
  func replaces(_ later: Int, _ earlier: Int) -> Bool {
    later != earlier && !(twins[earlier]?.contains(later) ?? false) && covers(later, earlier)
  }

  /// Whether a write loses against one of another event: by time, then author, then number.
  package func isBefore(_ a: Winner, _ b: Winner) -> Bool {
    if a.time != b.time { return a.time < b.time }
    let (one, other) = (events[a.event].author, events[b.event].author)
    if one.name != other.name { return one.name < other.name }
    if one.sequence != other.sequence { return one.sequence < other.sequence }
    return (a.value ?? "", a.event) < (b.value ?? "", b.event)
  }

  mutating func append(_ event: Event) -> Int {
    events.append(event)
    return events.count - 1
  }

  mutating func note(_ effect: Effect, _ event: Int) { events[event].effects.append(effect) }

  /// Takes back what was noted of a register of an event: its author has not written it.
  mutating func forget(_ register: Register, _ event: Int) {
    events[event].effects.removeAll { if case .write(register, _, _) = $0 { true } else { false } }
  }

  /// Forgets the last event if it had no effect; otherwise notes who has the same number.
  mutating func close(_ event: Int) -> Int? {
    guard !events[event].effects.isEmpty else {
      events.removeLast()
      return nil
    }
    let same = numbered[events[event].author, default: EventSet()]
    if !same.isEmpty {
      for other in same { twins[other, default: EventSet()].insert(event) }
      twins[event] = same
    }
    numbered[events[event].author, default: EventSet()].insert(event)
    return event
  }
}

// MARK: - What the events that a replica has seen say

extension Specification {
  /// The events that a replica has seen, sorted by what they are about.
  package struct Past: Sendable {
    /// The records that something was written to.
    package var known: Set<String> = []
    package var touches: [String: EventSet] = [:]
    /// The latest insert or restore.
    package var lives: [String: Winner] = [:]
    /// When the latest life of a record began that is not its first.
    package var beginnings: [String: UInt64] = [:]
    /// The transaction that began it, and when.
    package var begun: [String: Winner] = [:]
    /// The transactions that emptied each record.
    var emptied: [String: [Int]] = [:]
    package var deletes: [String: EventSet] = [:]
    package var winners: [Register: Winner] = [:]
    /// What was added to counters, and by which events.
    var added: [Register: [(event: Int, amount: Int64)]] = [:]
    package var members: Set<Link> = []
    /// The owner references that are left when cycles are broken.
    package var owners: [Register: String] = [:]
    /// The same by record, both ways.
    var above: [String: [String]] = [:]
    var below: [String: [String]] = [:]
  }

  package func past(_ seen: EventSet, _ schema: SpecifiedSchema<Field>) -> Past {
    var past = Past()
    var adds: [(link: Link, event: Int, place: Int)] = []
    var removes: [Link: [(event: Int, place: Int)]] = [:]
    for event in seen {
      for (place, effect) in events[event].effects.enumerated() {
        switch effect {
        case .touch(let record, let time):
          past.known.insert(record)
          past.touches[record, default: EventSet()].insert(event)
          replace(&past.lives[record], Winner(event: event, time: time))
        case .write(let register, let value, let time):
          past.known.insert(register.record)
          past.touches[register.record, default: EventSet()].insert(event)
          replace(&past.winners[register], Winner(event: event, time: time, value: value))
        case .count(let register, let amount):
          past.known.insert(register.record)
          past.touches[register.record, default: EventSet()].insert(event)
          past.added[register, default: []].append((event, amount))
        case .delete(let record):
          past.known.insert(record)
          past.deletes[record, default: EventSet()].insert(event)
        case .begin(let record, let time):
          past.beginnings[record] = max(past.beginnings[record] ?? 0, time)
          replace(&past.begun[record], Winner(event: event, time: time))
        case .empty(let record, let time):
          past.beginnings[record] = max(past.beginnings[record] ?? 0, time)
          past.emptied[record, default: []].append(event)
        case .add(let link): adds.append((link, event, place))
        case .remove(let link): removes[link, default: []].append((event, place))
        case .other: break
        }
      }
    }
    for add in adds where !(removes[add.link] ?? []).contains(where: { observes($0, add) }) {
      past.members.insert(add.link)
      past.touches[add.link.source, default: EventSet()].insert(add.event)
    }
    past.owners = owners(past, schema)
    for (register, owner) in past.owners {
      past.above[register.record, default: []].append(owner)
      past.below[owner, default: []].append(register.record)
    }
    return past
  }

  /// The latest write to each register among some events.
  package func writes(in events: EventSet) -> [Register: Winner] {
    var writes: [Register: Winner] = [:]
    for event in events {
      for case .write(let register, let value, let time) in self.events[event].effects {
        replace(&writes[register], Winner(event: event, time: time, value: value))
      }
    }
    return writes
  }

  private func replace(_ known: inout Winner?, _ write: Winner) {
    if known.map({ isBefore($0, write) }) ?? true { known = write }
  }

  /// Whether a removal had the tag of an add in front of it.
  ///
  /// A removal marks tags, and a tag is called by its number: what two copies added under one number is one tag, and
  /// removed together. But who removed under that number, and added nothing, has marked no tag of it.
  private func observes(_ remove: (event: Int, place: Int), _ add: (link: Link, event: Int, place: Int)) -> Bool {
    func isInFront(_ event: Int, _ place: Int) -> Bool {
      event == remove.event ? place < remove.place : events[remove.event].seen.contains(event)
    }
    if isInFront(add.event, add.place) { return true }
    return twins[add.event]?.contains { twin in
      // What a transaction adds, removes and adds again it adds once, at the end.
      let place = events[twin].effects.lastIndex { if case .add(add.link) = $0 { true } else { false } }
      return place.map { isInFront(twin, $0) } ?? false
    } ?? false
  }

  /// The owner references; while some form a cycle, the earliest of those that do is left out.
  private func owners(_ past: Past, _ schema: SpecifiedSchema<Field>) -> [Register: String] {
    var edges: [Register: String] = [:]
    for (register, winner) in past.winners where register.field.isOwner {
      guard let value = winner.value, schema.fields(register.record).contains(register.field) else { continue }
      edges[register] = value
    }
    while !edges.isEmpty {
      let cyclic = edges.filter { edge in ancestors(of: edge.value, edges).contains(edge.key.record) }
      let weakest = cyclic.keys.min { a, b in
        guard let first = past.winners[a], let second = past.winners[b] else { return false }
        if isEarlier(first, second) { return true }
        return !isEarlier(second, first) && (a.record, a.field.name) < (b.record, b.field.name)
      }
      guard let weakest else { return edges }
      edges[weakest] = nil
    }
    return edges
  }

  /// By when and by whom, values aside.
  private func isEarlier(_ a: Winner, _ b: Winner) -> Bool {
    let (one, other) = (events[a.event].author, events[b.event].author)
    return (a.time, one.name, one.sequence) < (b.time, other.name, other.sequence)
  }

  /// The record and everything that owns it, directly or not.
  private func ancestors(of record: String, _ edges: [Register: String]) -> Set<String> {
    var found: Set<String> = [record]
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for (register, owner) in edges where found.contains(register.record) && found.insert(owner).inserted {
        isGrowing = true
      }
    }
    return found
  }
}
